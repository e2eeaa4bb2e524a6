"""
The tables of rules, and the generators and examples of their instances.

To test a new rule, add it to its table, and to `GENERATORS` of `generators/<table>.py` a function that makes
a random instance of its pattern:

    def clips(draw: Draw) -> Example:
        return Example({"x": draw.shape(), "low": draw.array(()), "high": None})

It binds the names of the pattern: to an array, to the shape of a random array, or to `None` for an absent
operand; and it gives attributes (`attributes` by their names in the pattern, `properties` by op). A rule
whose names are all operands that broadcast together needs no generator. Regression cases are in `EXAMPLES`
of `generators/<table>_examples.py`; `vary(EXAMPLES["Rule"])` makes a generator of them for rules with few
graph structures. A rule that needs a generator and has none fails the test, as does one that never fires.

To test a new table, add an entry to `TABLES` below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xonnc.fuzzing.rules.comparison import REWRITTEN, Closeness
from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.generators import (
    canonicalize,
    canonicalize_examples,
    canonicalize_movement_examples,
    constprop,
    constprop_evaluated,
    constprop_examples,
    decompose,
    decompose_examples,
    fuse,
    quantization,
    recompose,
    sequences,
    shape_related,
)
from xonnc.fuzzing.rules.generators import constprop_axis as axes
from xonnc.fuzzing.rules.generators import constprop_function as functions
from xonnc.fuzzing.rules.generators import fuse_channels as channels
from xonnc.fuzzing.rules.instances import PLACES, Example
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.conversion import convert
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.patterns import AttrName, Bound, Node, all_uses
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms import (
    canonicalize_onnx,
    constprop_onnx,
    decompose_onnx,
    fuse_channels_onnx,
    recompose_onnx,
)
from xonnc.transforms.fuse_operators_onnx import FUSIONS, LAST
from xonnc.transforms.rules import shape_related_sizes, unroll_loops

T = TypeVar("T")

QUANTIZED, PRODUCT = "QuantizeLinearofConst", "FuseProductDequantizeLinear"


def greedily(module: ModuleOp, context: Context, rules: RuleSet) -> None:
    """Apply rules like passes that rewrite greedily to a fixed point."""
    apply_rules(module, context, rules, pass_name="test")


def converting(module: ModuleOp, context: Context, rules: RuleSet) -> None:
    """Apply rules like conversion passes, which replace each op once."""
    convert(module, context, rules, pass_name="test")


@dataclass(frozen=True)
class Table:
    """A table of rules, and how they are tested."""

    name: str
    rules: RuleSet
    examples: Mapping[str, Sequence[Example]]
    """Regression cases, run first."""
    generators: Mapping[str, Generator]
    closeness: Mapping[str, Closeness] = field(default_factory=dict[str, Closeness])
    """Tolerances of rules that differ from the default, `REWRITTEN`."""
    finite: Mapping[str, str] = field(default_factory=dict[str, str])
    """Rules not tested with infinities, NaN and integer limits, with the reason."""
    kinds: Mapping[str, Sequence[Kind]] = field(default_factory=dict[str, "Sequence[Kind]"])
    """Element types of rules for which the reference supports fewer than the op does."""
    run: Callable[[ModuleOp, Context, RuleSet], None] = greedily

    def apply(self, module: ModuleOp, context: Context) -> None:
        """Apply the whole table."""
        self.run(module, context, self.rules)

    def near(self, name: str) -> Closeness:
        """Return the tolerance of a rule."""
        return self.closeness.get(name, REWRITTEN)

    def generator(self, name: str) -> Generator:
        """Return the instance generator of a rule."""
        if name in self.generators:
            return self.generators[name]
        root = self.rules[name].root
        uses = all_uses(root)
        if any(isinstance(part, AttrName) for node in uses for part in node.properties.values()):
            raise LookupError(f"{name}: no generator in fuzzing/rules/generators/{self.name}.py")
        if PLACES & set(names(root)):
            raise LookupError(f"{name}: no generator in fuzzing/rules/generators/{self.name}.py")
        return broadcasting(root)


def names(node: Node) -> Iterator[str]:
    """Yield the names of operands in a pattern, from left to right."""
    for part in node.operands:
        if isinstance(part, Node):
            yield from names(part)
        elif isinstance(part, Bound):
            yield part.name


def broadcasting(root: Node) -> Generator:
    """Return a generator of instances whose operands all broadcast together."""

    def make(draw: Draw) -> Example:
        found = list(dict.fromkeys(names(root)))
        count = draw.number_in(1, 4)
        parts = [
            name if number is None else f"{name}{number}" for name in found for number in (None, *range(4))
        ]
        return Example(
            dict(zip(parts, draw.broadcast(len(parts)), strict=True)), counts=dict.fromkeys(found, count)
        )

    return make


def merged(*entries: Mapping[str, T]) -> dict[str, T]:
    """Merge the entries of several modules; later ones override earlier ones."""
    return {name: entry for each in entries for name, entry in each.items()}


TABLES = (
    Table(
        "constprop",
        constprop_onnx.ConstProp().rules().without(tuple(constprop_evaluated.ELSEWHERE)),
        constprop_examples.EXAMPLES,
        merged(
            constprop.GENERATORS,
            functions.GENERATORS,
            axes.GENERATORS,
            {QUANTIZED: quantization.GENERATORS[QUANTIZED]},
        ),
        # The modules have tolerances for whole tables, including rules that are tested elsewhere.
        closeness={
            name: closeness
            for name, closeness in merged(constprop.CLOSENESS, functions.CLOSENESS, axes.CLOSENESS).items()
            if name not in constprop_evaluated.ELSEWHERE
        },
        finite=merged(constprop.FINITE, functions.FINITE, axes.FINITE),
        kinds=merged(
            constprop.KINDS, functions.KINDS, axes.KINDS, {QUANTIZED: quantization.KINDS[QUANTIZED]}
        ),
    ),
    Table(
        "canonicalize",
        canonicalize_onnx.all_rules(),
        {**canonicalize_examples.EXAMPLES, **canonicalize_movement_examples.EXAMPLES},
        canonicalize.GENERATORS,
        closeness=canonicalize.CLOSENESS,
        finite=canonicalize.FINITE,
        kinds=canonicalize.KINDS,
    ),
    Table(
        "fuse",
        FUSIONS | LAST,
        {},
        fuse.GENERATORS,
        closeness=fuse.CLOSENESS,
        finite=fuse.FINITE,
        kinds=fuse.KINDS,
    ),
    Table(
        "decompose",
        decompose_onnx.every_rule(),
        decompose_examples.EXAMPLES,
        decompose.GENERATORS,
        closeness=decompose.CLOSENESS,
        finite=decompose.FINITE,
        kinds=decompose.KINDS,
        run=converting,
    ),
    Table(
        "recompose",
        recompose_onnx.every_rule(),
        {},
        recompose.GENERATORS,
        closeness=recompose.CLOSENESS,
        finite=recompose.FINITE,
        kinds=recompose.KINDS,
    ),
    Table(
        "fuse_channels",
        fuse_channels_onnx.RULES,
        {},
        merged(channels.GENERATORS, {PRODUCT: quantization.GENERATORS[PRODUCT]}),
        finite=channels.FINITE,
        kinds={PRODUCT: quantization.KINDS[PRODUCT]},
    ),
    Table(
        "shape-related",
        shape_related_sizes.RULES,
        {},
        shape_related.GENERATORS,
        closeness=shape_related.CLOSENESS,
    ),
    Table("unroll", unroll_loops.RULES, {}, sequences.UNROLL, kinds=sequences.UNROLL_KINDS),
)

CASES = [(table, name) for table in TABLES for name in table.rules]
"""All rules that are tested by instances, with their tables."""
