"""
Test one rule on many instances of its pattern.

The reference evaluator runs each instance before and after this rule alone was applied to it: the results
must agree, and the module must verify, export to valid ONNX, and have results of the same types. Where the
rule does not match, the graph must not change. Afterwards the whole table is applied twice: the second time
must change nothing.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import onnx
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.types import are_compatible, element_type, is_ranked, is_tensor
from xonnc.errors import XonncError
from xonnc.fuzzing.rules.comparison import SAME, difference, size_of
from xonnc.fuzzing.rules.draws import Draw
from xonnc.fuzzing.rules.instances import Example, Instance
from xonnc.fuzzing.rules.tables import Table
from xonnc.fuzzing.rules.texts import Text, TextInstance
from xonnc.fuzzing.rules.values import KINDS, Kind
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.patterns import Array
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.shape_inference_onnx import infer_shapes

MAX_TRIES = 8
"""Maximum number of instances generated for each one on which the rule must fire."""
PATIENCE = 8
"""Number of instances of an element type without a match after which the type is skipped."""
REFUSALS = 3
"""Number of instances that the verifier refuses after which an element type is skipped, if none matched."""
EACH_EXAMPLE = 2
"""Number of element types on which the rule must fire before the next fixed example is tried."""
CHECK: Callable[[onnx.ModelProto], None] = vars(onnx.checker)["check_model"]
CONSTANTS = frozenset({"onnx.Constant", "onnx.NoValue"})


@dataclass
class Tally:
    """Results of all instances of a rule."""

    fixed: int = 0
    """Number of fixed examples on which it fired."""
    generated: int = 0
    """Number of generated instances on which it fired."""
    failures: int = 0
    kinds: Counter[str] = field(default_factory=Counter[str])
    """Number of generated instances on which it fired, by element type."""
    refused: Counter[str] = field(default_factory=Counter[str])
    """Number of generated instances that the verifier refused, by element type."""
    wrong: list[str] = field(default_factory=list[str])
    """Failures, each with what is needed to reproduce the instance."""


class Sweep:
    """All instances of one rule of a table, reproducible from a seed."""

    def __init__(self, table: Table, name: str, seed: int, requested: int) -> None:
        self.table, self.name, self.seed, self.requested = table, name, seed, requested
        self.alone = RuleSet({name: table.rules[name]})
        self.near = table.near(name)
        self.tally = Tally()

    def run(self) -> Tally:
        """Run fixed examples first, then generated instances until the rule has fired on enough of them."""
        for index, example in enumerate(self.table.examples.get(self.name, ())):
            fired = 0
            for kind in in_turn(example, index):
                fired += self.example(example, kind, f"example {index} {np.dtype(kind)}")
                if fired == EACH_EXAMPLE:
                    break
            self.tally.fixed += fired
        # Examples say for themselves which element types they have.
        self.tally.refused.clear()
        for number, kind in self.numbered():
            draw = Draw(self.random(f"{number}"), np.dtype(kind), number)
            if self.example(self.table.generator(self.name)(draw), kind, f"instance {number} {draw.dtype}"):
                self.tally.generated += 1
                self.tally.kinds[draw.dtype.name] += 1
            if self.tally.generated >= self.requested:
                break
        return self.tally

    def numbered(self) -> Iterator[tuple[int, Kind]]:
        """Yield indices of instances and element types in turn, without types on which it never fires."""
        kinds, tried = list(self.table.kinds.get(self.name, KINDS)), Counter[Kind]()
        for number in count():
            kinds = [kind for kind in kinds if self.is_promising(kind, tried[kind])]
            if not kinds or number >= MAX_TRIES * self.requested + PATIENCE * len(KINDS):
                return
            kind = kinds[number % len(kinds)]
            tried[kind] += 1
            yield number, kind

    def is_promising(self, kind: Kind, tried: int) -> bool:
        """Whether the rule may fire on an element type: it has, or tries are left."""
        name = np.dtype(kind).name
        return self.tally.kinds[name] > 0 or (tried < PATIENCE and self.tally.refused[name] < REFUSALS)

    def random(self, what: str) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(f"{self.name} {what} {self.seed}".encode()))

    def example(self, example: Example | Text, kind: Kind, what: str) -> bool:
        """Return whether the rule fired on an instance; failures are recorded."""
        try:
            instance = self.instance(example, kind, what)
        except VerifyException:
            self.tally.refused[np.dtype(kind).name] += 1
            return False
        fired, problem = self.check(instance)
        if problem is not None:
            self.tally.wrong.append(f"{self.name}, {what}, seed {self.seed}: {problem}")
        if not fired:
            self.tally.failures += 1
        return fired

    def instance(self, example: Example | Text, kind: Kind, what: str) -> Instance:
        if isinstance(example, Text):
            return TextInstance(example)
        specials, seed = self.name not in self.table.finite, zlib.crc32(what.encode()) ^ self.seed
        return Instance(self.alone[self.name].root, example, kind, specials, seed)

    def check(self, instance: Instance) -> tuple[bool, str | None]:
        """Return whether the rule fired, and a description of the failure if there is one."""
        expected, old_types = instance.expected(), types_of(instance)
        graph = graph_of(instance)
        fired = apply_rules(instance.module, instance.context, self.alone, pass_name="test").changed
        if not fired:
            return False, None if graph_of(
                instance
            ) == graph else "the rule does not match, but the graph changes"
        try:
            problem = self.compare(instance, expected)
        except (XonncError, VerifyException) as error:
            return True, f"the result is refused: {' '.join(str(error).split())}"
        if problem is None and not all(map(keeps, old_types, types_of(instance))):
            problem = "a result has another type"
        return True, problem or self.idempotence(instance)

    def compare(self, instance: Instance, expected: Callable[[], Sequence[Array]]) -> str | None:
        infer_shapes(instance.module)
        instance.module.verify()
        after = instance.model()
        CHECK(after)
        with np.errstate(all="ignore"):
            old, new = expected(), instance.evaluate(after)
        scale = 0.0 if self.near is SAME else size_of(instance.data)
        found = [difference(one, other, self.near, scale) for one, other in zip(old, new, strict=True)]
        return next((problem for problem in found if problem is not None), None)

    def idempotence(self, instance: Instance) -> str | None:
        self.table.apply(instance.module, instance.context)
        once = graph_of(instance)
        self.table.apply(instance.module, instance.context)
        return None if graph_of(instance) == once else "applying the table a second time changes the graph"


def in_turn(example: Example, index: int) -> list[Kind]:
    """Return an example's element types: the first one, then the others, rotated by the example's index."""
    first, *others = example.dtypes
    start = index % len(others) if others else 0
    return [first, *others[start:], *others[:start]]


def types_of(instance: Instance) -> list[Attribute]:
    """Return the types of the model's results."""
    end = instance.function.body.block.last_op
    assert end is not None
    return [operand.type for operand in end.operands]


def keeps(old: Attribute, new: Attribute) -> bool:
    """Whether the type after a rewrite is equal to the one before, or more static."""
    if old == new:
        return True
    if not is_tensor(old) or not is_tensor(new):
        return are_compatible(old, new)
    if element_type(old) != element_type(new):
        return False
    if not is_ranked(old) or not is_ranked(new):
        return not is_ranked(old)
    sizes = zip(old.get_shape(), new.get_shape(), strict=False)
    return old.get_num_dims() == new.get_num_dims() and all(
        was in (size, DYNAMIC_INDEX) for was, size in sizes
    )


def graph_of(instance: Instance) -> Hashable:
    """Return a hashable form of the graph that does not depend on the positions of constants."""
    names: dict[SSAValue, Hashable] = {}
    ops: list[Hashable] = []
    for op in instance.function.walk():
        if op.name in CONSTANTS:
            names[op.results[0]] = (op.properties.get("value"), op.results[0].type)
            continue
        read = tuple(names.get(operand, "?") for operand in op.operands)
        ops.append((op.name, read, *map(frozenset, (op.properties.items(), op.attributes.items()))))
        ops.append(tuple(result.type for result in op.results))
        names.update({result: (len(ops), result.index) for result in op.results})
        for region in op.regions:
            for block in region.blocks:
                names.update({value: (len(ops), f"argument {value.index}") for value in block.args})
    return tuple(ops)
