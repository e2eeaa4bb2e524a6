"""Views that every target has: the graph of the imported model, rewrites, and operators before and after."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Container, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xonnc.dialects.onnx.locations import describe, node_names
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import EntryPointOp, NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.formats.onnx.model_summary import summarize
from xonnc.formats.onnx.op_versions import identity_of
from xonnc.rewriting.statistics import tracing_rules
from xonnc.tools.html_report.document import GraphNode, Operators, RuleCount

MAX_DIFF_LINES = 4000
"""Lines of the difference that the page holds; a bigger model has its beginning."""

MAX_NODES_OF_RULE = 200
"""Nodes that the page names for one rule."""


@dataclass(frozen=True)
class ImportedNode:
    """A node as it was imported."""

    name: str
    op: str
    inputs: tuple[int, ...]


class _Everything(Container[str]):
    """All rules."""

    def __contains__(self, name: object) -> bool:
        return True


@dataclass
class FrontEnd:
    """The recorded stages that all targets share."""

    nodes: list[ImportedNode] = field(default_factory=list[ImportedNode])
    before: Mapping[str, int] = field(default_factory=dict[str, int])
    after: Mapping[str, int] = field(default_factory=dict[str, int])
    applied: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    _text: list[str] = field(default_factory=list[str])
    diff: tuple[str, ...] = ()

    def on_stage(self, stage: str, module: ModuleOp) -> None:
        """Record the stages `onnx` and `simplified`."""
        if stage == "onnx":
            self.nodes = imported_nodes(module)
            self.before = summarize(module).operators
            self._text = outline(module)
        elif stage == "simplified":
            self.after = summarize(module).operators
            lines = difflib.unified_diff(
                self._text, outline(module), "imported", "simplified", n=1, lineterm=""
            )
            self.diff = tuple(line for _, line in zip(range(MAX_DIFF_LINES), lines, strict=False))

    @contextmanager
    def recording(self) -> Generator[None]:
        """Record the rules that are applied inside the block."""
        with tracing_rules(_Everything(), self._tell):
            yield

    def _tell(self, rule: str, op: Operation, refusal: str) -> None:
        if not refusal:
            self.applied.setdefault(rule, []).append(describe(op))

    def rewrites(self, passes: Mapping[str, str]) -> tuple[RuleCount, ...]:
        """Return the applied rules, most frequent first; `passes` is the pass of each rule."""
        counts = sorted(self.applied.items(), key=lambda item: -len(item[1]))
        return tuple(
            RuleCount(passes.get(rule, ""), rule, len(nodes), tuple(dict.fromkeys(nodes))[:MAX_NODES_OF_RULE])
            for rule, nodes in counts
        )

    def operators(self, nodes: tuple[GraphNode, ...]) -> tuple[Operators, ...]:
        """Return the counts of each operator, most frequent first."""
        engines: dict[str, Counter[str]] = {}
        for node in nodes:
            engines.setdefault(node.op, Counter())[node.engine] += 1
        names = dict.fromkeys([*self.before, *self.after])
        return tuple(
            Operators(name, self.before.get(name, 0), self.after.get(name, 0), dict(engines.get(name, {})))
            for name in names
        )


def compute_nodes(module: ModuleOp) -> list[OnnxOp]:
    """Return the operators of a module, subgraphs included, without constants and terminators."""
    skipped = ConstantOp | NoValueOp | ReturnOp | EntryPointOp
    return [op for op in module.walk() if isinstance(op, OnnxOp) and not isinstance(op, skipped)]


def imported_nodes(module: ModuleOp) -> list[ImportedNode]:
    """Return the nodes of an imported module, in order."""
    ops = compute_nodes(module)
    index = {op: position for position, op in enumerate(ops)}
    found: list[ImportedNode] = []
    for op in ops:
        identity = identity_of(op)
        owners = [operand.owner for operand in op.operands]
        inputs = dict.fromkeys(
            index[owner] for owner in owners if isinstance(owner, OnnxOp) and owner in index
        )
        name = next(iter(node_names(op)), "") or describe(op)
        found.append(ImportedNode(name, op.name if identity is None else identity.op_type, tuple(inputs)))
    return found


def outline(module: ModuleOp) -> list[str]:
    """Return one line for each operator: results, operator, operands and types, without constants."""
    numbers: dict[object, str] = {}
    lines: list[str] = []
    for op in compute_nodes(module):
        for result in op.results:
            numbers[result] = f"%{result.name_hint or len(numbers)}"
        operands = ", ".join(
            numbers.get(operand, f"%{operand.name_hint or 'const'}") for operand in op.operands
        )
        results = ", ".join(numbers[result] for result in op.results)
        types = ", ".join(str(result.type) for result in op.results)
        lines.append(f"{results} = {op.name}({operands}) : {types}")
    return lines
