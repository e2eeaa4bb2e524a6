"""`xonnc compile --stats` and `--print-fusion-groups`: shared kernels, constant folding, fusion."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.tools.console import plural, row, size

if TYPE_CHECKING:
    import onnx
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute

    from xonnc.contexts import StageCallback

MAX_SHOWN = 8
"""The most nodes that a row lists; JSON has all."""

RANDOM = ("Bernoulli", "Dropout", "Multinomial", "Random")
"""Prefixes of the names of random operators."""


def add_arguments(add: Callable[..., argparse.Action]) -> None:
    """Add the options with `add`, a method of a parser or group."""
    add(
        "--stats",
        action="store_true",
        help="print the kernel calls by kind, the nodes folded at compile time and the prepacked constants",
    )
    add("--print-fusion-groups", action="store_true", help="list the nodes of each fused kernel")


@dataclass(frozen=True)
class FusionGroup:
    """Operators that one kernel computes."""

    name: str
    """The operators: `conv_add_relu`."""
    kind: str
    nodes: Sequence[str]


@dataclass(frozen=True)
class PrepackedConstant:
    """A prepacked constant: stored in the order in which its kernel reads it, or combined with others."""

    node: str
    bytes: int


@dataclass
class Statistics:
    """Statistics collected from the stages of a compilation."""

    model: Path
    groups: list[FusionGroup] = field(default_factory=list[FusionGroup])
    single: int = 0
    """Nodes in no group."""
    precomputed: list[tuple[str, str]] | None = None
    """Name and operator of nodes that were computed at compile time; IR says nothing of them."""
    repacked: list[PrepackedConstant] = field(default_factory=list[PrepackedConstant])
    calls: Counter[str] = field(default_factory=Counter[str])
    """The number of calls of each kernel."""
    winograd: int = 0
    """Convolutions by Winograd's filtering."""
    _constants: set[Attribute] = field(default_factory=set["Attribute"])

    def observing(self, on_stage: StageCallback) -> StageCallback:
        """Return a callback that collects statistics and then calls `on_stage`."""

        from xonnc.dialects.krnl.attributes import WINOGRAD

        def seen(stage: str, module: ModuleOp) -> None:
            if stage == "simplified":
                self._see_simplified(module)
            elif stage == "winograd":
                self.winograd = sum(WINOGRAD in op.attributes for op in module.walk())
            elif stage == "layout":
                self._see_groups(module)
            elif stage == "planned":
                self._see_kernels(module)
            on_stage(stage, module)

        return seen

    def _see_simplified(self, module: ModuleOp) -> None:
        from xonnc.dialects.onnx.locations import output_names
        from xonnc.dialects.onnx.ops.constant import ConstantOp
        from xonnc.formats.onnx.load_model import load
        from xonnc.stage_files import is_ir

        if is_ir(self.model):
            return
        left = {name for op in module.walk() if not isinstance(op, ConstantOp) for name in output_names(op)}
        self.precomputed = [
            (node.name or node.output[0], node.op_type)
            for node in constant_nodes(load(self.model).proto.graph)
            if left.isdisjoint(node.output)
        ]

    def _see_groups(self, module: ModuleOp) -> None:
        from xonnc.dialects.krnl.fusion import FusedOp
        from xonnc.dialects.onnx.locations import describe
        from xonnc.dialects.onnx.op import OnnxOp
        from xonnc.dialects.onnx.ops.builtin import NoValueOp
        from xonnc.dialects.onnx.ops.constant import ConstantOp

        for op in module.walk():
            if isinstance(op, ConstantOp) and op.value is not None:
                self._constants.add(op.value)
            if isinstance(op, FusedOp):
                members = [each for each in op.body.block.ops if isinstance(each, OnnxOp)]
                name = "_".join(each.name.removeprefix("onnx.").lower() for each in members)
                nodes = [describe(each) for each in members]
                self.groups.append(FusionGroup(name, op.kind.data, nodes))
            elif isinstance(op, OnnxOp) and op.results and not isinstance(op.parent_op(), FusedOp):
                self.single += not isinstance(op, ConstantOp | NoValueOp)

    def _see_kernels(self, module: ModuleOp) -> None:
        from xonnc.dialects.krnl.memory import CallOp, GlobalOp
        from xonnc.dialects.onnx.locations import describe
        from xonnc.dialects.onnx.types import numpy_dtype

        for op in module.walk():
            if isinstance(op, CallOp):
                self.calls[op.func_name.data] += 1
            elif isinstance(op, GlobalOp) and op.value not in self._constants:
                shape, element = op.output.type.get_shape(), op.output.type.element_type
                self.repacked.append(
                    PrepackedConstant(describe(op), prod(shape) * numpy_dtype(element).itemsize)
                )

    @property
    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Kernels of each kind, and how often they are called; those called most come first."""
        calls: Counter[str] = Counter()
        kernels: Counter[str] = Counter()
        for name, count in self.calls.items():
            kind = name.rstrip("0123456789").removesuffix("_")
            calls[kind] += count
            kernels[kind] += 1
        return {kind: (kernels[kind], count) for kind, count in calls.most_common()}

    def print_report(self) -> None:
        """Print the statistics."""
        shared = sum(self.calls.values()) - len(self.calls)
        total = plural(sum(self.calls.values()), "call")
        row(
            "kernels",
            f"{plural(len(self.calls), 'kernel')} for {total}: {shared} share one with an equal layer",
        )
        for kind, (kernels, calls) in self.by_kind.items():
            row("", f"{plural(calls, 'call')} of {plural(kernels, f'{kind} kernel')}")
        if self.precomputed is not None:
            done = [f"{name} ({operator})" for name, operator in self.precomputed]
            row("precomputed", f"{plural(len(done), 'node')} at compile time{_some(done)}")
        total = size(sum(one.bytes for one in self.repacked))
        nodes = list(dict.fromkeys(one.node for one in self.repacked))
        row(
            "repacked",
            f"{plural(len(self.repacked), 'constant')} in the order of kernels, {total}{_some(nodes)}",
        )

    def print_groups(self) -> None:
        """Print the fusion groups."""
        fused = sum(len(group.nodes) for group in self.groups)
        row(
            "fusion groups",
            f"{plural(len(self.groups), 'group')} of {plural(fused, 'node')}, {self.single} alone",
        )
        for group in self.groups:
            row("", f"fused_{group.name} ({group.kind}): {', '.join(group.nodes)}")

    def as_json(self) -> dict[str, object]:
        """The statistics."""
        return {
            "kernels": len(self.calls),
            "calls": sum(self.calls.values()),
            "kinds": {
                kind: {"kernels": kernels, "calls": calls} for kind, (kernels, calls) in self.by_kind.items()
            },
            "precomputed": None
            if self.precomputed is None
            else [{"node": name, "operator": operator} for name, operator in self.precomputed],
            "repacked": [asdict(one) for one in self.repacked],
        }


def _some(names: Sequence[str]) -> str:
    rest = len(names) - MAX_SHOWN
    shown = ", ".join(names[:MAX_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
    return f": {shown}" if shown else ""


def constant_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes whose inputs follow from the constants of a graph alone."""
    known = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        inputs = [name for name in node.input if name]
        has_body = any(attribute.HasField("g") for attribute in node.attribute)
        if node.op_type == "Constant":
            known.update(node.output)
        elif inputs and known.issuperset(inputs) and not has_body and not node.op_type.startswith(RANDOM):
            known.update(node.output)
            yield node
