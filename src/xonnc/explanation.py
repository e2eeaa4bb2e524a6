"""
Explain what a target does with each node of a model, or why it refuses the node.

    explanation = explain_model("model.onnx", "nv_small")
    for node in explanation.nodes:
        print(node.node, node.engine, node.layers, node.reason)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xonnc.argument_types import checks_arguments
from xonnc.compiler import prepare, simplify
from xonnc.contexts import ignore_stage, new_context
from xonnc.dialects.dla.engines import ConvOp
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import describe, node_name, node_names
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import ReturnOp
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.onnx import import_model
from xonnc.formats.onnx.known_operators import require_known_operators, unknown_operators
from xonnc.formats.onnx.op_versions import identity_of
from xonnc.lowering.dla.buffer_strategies import BufferStrategy, buffer_strategies
from xonnc.lowering.dla.network_checks import network
from xonnc.lowering.dla_to_loadable.emit_loadable import tasks
from xonnc.lowering.dla_to_loadable.stages import run_stages_after_converting
from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput, set_images
from xonnc.lowering.onnx_to_dla.builders.node_precision import precision_of_node
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import NodePlacement, lower_network
from xonnc.lowering.onnx_to_dla.quantization.output_branches import with_separate_outputs
from xonnc.lowering.placement.dataflow_graph import graph_of
from xonnc.lowering.placement.place_nodes import Placement as Partition
from xonnc.lowering.placement.place_nodes import place_nodes as partition
from xonnc.node_explanations import (
    Explanation,
    NodeExplanation,
    PackagePartExplanation,
    name_nodes,
    named_operators,
    with_shared_layers,
)
from xonnc.packages import check_images, unique_value_names
from xonnc.plugins.backend_declarations import Backend
from xonnc.plugins.backend_lowering import lower_nodes
from xonnc.plugins.backends import backend_of
from xonnc.plugins.nvdla_bodies import lowered_by_nvdla
from xonnc.rewriting.extensions import finish_stage
from xonnc.targets import NvdlaTarget, load_target
from xonnc.transforms.declared_types import with_claims
from xonnc.transforms.models.signatures import Shapes, set_input_shapes
from xonnc.transforms.shape_inference_onnx import correct_shapes

CPU = "CPU"
"""The engine of nodes that a package runs on the CPU."""

UNDECIDED = "undecided"
"""The engine of nodes whose engine depends on a refused neighbour."""

VIEWS = frozenset(
    "Concat DequantizeLinear Dropout Flatten Identity QuantizeLinear Reshape Slice Split Squeeze Transpose "
    "Unsqueeze".split()
)
"""Operators that may only reinterpret the layout of a buffer (views), on the chip or at its boundary."""


@checks_arguments
def explain_model(
    path: str | Path,
    target: str = "nv_full",
    calibrate: Callable[[ModuleOp], Ranges] | None = None,
    images: Mapping[str, ImageInput] | None = None,
    input_shapes: Shapes | None = None,
) -> Explanation:
    """
    Explain how a target executes the nodes of a model.

    Parameters:
        path: the model.
        target: the name of a target or the path of a TOML file; for processors there is `explain_native`.
        calibrate: returns the ranges by which a float model is quantized first, as in `compile_model`.
        images: image inputs by name, as in `compile_model`.
        input_shapes: sizes of dynamic inputs by name; the DLA takes fixed sizes.

    Returns: the explanation, with everything the target refuses.

    Raises: `XonncError` for a file that is not a model, `UnknownNameError` for an unknown target.

    Example:
        >>> for node in explain_model("model.onnx", "nv_small").nodes:
        ...     print(node.node, node.engine, node.reason)
    """
    backend = backend_of(target)
    if backend is not None:
        return _explain_backend(path, backend, backend.target_of(target))
    hardware = load_target(target)
    read = _read(path, calibrate, images, input_shapes=input_shapes, hardware=hardware)
    placements, refusals = lower_network(read.module, hardware, DisposablePool.of(read.context))
    if not refusals:
        run_stages_after_converting(read.module, target, read.context)
    layers = [] if refusals else _chains(read.module)
    explain = _Explainer(_by_node(placements), read.merged, [names for names, _ in layers])
    found = Explanation(
        hardware.name,
        tuple(with_shared_layers([explain(node, operator) for node, operator in read.nodes])),
        tuple(engines for _, engines in layers),
        tuple(refusal.reason for refusal in refusals),
        convolutions=() if refusals else _strategies(read.module, hardware),
    )
    return _with_unknown(found, read.unknown)


def _with_unknown(found: Explanation, unknown: Mapping[str, str]) -> Explanation:
    """Refuse operators that do not exist for that reason, whatever a target says of them."""
    if not unknown:
        return found
    nodes = [
        replace(node, engine="refused", reason=unknown[node.node].removeprefix(f"{node.node}: "))
        if node.node in unknown
        else node
        for node in found.nodes
    ]
    others = [each for each in found.refusals if not each.startswith(tuple(f"{node} (" for node in unknown))]
    return replace(found, nodes=tuple(nodes), refusals=(*unknown.values(), *others))


def _explain_backend(path: str | Path, backend: Backend, target: Any) -> Explanation:
    """Explain how a backend of a plug-in takes the nodes of a model."""
    read = _read(path, None, None, is_lowered=backend.takes)
    lowered = lower_nodes(read.module, backend, target)
    placements = [
        NodePlacement(each.op, each.node, each.operator, "" if each.reason else backend.name, each.reason, ())
        for each in lowered
    ]
    explain = _Explainer(_by_node(placements), read.merged, ())
    found = Explanation(
        target.name,
        tuple(explain(node, operator) for node, operator in read.nodes),
        (),
        tuple(each.refusal for each in lowered if each.reason is not None),
    )
    return _with_unknown(found, read.unknown)


@checks_arguments
def explain_package(
    path: str | Path,
    target: str = "nv_full",
    calibrate: Callable[[ModuleOp], Ranges] | None = None,
    images: Mapping[str, ImageInput] | None = None,
    input_shapes: Shapes | None = None,
) -> Explanation:
    """
    Explain where each node of a model runs in the package that `compile_package` makes.

    A node is in hardware layers of the DLA, or its engine is `CPU` with the reason. Layers are numbered
    through all parts.

    Parameters:
        path: the model.
        target: the name of a target or the path of a TOML file.
        calibrate: returns the ranges by which a float model is quantized first.
        images: image inputs by name.
        input_shapes: sizes of dynamic inputs by name; the DLA takes fixed sizes.

    Returns: the explanation; `parts` lists the parts in the order in which they run, `refusals` what the DLA
    does not take.

    Raises: `XonncError` as `compile_package` does.

    Example:
        >>> explain_package("model.onnx", "nv_small").parts
    """
    hardware = load_target(target)
    calibrated = with_separate_outputs(calibrate)
    read = _read(path, calibrated, images, is_run=True, input_shapes=input_shapes, hardware=hardware)
    graph = graph_of(read.module)
    placed = partition(read.module, target, read.context, unique_value_names(graph))
    check_images(placed)
    layers: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    parts: list[PackagePartExplanation] = []
    convolutions: list[BufferStrategy] = []
    for one in placed.partitions:
        begin = len(layers)
        if one.compiled is not None:
            layers += _chains(one.outlined.module)
            convolutions += _strategies(one.outlined.module, hardware)
        parts.append(
            PackagePartExplanation(
                "dla" if one.partition.is_dla else "cpu",
                tuple(describe(graph.nodes[node]) for node in one.partition.nodes),
                tuple(placed.names[value] for value in one.partition.inputs),
                tuple(placed.names[value] for value in one.partition.outputs),
                tuple(range(begin, len(layers))),
            )
        )
    placements = _placements(placed)
    explain = _Explainer(_by_node(placements), read.merged, [names for names, _ in layers])
    return Explanation(
        hardware.name,
        tuple(with_shared_layers([explain(node, operator) for node, operator in read.nodes])),
        tuple(engines for _, engines in layers),
        placed.root_causes,
        tuple(parts),
        tuple(convolutions),
    )


def _placements(placed: Partition) -> list[NodePlacement]:
    """Return the engine of each node of a partitioned graph."""
    on_cpu = placed.on_cpu
    engines: dict[int, str] = {}
    precisions: dict[int, str | None] = {}
    for one in placed.partitions:
        if one.compiled is None:
            continue
        engines |= {node: one.compiled.engines.get(op, "view") for op, node in one.outlined.nodes.items()}
        network = Precision.INT8 if "int8" in one.compiled.report.nodes_by_precision else Precision.FP16
        precisions |= {
            node: precision_of_node(placed.graph.nodes[node], network) for node in one.outlined.nodes.values()
        }
    found: list[NodePlacement] = []
    for node, op in enumerate(placed.graph.nodes):
        identity = identity_of(op) if isinstance(op, OnnxOp) else None
        uses = [use.operation for use in op.results[0].uses] if op.results else []
        readers = tuple(describe(reader) for reader in uses if not isinstance(reader, ReturnOp))
        operator = op.name if identity is None else identity.op_type
        engine = engines.get(node, CPU)
        found.append(
            NodePlacement(op, describe(op), operator, engine, on_cpu.get(node), readers, precisions.get(node))
        )
    return found


@dataclass(frozen=True)
class _QuantizedModel:
    """A quantized model, the nodes it had when it was imported, and the node that each was merged into."""

    module: ModuleOp
    context: Context
    nodes: Sequence[tuple[str, str]]
    merged: Mapping[str, str]
    unknown: Mapping[str, str]
    """What is wrong with operators that neither ONNX nor a plug-in has, by node."""


def _read(
    path: str | Path,
    calibrate: Callable[[ModuleOp], Ranges] | None,
    images: Mapping[str, ImageInput] | None,
    is_run: bool = False,
    is_lowered: Callable[[Operation], bool] | None = None,
    input_shapes: Shapes | None = None,
    hardware: NvdlaTarget | None = None,
) -> _QuantizedModel:
    """
    Read and simplify a model, and assign precisions for `hardware`; with `is_run`, refuse operators that no
    runtime has.
    """
    return with_claims(
        lambda corrects: _read_with(
            path, calibrate, images, is_run, corrects, is_lowered, input_shapes, hardware
        )
    )


def _read_with(
    path: str | Path,
    calibrate: Callable[[ModuleOp], Ranges] | None,
    images: Mapping[str, ImageInput] | None,
    is_run: bool,
    corrects: bool,
    is_lowered: Callable[[Operation], bool] | None,
    input_shapes: Shapes | None,
    hardware: NvdlaTarget | None,
) -> _QuantizedModel:
    context = new_context()
    module = import_model(Path(path), context, inline_functions=True)
    if is_run:
        require_known_operators(module)
    unknown = {describe(op): reason for reason, op in unknown_operators(module).items()}
    if input_shapes:
        set_input_shapes(module, input_shapes)
    if corrects:
        correct_shapes(module)
    set_images(module, images or {})
    finish_stage("onnx", context, module, ignore_stage)
    nodes = name_nodes(module)
    simplify(module, context, is_lowered or lowered_by_nvdla(module, calibrate is not None))
    prepare(module, context, calibrate, hardware)
    finish_stage("simplified", context, module, ignore_stage)
    merged = {name: node_name(op) for op in named_operators(module) for name in node_names(op)}
    return _QuantizedModel(module, context, nodes, merged, unknown)


def _chains(module: ModuleOp) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The hardware layers of a network that has been placed in memory."""
    function, _ = network(module)
    return [
        (_names(chain.ops), tuple(op.name.removeprefix("dla.").upper() for op in chain.ops))
        for group in tasks(function)
        for chain in group
    ]


def _strategies(module: ModuleOp, target: NvdlaTarget) -> tuple[BufferStrategy, ...]:
    """How the convolutions of a network that has been placed in memory use the convolution buffer."""
    _, block = network(module)
    return tuple(buffer_strategies([op for op in block.ops if isinstance(op, ConvOp)], target))


def _names(ops: Sequence[Operation]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for op in ops for name in node_names(op)))


def _by_node(placements: Sequence[NodePlacement]) -> dict[str, NodePlacement]:
    """Return one placement for each node: a refused one if there is any, else one with an engine."""
    found: dict[str, NodePlacement] = {}
    for placement in placements:
        known = found.get(placement.node)
        if known is None or (known.reason is None and (placement.reason or known.engine == "view")):
            found[placement.node] = placement
    return found


def _engine(placement: NodePlacement) -> str:
    return placement.engine or (UNDECIDED if placement.reason is None else "refused")


@dataclass(frozen=True)
class _Explainer:
    """Look up the placement of nodes after the whole network was placed."""

    placements: Mapping[str, NodePlacement]
    merged: Mapping[str, str]
    layers: Sequence[tuple[str, ...]]

    def __call__(self, node: str, operator: str) -> NodeExplanation:
        placement = self.placements.get(node)
        if placement is None:
            return self._simplified(node, operator)
        found = self._placed(node, operator, placement)
        return replace(found, precision=placement.precision) if found.layers else found

    def _placed(self, node: str, operator: str, placement: NodePlacement) -> NodeExplanation:
        if placement.reason is not None:
            return NodeExplanation(node, operator, _engine(placement), reason=placement.reason)
        if not placement.engine:
            return NodeExplanation(node, operator, UNDECIDED)
        layers = self._layers_of(node)
        if layers or placement.engine != "view" or operator in VIEWS:
            return NodeExplanation(node, operator, placement.engine, layers)
        executor = self._executing_node(placement)
        if executor is None:
            # Integer work is put off to the next rounding, which refused models do not all reach.
            return NodeExplanation(node, operator, "view" if self.layers else UNDECIDED)
        return self._executed_by(node, operator, executor)

    def _simplified(self, node: str, operator: str) -> NodeExplanation:
        executor = self.merged.get(node)
        if executor is None:
            return NodeExplanation(node, operator, "removed")
        return self._executed_by(node, operator, executor)

    def _executed_by(self, node: str, operator: str, executor: str) -> NodeExplanation:
        """Return the explanation of a node that was merged into `executor`."""
        placement, layers = self.placements.get(executor), self._layers_of(executor)
        engine = "view" if placement is None else _engine(placement)
        reason = (
            None if placement is None or placement.reason is None else f"with {executor}: {placement.reason}"
        )
        return NodeExplanation(node, operator, engine, layers, reason=reason)

    def _layers_of(self, node: str) -> tuple[int, ...]:
        return tuple(index for index, names in enumerate(self.layers) if node in names)

    def _executing_node(self, placement: NodePlacement) -> str | None:
        """
        Return the first node downstream with a hardware layer: deferred integer arithmetic is done there.
        """
        seen: set[str] = set()
        waiting = list(placement.readers)
        while waiting:
            name = waiting.pop(0)
            if self._layers_of(name):
                return name
            if name not in seen and name in self.placements:
                seen.add(name)
                waiting += self.placements[name].readers
        return None
