"""
What a rewrite costs per op as models grow: `python bench/rewrite_driver.py`.

Every rule of constant propagation and canonicalisation is loaded. `none` has ops that no rule changes, `half`
has every second op rewritten, `fold` is a chain of constants that folds to one, `wide` is one sum of many
folded constants, `through` one sum of many identities. The cost per op should not depend on how many ops
there are.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, f32
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.builtin import ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import tensor_type
from xonnc.rewriting.driver import Report, apply_rules
from xonnc.rewriting.onnx import op_class
from xonnc.transforms.canonicalize_onnx import all_rules
from xonnc.transforms.constprop_onnx import ConstProp

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
TYPE = tensor_type((4,), f32)
RULES = ConstProp().rules() | all_rules()


class Chain:
    """A function built op by op."""

    def __init__(self) -> None:
        self.context = Context()
        for dialect in (Builtin, Func, get_onnx()):
            self.context.load_dialect(dialect)
        self.pool = DisposablePool.of(self.context)
        self.function = FuncOp("main_graph", ([TYPE], [TYPE]))
        self.x: SSAValue = self.function.args[0]

    def add(self, op: Operation) -> SSAValue:
        """Appends an op."""
        self.function.body.block.add_op(op)
        return op.results[0]

    def op(self, name: str, *operands: SSAValue) -> SSAValue:
        """Appends an op of the onnx dialect."""
        kind = op_class(name)
        assert kind is not None
        return self.add(kind.create(operands=operands, result_types=[TYPE]))

    def constant(self, number: int) -> SSAValue:
        """Appends a constant."""
        value = self.pool.create(np.full(4, number, np.float32))
        return self.add(ConstantOp.create(result_types=[TYPE], properties={"value": value}))

    def run(self, result: SSAValue) -> tuple[float, Report]:
        """Applies all rules; seconds and what happened."""
        self.add_end(result)
        module = ModuleOp([self.function])
        gc.collect()
        begun = time.perf_counter()
        report = apply_rules(module, self.context, RULES, pass_name="bench")
        return time.perf_counter() - begun, report

    def add_end(self, result: SSAValue) -> None:
        """Ends the function."""
        self.function.body.block.add_op(ReturnOp.create(operands=[result]))


def nothing(chain: Chain, count: int) -> SSAValue:
    """Sigmoid of sigmoid of …: no rule applies."""
    value = chain.x
    for _ in range(count):
        value = chain.op("Sigmoid", value)
    return value


def half(chain: Chain, count: int) -> SSAValue:
    """Every second op is an identity."""
    value = chain.x
    for _ in range(count // 2):
        value = chain.op("Identity", chain.op("Sigmoid", value))
    return value


def folding(chain: Chain, count: int) -> SSAValue:
    """c + 1 + 1 + …, two ops each."""
    value = chain.constant(0)
    for _ in range(count // 2):
        value = chain.op("Add", value, chain.constant(1))
    return value


def wide(chain: Chain, count: int) -> SSAValue:
    """x + (-1) + (-2) + … in one op."""
    parts = [chain.op("Neg", chain.constant(number)) for number in range(count // 2)]
    return chain.op("Sum", chain.x, *parts)


def through(chain: Chain, count: int) -> SSAValue:
    """Identities of x in one op."""
    return chain.op("Sum", *(chain.op("Identity", chain.x) for _ in range(count)))


CASES: dict[str, Callable[[Chain, int], SSAValue]] = {
    "none": nothing,
    "half": half,
    "fold": folding,
    "wide": wide,
    "through": through,
}


def cost(case: Callable[[Chain, int], SSAValue], count: int) -> float:
    """Microseconds per op, the best of three."""
    times: list[float] = []
    for _ in range(3):
        chain = Chain()
        seconds, _report = chain.run(case(chain, count))
        times.append(seconds)
    return min(times) / count * 1e6


def main() -> None:
    """Prints microseconds per op by case and number of ops."""
    print(f"{len(RULES)} rules; microseconds per op")
    print(f"{'ops':>8}" + "".join(f"{name:>10}" for name in CASES))
    for count in SIZES:
        row = "".join(f"{cost(case, count):10.1f}" for case in CASES.values())
        print(f"{count:>8}{row}", flush=True)


if __name__ == "__main__":
    main()
