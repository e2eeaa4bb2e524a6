"""
Compile models to packages for targets of plug-in backends: the backend runs what it takes, the CPU the rest.

    package = compile_backend_package("model.onnx", "demo")
    package.write("model.xpkg")
    outputs = load_package("model.xpkg").run({"x": array})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from xonnc.argument_types import checks_arguments
from xonnc.backend_compilation import lower_and_emit
from xonnc.compiler import FrontendResult, ModelInput, run_frontend
from xonnc.contexts import StageCallback
from xonnc.errors import RefusalError, UnknownNameError, XonncError
from xonnc.formats.byte_sink import ByteSink
from xonnc.formats.onnx.exporter import export_module
from xonnc.formats.onnx.model_summary import ModelSummary
from xonnc.formats.onnx.save_model import write_binary
from xonnc.formats.package.archive import WritePart, write_package
from xonnc.formats.package.manifest import Manifest, PackageStep
from xonnc.lowering.placement.assignment import nodes_on_dla
from xonnc.lowering.placement.dataflow_graph import DataflowGraph, graph_of
from xonnc.lowering.placement.outline_partition import (
    OutlinedPartition,
    Partition,
    outline,
    partitions_of,
)
from xonnc.lowering.placement.partitions import partition_nodes
from xonnc.packages import CpuNode, cpu_node, manifest_ports, unique_value_names
from xonnc.plugins.backend_declarations import Backend
from xonnc.plugins.backend_lowering import lower_nodes
from xonnc.plugins.backends import backend_of
from xonnc.transforms.models.signatures import Shapes


@dataclass(frozen=True)
class BackendPackage:
    """A package for a target of a plug-in, with summaries of the model and of its partition."""

    imported: ModelSummary
    simplified: ModelSummary
    opset: int
    target: str
    backend: str
    nodes: int
    """Nodes of the partitioned graph, in all parts."""
    cpu_nodes: tuple[CpuNode, ...]
    crossings: int
    """Tensors that enter or leave parts on the backend."""
    manifest: Manifest
    _parts: tuple[WritePart, ...]

    def write(self, path: str | Path) -> int:
        """
        Write the package to a file, atomically.

        Parameters:
            path: the file to write.

        Returns: the size of the file in bytes.

        Raises: `XonncError` if the file cannot be written.
        """
        return write_package(Path(path), self.manifest, self._parts)


@checks_arguments
def compile_backend_package(
    path: ModelInput,
    target: str,
    on_stage: StageCallback | None = None,
    strict: bool = False,
    input_shapes: Shapes | None = None,
) -> BackendPackage:
    """
    Compile a model to a package: subgraphs that the target takes are compiled by the backend of a plug-in.

    Parameters:
        path: the model (.onnx, .onnxtxt or .json), or the model in memory.
        target: the name of a target of a plug-in's backend.
        on_stage: called after the stages `onnx` and `simplified`.
        strict: whether declared shapes that contradict the operators are an error instead of a warning.
        input_shapes: sizes of dynamic inputs by name.

    Returns: the package; its CPU nodes have the backend's reasons.

    Raises:
        InvalidModelError: for an invalid model.
        UnknownNameError: if no plug-in has the target.
        XonncError: for a target given by a file, or an error in the backend.

    Example:
        >>> compile_backend_package("model.onnx", "demo").write("model.xpkg")
    """
    backend = backend_of(target)
    if backend is None:
        raise UnknownNameError(f"no target '{target}' of a plug-in")
    if target not in backend.targets:
        known = ", ".join(backend.targets)
        raise XonncError(f"{target}: a package names its target; give one of {backend}: {known}")
    front = run_frontend(path, on_stage, strict=strict, is_lowered=backend.takes, input_shapes=input_shapes)
    graph = graph_of(front.module)
    return _Partitioner(front, graph, unique_value_names(graph), backend, target).compile()


@dataclass(frozen=True)
class _BackendPart:
    """A partition with its module, and the backend's output if it is not for the CPU."""

    partition: Partition
    outlined: OutlinedPartition
    content: bytes | None


@dataclass(frozen=True)
class _Partitioner:
    front: FrontendResult
    graph: DataflowGraph
    names: Mapping[SSAValue, str]
    backend: Backend
    target: str

    @property
    def _description(self) -> Any:
        return self.backend.target_of(self.target)

    def compile(self) -> BackendPackage:
        """Partition and compile until the backend refuses no node of its parts."""
        nodes = range(len(self.graph.nodes))
        (everything,) = partitions_of(self.graph, [nodes], set(nodes), reads_floats=True)
        refused = self._refused_in(everything)
        while True:
            parts = [self._compiled(partition, refused) for partition in self._partitions(refused)]
            compiled = [part for part in parts if part is not None]
            if len(compiled) == len(parts):
                return self._assembled(compiled, refused)

    def _refused_in(self, partition: Partition) -> dict[int, str]:
        """Return the nodes of a partition that the backend refuses, with its reasons."""
        outlined = outline(partition, self.graph, self.names)
        # Before the lowering, which replaces the readers of constants.
        nodes_of = {op: _nodes_of(op, outlined) for op in outlined.module.walk()}
        refused: dict[int, str] = {}
        for lowered in lower_nodes(outlined.module, self.backend, self._description):
            if lowered.reason is not None:
                refused |= dict.fromkeys(nodes_of[lowered.op], lowered.reason)
        return refused

    def _partitions(self, refused: Mapping[int, str]) -> list[Partition]:
        taken = set(range(len(self.graph.nodes))) - refused.keys()
        on_backend = nodes_on_dla(self.graph.flow, taken, refused.keys())
        parts = partition_nodes(self.graph.flow, on_backend)
        partitions = partitions_of(self.graph, parts, on_backend, reads_floats=True)
        constants = tuple(
            dict.fromkeys(value for value in self.graph.results if value.owner in self.graph.constants)
        )
        return [*partitions, Partition(False, (), (), constants)] if constants else partitions

    def _compiled(self, partition: Partition, refused: dict[int, str]) -> _BackendPart | None:
        """Compile a partition; `None` if the backend refuses nodes of it, which are added to `refused`."""
        outlined = outline(partition, self.graph, self.names)
        if not partition.is_dla:
            return _BackendPart(partition, outlined, None)
        try:
            _, content = lower_and_emit(outlined.module, self.backend, self._description, self.front.context)
        except RefusalError:
            # What a backend takes may depend on the neighbours of a node, which other partitions have now.
            found = self._refused_in(partition)
            if not found:
                raise
            refused |= found
            return None
        return _BackendPart(partition, outlined, content)

    def _assembled(self, parts: Sequence[_BackendPart], refused: Mapping[int, str]) -> BackendPackage:
        crossing = [
            *self.graph.function.body.block.args,
            *(value for part in parts for value in part.partition.outputs),
        ]
        inputs, outputs, values = manifest_ports(self.graph, self.names, crossing)
        steps = tuple(self._step(number, part) for number, part in enumerate(parts))
        of_backend = [part.partition for part in parts if part.content is not None]
        return BackendPackage(
            self.front.imported,
            self.front.simplified,
            self.front.opset,
            self.target,
            self.backend.name,
            len(self.graph.nodes),
            tuple(cpu_node(self.graph.nodes[node], reason) for node, reason in sorted(refused.items())),
            sum(len(each.inputs) + len(each.outputs) for each in of_backend),
            Manifest(target=self.target, inputs=inputs, outputs=outputs, values=values, steps=steps),
            tuple(_writer(part) for part in parts),
        )

    def _step(self, number: int, part: _BackendPart) -> PackageStep:
        is_cpu = part.content is None
        return PackageStep(
            kind="cpu" if is_cpu else "backend",
            file=f"parts/{number}{'.onnx' if is_cpu else self.backend.suffix}",
            size=0,
            sha256="",
            inputs=tuple(self.names[value] for value in part.partition.inputs),
            outputs=tuple(self.names[value] for value in part.partition.outputs),
            quantization={},
        )


def _nodes_of(op: Operation, outlined: OutlinedPartition) -> set[int]:
    """Return the node that an op is, or those that read a constant of the model that it computes."""
    if op in outlined.nodes:
        return {outlined.nodes[op]}
    readers = [use.operation for result in op.results for use in result.uses]
    return {node for reader in readers for node in _nodes_of(reader, outlined)}


def _writer(part: _BackendPart) -> WritePart:
    if part.content is None:
        return partial(_write_model, part.outlined.module)
    return partial(_write_bytes, part.content)


def _write_model(module: ModuleOp, stream: ByteSink) -> None:
    write_binary(export_module(module), stream)


def _write_bytes(content: bytes, stream: ByteSink) -> None:
    stream.write(content)
