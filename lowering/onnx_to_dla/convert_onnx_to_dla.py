"""
`convert-onnx-to-dla`: lower every operator of a network to operations of NVDLA's engines on tensors.

Everything that the target cannot run is collected and reported together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.interface_names import argument_names
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import CustomOp, EntryPointOp, NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import is_ranked, static_shape
from xonnc.errors import RefusalError
from xonnc.formats.onnx.op_versions import identity_of
from xonnc.lowering.onnx_to_dla.builders.dla_builder import (
    MissingOperand,
    UnsupportedOperator,
    cube_shape,
)
from xonnc.lowering.onnx_to_dla.builders.image_inputs import images_of, set_normalizations
from xonnc.lowering.onnx_to_dla.builders.node_precision import precision_of_node, runs_in_fp16
from xonnc.lowering.onnx_to_dla.builders.operator_builder import (
    FP16_LOWERINGS,
    INT8_LOWERINGS,
    OperatorBuilder,
)
from xonnc.lowering.onnx_to_dla.fp16.fp16_builder import Fp16Builder
from xonnc.lowering.onnx_to_dla.int8 import function_lookup, quantized
from xonnc.lowering.onnx_to_dla.int8.quantized_builder import QuantizedBuilder
from xonnc.lowering.onnx_to_dla.operators import (
    convolution,
    depth_to_space,
    elementwise,
    fp16_functions,
    normalization,
    pooling,
    reduction,
    resizing,
    selection,
    tensor,
    upsampling,
)
from xonnc.lowering.onnx_to_dla.quantization.keep_float import REASON, stays_float
from xonnc.lowering.onnx_to_dla.quantization.quantization_attributes import set_qparams
from xonnc.targets import NvdlaTarget, load_target
from xonnc.targets.limits import DIMENSION, lacks_precision

NODES_ATTRIBUTE = "dla.nodes"
"""The function's attribute with the number of ONNX nodes that each engine executes."""

PRECISIONS_ATTRIBUTE = "dla.node_precisions"
"""The function's attribute with the number of ONNX nodes that are computed in each precision."""

WAY_OUT = "; in a package (-o model.xpkg) it runs on the CPU"
"""The remedy for a refused node whose rule names no better one."""

LOWERING_MODULES = (
    depth_to_space,
    convolution,
    elementwise,
    fp16_functions,
    function_lookup,
    normalization,
    pooling,
    quantized,
    reduction,
    resizing,
    selection,
    tensor,
    upsampling,
)
"""Importing these modules registers their lowering functions."""

LOWERINGS_BY_PRECISION: Mapping[str, Mapping[type[OnnxOp], Callable[..., object]]] = {
    "fp16": FP16_LOWERINGS,
    "int8": INT8_LOWERINGS,
}
"""The lowering function of each supported operator, by precision."""


@dataclass(frozen=True)
class NodePlacement:
    """
    The lowering of one node, the operation `op`: the engine of its first hardware layer (`view` if it takes
    none), or the reason why the target cannot run it. Both are empty if an operand comes from a refused node.
    `readers` are the nodes that read its first result. `precision` is the one that it is computed in.
    """

    op: Operation
    node: str
    operator: str
    engine: str
    reason: str | None
    readers: tuple[str, ...]
    precision: str | None = None


@dataclass(frozen=True)
class ConvertOnnxToDla(ModulePass):
    """Lower ONNX operators to engines of the DLA."""

    name = "convert-onnx-to-dla"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, load_target(self.target), DisposablePool.of(ctx))


@dataclass(frozen=True)
class AtBoundary:
    """An operator that is refused because of a value that enters or leaves the function."""

    op: Operation
    value: SSAValue


@dataclass(frozen=True)
class Refusal:
    """
    Why something cannot be lowered, in one line, and its subject: an operator, or a function argument that no
    operator can read.

    For an output that cannot be returned the subject is the operator that produces it.
    """

    reason: str
    about: Operation | BlockArgument | AtBoundary | None = None


def convert(module: ModuleOp, target: NvdlaTarget, pool: DisposablePool) -> dict[Operation, str]:
    """
    Lower the network in `module`; return the engine of each operator, all of which are erased.

    Raises `RefusalError` with everything that `target` cannot run; the module is then partly lowered and
    unusable.
    """
    placements, refusals = lower_network(module, target, pool)
    if refusals:
        raise RefusalError([one.reason for one in refusals], [one.about for one in refusals])
    return {one.op: one.engine for one in placements}


def lower_network(
    module: ModuleOp, target: NvdlaTarget, pool: DisposablePool
) -> tuple[list[NodePlacement], list[Refusal]]:
    """
    Lower the network in `module` as far as `target` supports it; return what became of each node, and the
    refusals.

    With refusals the module is partly lowered and unusable.
    """
    placements: list[NodePlacement] = []
    refusals: list[Refusal] = []
    for function in [op for op in module.walk() if isinstance(op, FuncOp)]:
        is_quantized = any(isinstance(op, DequantizeLinearOp | QuantizeLinearOp) for op in function.walk())
        builder = QuantizedBuilder(target, pool) if is_quantized else Fp16Builder(target, pool)
        needed = builder.precision.name.lower()
        if (lack := lacks_precision(target, needed)) is not None:
            quantized = ": quantize it with --calibrate or --calib" if needed == "fp16" else ""
            refusals.append(Refusal(f"{lack}; the model needs {needed}{quantized}"))
        refusals += _convert_function(function, builder, placements)
    if not refusals:
        for op in [op for op in module.walk() if isinstance(op, EntryPointOp)]:
            Rewriter.erase_op(op)
    return placements, refusals


def _convert_function(
    function: FuncOp, builder: OperatorBuilder[Any], placements: list[NodePlacement]
) -> list[Refusal]:
    refusals: list[Refusal] = []
    known = len(placements)
    ops = list[OnnxOp | FuncReturnOp](op for op in function.body.block.ops if isinstance(op, OnnxOp))
    if ops:
        builder.start(ops[0])
        # What ends a function without ONNX operators is lowered already.
        if isinstance(end := function.body.block.last_op, FuncReturnOp):
            ops.append(end)
    refusals += _convert_inputs(function, builder)
    for op in ops:
        builder.start(op)
        if isinstance(op, ConstantOp | NoValueOp):
            continue
        if isinstance(op, ReturnOp | FuncReturnOp):
            refusals += _convert_return(op, builder, bool(refusals))
            continue
        reason: str | None = None
        engine = ""
        try:
            _lower(op, builder)
        except UnsupportedOperator as refused:
            # After an input of dynamic shape nearly all operators have one.
            is_dynamic = bool(op.results) and static_shape(op.results[0].type) is None
            is_behind = bool(refusals) and (isinstance(refused, MissingOperand) or is_dynamic)
            if not is_behind:
                reason = str(refused)
                _add_refusal(refusals, op, refused)
            for result in op.results:
                builder.define_placeholder(result)
        else:
            engine = builder.engine
        placements.append(_placement(op, engine, reason, precision_of_node(op, builder.precision)))
    if not refusals:
        placed = placements[known:]
        function.attributes[NODES_ATTRIBUTE] = _counts(each.engine for each in placed)
        function.attributes[PRECISIONS_ATTRIBUTE] = _counts(
            each.precision for each in placed if each.precision is not None
        )
        for op in reversed(ops):
            drop_attributes(op)
            Rewriter.erase_op(op)
        _erase_unread(function)
        function.update_function_type()
        set_qparams(function, builder.qparams_by_value)
        arguments = enumerate(function.body.block.args)
        set_normalizations(
            function, {index: builder.pixels[one] for index, one in arguments if one in builder.pixels}
        )
    return refusals


def _counts(names: Iterable[str]) -> DictionaryAttr:
    """Return how often each name occurs."""
    return DictionaryAttr({name: IntegerAttr(count, i64) for name, count in sorted(Counter(names).items())})


def _add_refusal(refusals: list[Refusal], op: OnnxOp, refused: UnsupportedOperator) -> None:
    """Add the refusal of `op`, or of the operator before it that is the cause, once for all behind it."""
    boundary, blamed = refused.boundary, refused.cause or op
    line = refusal_of(blamed, str(refused))
    if blamed is op or all(line != known.reason for known in refusals):
        refusals.append(Refusal(line, blamed if boundary is None else AtBoundary(blamed, boundary)))


def _lower(op: OnnxOp, builder: OperatorBuilder[Any]) -> None:
    if stays_float(op) and not runs_in_fp16(op):
        raise UnsupportedOperator(REASON)
    builder.lower(op)


def _erase_unread(function: FuncOp) -> None:
    """
    Erase layers and views without readers, such as unused results of a Split. Memory is planned by lifetimes
    that end at the last reader, so an unread result would overwrite live data.
    """
    for op in reversed(list(function.body.block.ops)):
        if is_trivially_dead(op):
            drop_attributes(op)
            Rewriter.erase_op(op)


def _placement(op: OnnxOp, engine: str, reason: str | None, precision: str | None) -> NodePlacement:
    readers = (use.operation for use in op.results[0].uses) if op.results else ()
    names = tuple(describe(reader) for reader in readers if not isinstance(reader, ReturnOp | FuncReturnOp))
    way_out = "" if reason is None or ";" in reason else WAY_OUT
    return NodePlacement(
        op,
        describe(op),
        _operator(op),
        engine,
        None if reason is None else reason + way_out,
        names,
        precision,
    )


def _operator(op: OnnxOp) -> str:
    """Return the operator type that the model uses."""
    identity = identity_of(op)
    return op.name if identity is None else identity.op_type


def refusal_of(op: Operation, rule: str) -> str:
    """Format a refusal: node, operator, the rule with the value found, and what to do."""
    return f"{title_of(op)}: {rule}" + ("" if ";" in rule else WAY_OUT)


def rule_of(op: Operation, refusal: str) -> str:
    """
    Return the rule in a line of `refusal_of`, without the node and the general remedy; other lines unchanged.
    """
    return refusal.removeprefix(f"{title_of(op)}: ").removesuffix(WAY_OUT)


def title_of(op: Operation) -> str:
    """Return name and operator of a node: `conv1 (Conv)`."""
    name = op.name
    if isinstance(op, CustomOp):
        name = f"{op.domain}.{op.function_name.data}"
    elif isinstance(op, OnnxOp):
        name = op.OP_TYPE or _operator(op)
    return f"{describe(op)} ({name})"


def has_dynamic_inputs(refused: RefusalError) -> bool:
    """Whether inputs of the network have a dynamic shape."""
    inputs = [cast("SSAValue", about) for about in refused.subjects if isinstance(about, SSAValue)]
    return any(not isinstance(each, OpResult) and static_shape(each.type) is None for each in inputs)


def _with_option(function: FuncOp, index: int) -> str:
    """Return the option that fixes the shape of an input: batch 1, other unknown sizes as letters."""
    type_ = function.body.block.args[index].type
    if not is_ranked(type_) or static_shape(type_) is not None:
        return ""
    name = argument_names(function)[index]
    return f", such as {shape_option(name, type_.get_shape())}"


def shape_option(name: str, sizes: Sequence[int | None]) -> str:
    """Return an option that fixes the shape of an input: one sample, and letters for other unknown sizes."""
    letters = iter(("H", "W"))
    known = [None if size is None or size < 0 else str(size) for size in sizes]
    shown = [size or ("1" if axis == 0 else next(letters, "N")) for axis, size in enumerate(known)]
    return f"--input-shape {name}:{','.join(shown)}"


def _convert_inputs(function: FuncOp, builder: OperatorBuilder[Any]) -> list[Refusal]:
    refusals: list[Refusal] = []
    images = images_of(function)
    for index, argument in enumerate(function.body.block.args):
        shape = static_shape(argument.type)
        cube = None if shape is None else cube_shape(shape)
        if shape is None or cube is None:
            reason = (
                f"input {index}: {argument.type} (the DLA takes static shapes without empty dimensions); "
                f"fix the shapes of the model's inputs{_with_option(function, index)}"
            )
            refusals.append(Refusal(reason, argument))
            continue
        if (broken := DIMENSION.broken(max(cube))) is not None:
            refusals.append(Refusal(f"input {index}: {broken}", argument))
            continue
        if index in images:
            refusal = builder.add_image_input(argument, shape, images[index])
        else:
            refusal = builder.add_input(argument, shape, cube)
        if refusal is not None:
            refusals.append(Refusal(f"input {index}: {refusal}", argument))
    return refusals


def _convert_return(
    op: ReturnOp | FuncReturnOp, builder: OperatorBuilder[Any], is_refused: bool
) -> list[Refusal]:
    """
    Lower the function's terminator. After a refusal, outputs that depend on refused nodes are not reported.
    """
    refusals: list[Refusal] = []
    output: list[SSAValue] = []
    for value in op.operands:
        try:
            output.append(builder.output(value))
        except UnsupportedOperator as refused:
            if not is_refused or not isinstance(refused, MissingOperand):
                maker = value.owner if isinstance(value.owner, Operation) else None
                about = None if maker is None else AtBoundary(maker, value)
                refusals.append(Refusal(refusal_of(maker or op, str(refused)), about))
    if not refusals:
        builder.add(FuncReturnOp(*output))
    return refusals
