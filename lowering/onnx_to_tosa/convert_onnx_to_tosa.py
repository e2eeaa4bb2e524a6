"""
`convert-onnx-to-tosa`: lower every operator of a network to the tosa dialect.

Everything that TOSA cannot say is collected and reported together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import EntryPointOp, NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import element_type, static_shape
from xonnc.errors import RefusalError
from xonnc.formats.onnx.op_versions import identity_of
from xonnc.lowering.onnx_to_tosa import (
    activations,
    convolution,
    data_movement,
    elementwise,
    pooling,
    products,
    quantized,
    quantized_arithmetic,
    reductions,
    resizing,
)
from xonnc.lowering.onnx_to_tosa.tosa_builder import (
    ELEMENTS,
    LOWERINGS,
    QUANTIZED,
    MissingOperand,
    Refused,
    TosaBuilder,
)
from xonnc.rewriting.editing import erase

LOWERING_MODULES = (
    activations,
    convolution,
    data_movement,
    elementwise,
    pooling,
    products,
    quantized,
    quantized_arithmetic,
    reductions,
    resizing,
)
"""Importing these modules registers their lowering functions."""


@dataclass(frozen=True)
class ConvertOnnxToTosa(ModulePass):
    """Lower ONNX operators to TOSA 1.0, images in NHWC between transposes."""

    name = "convert-onnx-to-tosa"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op)


def convert(module: ModuleOp) -> None:
    """
    Lower the functions of `module` in place.

    Raises `RefusalError` with everything that has no lowering; the module is then unusable.
    """
    refusals: list[tuple[str, Operation]] = []
    for function in [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]:
        refusals += _convert_function(function)
    if refusals:
        raise RefusalError([reason for reason, _ in refusals], [op for _, op in refusals])
    for op in [op for op in module.ops if isinstance(op, EntryPointOp)]:
        Rewriter.erase_op(op)
    _drop_names(module)
    module.verify()


def _drop_names(module: ModuleOp) -> None:
    """Drop the attributes of the onnx dialect, which compilers that read TOSA do not know."""
    for name in [name for name in module.attributes if name.startswith("onnx.")]:
        del module.attributes[name]
    for function in [op for op in module.ops if isinstance(op, FuncOp)]:
        function.arg_attrs = function.res_attrs = None
        for name in [name for name in function.attributes if name.startswith("onnx.")]:
            del function.attributes[name]


def _convert_function(function: FuncOp) -> list[tuple[str, Operation]]:
    """Lower a function; return what is refused, with its operators."""
    block = function.body.block
    ops = [op for op in block.ops if isinstance(op, OnnxOp)]
    if not ops:
        return []
    builder = TosaBuilder(block)
    refusals: list[tuple[str, Operation]] = []
    for argument in block.args:
        reason = _boundary(argument)
        if reason is None:
            builder.define(argument, argument)
        elif argument.first_use is not None:
            refusals.append((f"input {argument.index}: {reason}", function))
    for op in ops:
        if isinstance(op, ConstantOp | NoValueOp | ReturnOp | EntryPointOp) or op in builder.done:
            continue
        try:
            _lower(op, builder)
        except MissingOperand:
            continue
        except Refused as refused:
            refusals.append((f"{describe(op)} ({_operator(op)}): {refused}", op))
    return refusals or _finish(function, ops, builder)


def _operator(op: OnnxOp) -> str:
    identity = identity_of(op)
    return op.name.removeprefix("onnx.") if identity is None else identity.op_type


def _boundary(value: SSAValue) -> str | None:
    """Return why a tensor cannot be an input or output."""
    shape, element = static_shape(value.type), element_type(value.type)
    if shape is None:
        return f"{value.type} (TOSA has static shapes); give sizes of inputs"
    if element not in ELEMENTS:
        return f"{value.type} (TOSA has f32, f16, bf16, i1, i8, i16 and i32)"
    return f"{value.type} is empty (TOSA's tensors are not)" if 0 in shape else None


def _lower(op: OnnxOp, builder: TosaBuilder) -> None:
    """Lower one operator, in integers if its operands are quantized."""
    builder.start(op)
    quantized_lowering = QUANTIZED.get(type(op))
    if quantized_lowering is not None and quantized_lowering(op, builder):
        return
    lowering = LOWERINGS.get(type(op))
    if lowering is None:
        builder.refuse("there is no lowering to TOSA; a package (-o model.xpkg) runs it on the CPU")
    made = lowering(op, builder)
    values: Sequence[SSAValue] = [made] if isinstance(made, SSAValue) else made
    for result, value in zip(op.results, values, strict=False):
        builder.define(result, value)


def _finish(function: FuncOp, ops: Sequence[OnnxOp], builder: TosaBuilder) -> list[tuple[str, Operation]]:
    """Return the lowered outputs, and erase what was lowered."""
    end = function.body.block.last_op
    assert end is not None
    builder.start(end)
    refusals = [
        (f"output {index}: {reason}", end)
        for index, output in enumerate(end.operands)
        if (reason := _boundary(output)) is not None
    ]
    if refusals:
        return refusals
    outputs = [builder.value(output) for output in end.operands]
    returned = FuncReturnOp(*outputs)
    returned.location = end.location
    Rewriter.replace_op(end, returned, [])
    types = FunctionType.from_lists(
        [each.type for each in function.body.block.args], [o.type for o in outputs]
    )
    function.function_type = types
    for op in reversed(ops):
        if op is not end:
            erase(op)
    return []
