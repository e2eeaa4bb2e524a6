"""
Compile ONNX models to packages: loadables for what the DLA takes, ONNX models for the rest on the CPU.

    package = compile_package("model.onnx", "nv_small", calibrate=ranges)
    package.write("model.xpkg")
    outputs = load_package("model.xpkg").run({"x": image})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.argument_types import checks_arguments
from xonnc.compiler import Calibrate, FrontendResult, InternalCompilerError, ModelInput, run_frontend
from xonnc.contexts import StageCallback
from xonnc.dialects.onnx.interface_names import are_dictionaries, argument_names
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import StringType, element_type, is_ranked, is_tensor, numpy_dtype
from xonnc.errors import XonncError
from xonnc.formats.nvdla.checks.loadable_check import check_loadable
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.quantization import QuantizationParameters, quantization_of
from xonnc.formats.nvdla.writer import write_to
from xonnc.formats.onnx.exporter import export_module
from xonnc.formats.onnx.model_summary import ModelSummary
from xonnc.formats.onnx.op_versions import identity_of
from xonnc.formats.onnx.save_model import write_binary
from xonnc.formats.onnx.value_names import ValueNames
from xonnc.formats.package.archive import WritePart, host_file, write_package
from xonnc.formats.package.manifest import Manifest, PackagePort, PackageStep, TensorInfo
from xonnc.host_code import host_code, host_processor
from xonnc.lowering.dla_to_loadable.stages import CompiledLoadable
from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput, images_of
from xonnc.lowering.onnx_to_dla.quantization.output_branches import with_separate_outputs
from xonnc.lowering.placement.dataflow_graph import DataflowGraph, graph_of
from xonnc.lowering.placement.place_nodes import CompiledPartition, Placement, place_nodes
from xonnc.lowering.placement.remove_qdq_pairs import remove_qdq_pairs
from xonnc.targets import load_target, target_names
from xonnc.transforms.models.signatures import Shapes


@dataclass(frozen=True)
class CpuNode:
    """A node of the simplified model that runs on the CPU, with the reason."""

    name: str
    operator: str
    reason: str


@dataclass(frozen=True)
class CompiledPackage:
    """A compiled package, with summaries of the model and of its partition."""

    imported: ModelSummary
    simplified: ModelSummary
    opset: int
    target: str
    nodes: int
    """Nodes of the partitioned graph, in all parts."""
    cpu_nodes: tuple[CpuNode, ...]
    refusals: tuple[str, ...]
    """
    One line for each node that the DLA refuses for its own sake. Nodes on the CPU because of their
    neighbours, or of the conversion between layouts at the boundary, have none.
    """
    crossings: int
    """Tensors that cross between the DLA and the CPU."""
    compiled: tuple[CompiledLoadable, ...] = field(repr=False)
    """The loadables, in execution order."""
    manifest: Manifest = field(repr=False)
    _parts: tuple[WritePart, ...] = field(repr=False)
    host_files: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    """The native code of CPU parts for the manifest's host, by file."""
    inserted_pairs: int = 0
    """QDQ pairs that a quantized model lacks and the compiler inserted."""

    @property
    def whole(self) -> CompiledLoadable | None:
        """The loadable of a model that runs on the DLA entirely, else `None`."""
        if not len(self.compiled) == len(self.manifest.steps) == 1:
            return None
        (step,) = self.manifest.steps
        for ports, names in ((self.manifest.inputs, step.inputs), (self.manifest.outputs, step.outputs)):
            if tuple(port.name for port in ports) != names or tuple(port.value for port in ports) != names:
                return None
        return self.compiled[0]

    @property
    def causes(self) -> list[tuple[int, str, str]]:
        """Counts of CPU nodes by operator and reason, the most frequent first."""
        counts = Counter((node.operator, node.reason) for node in self.cpu_nodes)
        return [(count, operator, reason) for (operator, reason), count in counts.most_common()]

    def write(self, path: str | Path) -> int:
        """
        Write the package to a file, atomically.

        Parameters:
            path: the file to write.

        Returns: the size of the file in bytes.

        Raises: `XonncError` if the file cannot be written.
        """
        return write_package(Path(path), self.manifest, self._parts, self.host_files)


@checks_arguments
def compile_package(
    path: ModelInput,
    target: str = "nv_full",
    on_stage: StageCallback | None = None,
    calibrate: Calibrate | None = None,
    images: Mapping[str, ImageInput] | None = None,
    strict: bool = False,
    host: str | None = None,
    input_shapes: Shapes | None = None,
    batch: int = 1,
) -> CompiledPackage:
    """
    Compile a model to a package: subgraphs that the target takes become loadables, the others run on the CPU.

    Parameters:
        path: the model (.onnx, .onnxtxt or .json), or the model in memory.
        target: the name of a target or the path of a TOML file.
        on_stage: called after the stages `onnx` and `simplified`, and after the back end's stages if the
            whole model goes to the DLA.
        calibrate: returns the ranges by which a float model is quantized.
        images: image inputs by name; each must go to the DLA alone.
        strict: whether declared shapes that contradict the operators are an error instead of a warning.
        host: a triple such as `aarch64-linux-gnu`, or a processor kind. CPU parts are then object files for
            it too, which `deploy` uses.
        input_shapes: sizes of dynamic inputs by name; the DLA takes fixed sizes.
        batch: the number of images that the package computes in one run, for models of one image.

    Returns: the package.

    Raises:
        InvalidModelError: for an invalid model.
        UnknownNameError: for an unknown target.
        RefusalError: with the operators of a CPU part that have no native code, if there is a host.
        XonncError: for a file that is not a model, or an image input that the CPU would read.

    Example:
        >>> xonnc.compile_package("model.onnx", "nv_small").write("model.xpkg")
    """
    return compile_placement(path, target, on_stage, calibrate, images, strict, host, input_shapes, batch)[0]


def compile_placement(
    path: ModelInput,
    target: str = "nv_full",
    on_stage: StageCallback | None = None,
    calibrate: Calibrate | None = None,
    images: Mapping[str, ImageInput] | None = None,
    strict: bool = False,
    host: str | None = None,
    input_shapes: Shapes | None = None,
    batch: int = 1,
) -> tuple[CompiledPackage, Placement]:
    """
    Compile a model to a package, and return also the partitioned graph with the IR of each part.

    Parameters: `path`, `target`, `on_stage`, `calibrate`, `images`, `strict`, `host`, `input_shapes`
        and `batch`, as in `compile_package`.

    Returns: the package and its partitions.

    Raises: `XonncError` as `compile_package` does.

    Example:
        >>> package, placement = compile_placement("model.onnx", "nv_small")
        >>> len(placement.partitions)
    """
    if host is not None:
        host_processor(host)
    calibrated = with_separate_outputs(calibrate)
    hardware = load_target(target)
    front = run_frontend(
        path, on_stage, calibrated, images, strict, input_shapes=input_shapes, nvdla=hardware, batch=batch
    )
    graph = graph_of(front.module)
    names = unique_value_names(graph)
    placement = place_nodes(front.module, target, front.context, names, on_stage)
    check_images(placement)
    return _assemble(front, placement, target, host, batch), placement


def check_images(placement: Placement) -> None:
    """
    Raise `XonncError` unless each image input is read by exactly one part, on the DLA.

    Parameters:
        placement: the partitioned graph.
    """
    function = placement.graph.function
    for index, image in images_of(function).items():
        argument = function.body.block.args[index]
        takers = [placed.partition for placed in placement.partitions if argument in placed.partition.inputs]
        if [partition.is_dla for partition in takers] == [True]:
            continue
        nodes = [
            node
            for partition in takers
            if not partition.is_dla
            for node in partition.nodes
            if node in placement.refused
        ]
        reason = placement.refused[nodes[0]] if nodes else "the CPU takes it"
        raise XonncError(
            f"input '{argument_names(function)[index]}' as {image.format}: convolutions on the DLA alone "
            f"read pixels; {reason}"
        )


def _assemble(
    front: FrontendResult, placement: Placement, target: str, host: str | None, batch: int
) -> CompiledPackage:
    hardware = load_target(target)
    graph, names = placement.graph, placement.names
    steps: list[PackageStep] = []
    writers: list[WritePart] = []
    compiled: list[CompiledLoadable] = []
    host_files: dict[str, bytes] = {}
    on_cpu = placement.on_cpu
    for number, placed in enumerate(placement.partitions):
        quantization: Mapping[str, QuantizationParameters] = {}
        if placed.compiled is not None:
            if problems := check_loadable(placed.compiled.loadable, hardware):
                raise InternalCompilerError(
                    f"part {number} breaks a rule, of {len(problems)} found: {problems[0]}"
                )
            compiled.append(placed.compiled)
            quantization = quantization_of(placed.compiled.loadable)
        else:
            for op in remove_qdq_pairs(placed.outlined.module):
                on_cpu.pop(placed.outlined.nodes.get(op, -1), None)
        step = _step(number, placed, names, quantization)
        if host is not None and placed.compiled is None:
            code = host_code(export_module(placed.outlined.module).to_proto(), number, host)
            step = replace(step, host_files=tuple(host_file(*each) for each in code.items()))
            host_files |= code
        steps.append(step)
        writers.append(_writer(placed))
    crossing = [
        *graph.function.body.block.args,
        *(value for placed in placement.partitions for value in placed.partition.outputs),
    ]
    inputs, outputs, values = manifest_ports(graph, names, crossing)
    manifest = Manifest(
        target=target if target in target_names() else hardware.name,
        inputs=inputs,
        outputs=outputs,
        values=values,
        steps=tuple(steps),
        host=host,
        batch=batch,
    )
    return CompiledPackage(
        front.imported,
        front.simplified,
        front.opset,
        hardware.name,
        len(graph.nodes) - len(placement.on_cpu) + len(on_cpu),
        tuple(cpu_node(graph.nodes[node], reason) for node, reason in on_cpu.items()),
        placement.root_causes,
        placement.crossings,
        tuple(compiled),
        manifest,
        tuple(writers),
        host_files,
        front.inserted_pairs,
    )


def manifest_ports(
    graph: DataflowGraph, names: Mapping[SSAValue, str], crossing: Sequence[SSAValue]
) -> tuple[tuple[PackagePort, ...], tuple[PackagePort, ...], Mapping[str, TensorInfo]]:
    """
    Return what the manifest of a package says of the model's inputs and outputs, and of values between parts.

    Parameters:
        graph: the partitioned graph.
        names: the names of its values.
        crossing: the inputs of the model, and the values that parts give.

    Returns: the inputs, the outputs, and the types of the values.
    """
    function = graph.function
    arguments = function.body.block.args
    return (
        tuple(map(PackagePort, argument_names(function), (names[value] for value in arguments))),
        tuple(map(PackagePort, _result_names(function), (names[value] for value in graph.results))),
        {names[value]: _tensor(value.type) for value in crossing},
    )


def _step(
    number: int,
    placed: CompiledPartition,
    names: Mapping[SSAValue, str],
    quantization: Mapping[str, QuantizationParameters],
) -> PackageStep:
    suffix = "nvdla" if placed.partition.is_dla else "onnx"
    return PackageStep(
        kind="dla" if placed.partition.is_dla else "cpu",
        file=f"parts/{number}.{suffix}",
        size=0,
        sha256="",
        inputs=tuple(names[value] for value in placed.partition.inputs),
        outputs=tuple(names[value] for value in placed.partition.outputs),
        quantization=quantization,
        nodes=() if placed.compiled is None else tuple(layer.node for layer in placed.compiled.report.layers),
    )


def _writer(placed: CompiledPartition) -> WritePart:
    if placed.compiled is None:
        model = export_module(placed.outlined.module)
        return lambda stream: write_binary(model, stream)
    loadable: Loadable = placed.compiled.loadable
    return lambda stream: write_to(loadable, stream)


def cpu_node(op: Operation, reason: str) -> CpuNode:
    """
    Return a node that runs on the CPU.

    Parameters:
        op: its operator.
        reason: why.
    """
    return CpuNode(describe(op), _operator(op), reason)


def _operator(op: Operation) -> str:
    identity = identity_of(op) if isinstance(op, OnnxOp) else None
    return op.name if identity is None else identity.op_type


def unique_value_names(graph: DataflowGraph) -> dict[SSAValue, str]:
    """
    Return a unique name for each value of a graph: its own name where that is free.

    Parameters:
        graph: the graph.
    """
    names = ValueNames()
    block = graph.function.body.block
    for name, argument in zip(argument_names(graph.function), block.args, strict=True):
        names.give(argument, name)
    for name, value in zip(_result_names(graph.function), graph.results, strict=True):
        if not names.is_own(value) and names.is_free(name):
            names.give(value, name)
    names.name_results(block)
    return {value: name for name, value in names.own().items()}


def _result_names(function: FuncOp) -> list[str]:
    count = len(function.function_type.outputs)
    given = list(function.res_attrs) if are_dictionaries(function.res_attrs) else []
    names = [entry.data.get("onnx.name") for entry in given] + [None] * (count - len(given))
    return [name.data if isinstance(name, StringAttr) else f"output_{i}" for i, name in enumerate(names)]


def _tensor(type_: Attribute) -> TensorInfo:
    if not is_tensor(type_):
        return TensorInfo(type_.name.removeprefix("onnx."), None)
    element = element_type(type_)
    assert element is not None
    name = "string" if isinstance(element, StringType) else numpy_dtype(element).name
    if not is_ranked(type_):
        return TensorInfo(name, None)
    return TensorInfo(name, tuple(None if size < 0 else size for size in type_.get_shape()))
