"""
Cost of the pattern rewrite driver per operation, by size of the function: `python bench/rewrite_driver.py`.

All patterns of constant propagation and canonicalization are loaded. `none`: no pattern matches. `half`:
every second operation is rewritten. `fold`: a chain of constant additions. `wide`: one Sum of many constants
that fold. `through`: one Sum of many identities. The cost per operation should not grow with their number.
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
from xonnc.rewriting.driver import RewriteReport, apply_rules
from xonnc.rewriting.onnx import op_class
from xonnc.transforms.canonicalize_onnx import all_rules
from xonnc.transforms.constprop_onnx import ConstProp

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
TYPE = tensor_type((4,), f32)
RULES = ConstProp().rules() | all_rules()


class FunctionBuilder:
    """Builds a function operation by operation."""

    def __init__(self) -> None:
        self.context = Context()
        for dialect in (Builtin, Func, get_onnx()):
            self.context.load_dialect(dialect)
        self.pool = DisposablePool.of(self.context)
        self.function = FuncOp("main_graph", ([TYPE], [TYPE]))
        self.x: SSAValue = self.function.args[0]

    def add(self, op: Operation) -> SSAValue:
        """Append an operation."""
        self.function.body.block.add_op(op)
        return op.results[0]

    def op(self, name: str, *operands: SSAValue) -> SSAValue:
        """Append an operation of the onnx dialect."""
        kind = op_class(name)
        assert kind is not None
        return self.add(kind.create(operands=operands, result_types=[TYPE]))

    def constant(self, number: int) -> SSAValue:
        """Append a constant."""
        value = self.pool.create(np.full(4, number, np.float32))
        return self.add(ConstantOp.create(result_types=[TYPE], properties={"value": value}))

    def run(self, result: SSAValue) -> tuple[float, RewriteReport]:
        """Apply all patterns; return the seconds and the report."""
        self.add_end(result)
        module = ModuleOp([self.function])
        gc.collect()
        begun = time.perf_counter()
        report = apply_rules(module, self.context, RULES, pass_name="bench")
        return time.perf_counter() - begun, report

    def add_end(self, result: SSAValue) -> None:
        """Append the return."""
        self.function.body.block.add_op(ReturnOp.create(operands=[result]))


def no_match(builder: FunctionBuilder, count: int) -> SSAValue:
    """A chain of Sigmoid, which no pattern matches."""
    value = builder.x
    for _ in range(count):
        value = builder.op("Sigmoid", value)
    return value


def half_rewritten(builder: FunctionBuilder, count: int) -> SSAValue:
    """Every second operation is an Identity."""
    value = builder.x
    for _ in range(count // 2):
        value = builder.op("Identity", builder.op("Sigmoid", value))
    return value


def constant_chain(builder: FunctionBuilder, count: int) -> SSAValue:
    """c + 1 + 1 + …: two operations each."""
    value = builder.constant(0)
    for _ in range(count // 2):
        value = builder.op("Add", value, builder.constant(1))
    return value


def wide_sum(builder: FunctionBuilder, count: int) -> SSAValue:
    """Sum of x and many negated constants."""
    parts = [builder.op("Neg", builder.constant(number)) for number in range(count // 2)]
    return builder.op("Sum", builder.x, *parts)


def identities(builder: FunctionBuilder, count: int) -> SSAValue:
    """Sum of many identities of x."""
    return builder.op("Sum", *(builder.op("Identity", builder.x) for _ in range(count)))


CASES: dict[str, Callable[[FunctionBuilder, int], SSAValue]] = {
    "none": no_match,
    "half": half_rewritten,
    "fold": constant_chain,
    "wide": wide_sum,
    "through": identities,
}


def cost(case: Callable[[FunctionBuilder, int], SSAValue], count: int) -> float:
    """Microseconds per operation, best of three."""
    times: list[float] = []
    for _ in range(3):
        builder = FunctionBuilder()
        seconds, _report = builder.run(case(builder, count))
        times.append(seconds)
    return min(times) / count * 1e6


def main() -> None:
    """Print microseconds per operation by case and number of operations."""
    print(f"{len(RULES)} rules; microseconds per op")
    print(f"{'ops':>8}" + "".join(f"{name:>10}" for name in CASES))
    for count in SIZES:
        row = "".join(f"{cost(case, count):10.1f}" for case in CASES.values())
        print(f"{count:>8}{row}", flush=True)


if __name__ == "__main__":
    main()
