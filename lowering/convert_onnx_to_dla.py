"""
`convert-onnx-to-dla`: every operator of a network becomes operations of the DLA's engines on tensors.

All operators that the target cannot take are collected and reported together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import CustomOp, EntryPointOp, NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.errors import RefusalError
from xonnc.formats.onnx.opsets import identity_of
from xonnc.lowering.grids import set_grids
from xonnc.lowering.onnx_to_dla import (
    convolution,
    elementwise,
    functions,
    normalization,
    pooling,
    quantized,
    quantized_convolution,
    quantized_functions,
    tensor,
)
from xonnc.lowering.onnx_to_dla.integers import QUANTIZED, Integers
from xonnc.lowering.onnx_to_dla.lowering import (
    LOWERINGS,
    Lowering,
    NotThere,
    Refused,
    cube_shape,
)
from xonnc.targets import NvdlaTarget, load_target
from xonnc.targets.limits import lacks_precision

NODES = "dla.nodes"
"""The function's attribute that says how many of the model's nodes each engine does."""

WAY_OUT = "; end the model in front of it and run the rest on the CPU"
"""What can be done about a refused node where its rule says nothing better."""

THEMES = (
    convolution,
    elementwise,
    functions,
    normalization,
    pooling,
    quantized,
    quantized_convolution,
    quantized_functions,
    tensor,
)
"""Importing a theme registers its operators."""

TABLES: Mapping[str, Mapping[type[OnnxOp], Callable[..., object]]] = {"fp16": LOWERINGS, "int8": QUANTIZED}
"""The function for each operator that the DLA takes, by precision."""


@dataclass(frozen=True)
class Placement:
    """
    What became of one node: the engine of its first operation (`view`: it needs none of its own), or why the
    target cannot take it. `readers` are the nodes that read its first result.
    """

    node: str
    operator: str
    engine: str
    reason: str | None
    readers: tuple[str, ...]


@dataclass(frozen=True)
class ConvertOnnxToDla(ModulePass):
    """Lowers ONNX operators to engines of the DLA."""

    name = "convert-onnx-to-dla"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, load_target(self.target), DisposablePool.of(ctx))


def convert(module: ModuleOp, target: NvdlaTarget, pool: DisposablePool) -> None:
    """
    Lowers the network in `module`.

    `RefusalError` lists all that `target` cannot take; the module is then half lowered and of no use.
    """
    _, refusals = place(module, target, pool)
    if refusals:
        raise RefusalError(refusals)


def place(module: ModuleOp, target: NvdlaTarget, pool: DisposablePool) -> tuple[list[Placement], list[str]]:
    """
    Lowers the network in `module` as far as `target` can take it: what became of each node, and the refusals.

    With refusals the module is half lowered and of no use.
    """
    placements: list[Placement] = []
    refusals: list[str] = []
    for function in [op for op in module.walk() if isinstance(op, FuncOp)]:
        is_quantized = any(isinstance(op, DequantizeLinearOp | QuantizeLinearOp) for op in function.walk())
        to = Integers(target, pool) if is_quantized else Lowering(target, pool)
        needed = to.precision.name.lower()
        if (lack := lacks_precision(target, needed)) is not None:
            rounded = ": round it by --calibrate or --calib" if needed == "fp16" else ""
            refusals.append(f"{lack}; the model needs {needed}{rounded}")
        refusals += _convert_function(function, to, placements)
    if not refusals:
        for op in [op for op in module.walk() if isinstance(op, EntryPointOp)]:
            Rewriter.erase_op(op)
    return placements, refusals


def _convert_function(function: FuncOp, to: Lowering, placements: list[Placement]) -> list[str]:
    refusals: list[str] = []
    engines: Counter[str] = Counter()
    ops = [op for op in function.body.block.ops if isinstance(op, OnnxOp)]
    if ops:
        to.start(ops[0])
    refusals += _convert_inputs(function, to)
    for op in ops:
        to.start(op)
        if isinstance(op, ConstantOp | NoValueOp):
            continue
        reason: str | None = None
        try:
            _convert_op(op, to)
        except Refused as refused:
            reason = str(refused)
            if not refusals or not isinstance(refused, NotThere):
                refusals.append(_refusal(op, reason))
            for result in op.results:
                to.poison(result)
        else:
            engines[to.engine] += not isinstance(op, ReturnOp)
        if not isinstance(op, ReturnOp):
            placements.append(_placement(op, "" if reason else to.engine, reason))
    if not refusals:
        function.attributes[NODES] = DictionaryAttr(
            {engine: IntegerAttr(count, i64) for engine, count in sorted(engines.items()) if count}
        )
        for op in reversed(ops):
            drop_attributes(op)
            Rewriter.erase_op(op)
        function.update_function_type()
        set_grids(function, to.grids)
    return refusals


def _placement(op: OnnxOp, engine: str, reason: str | None) -> Placement:
    readers = (use.operation for use in op.results[0].uses) if op.results else ()
    names = tuple(describe(reader) for reader in readers if not isinstance(reader, ReturnOp))
    way_out = "" if reason is None or ";" in reason else WAY_OUT
    return Placement(describe(op), _operator(op), engine, None if reason is None else reason + way_out, names)


def _operator(op: OnnxOp) -> str:
    """What the model calls the operator."""
    identity = identity_of(op)
    return op.name if identity is None else identity.op_type


def _refusal(op: OnnxOp, rule: str) -> str:
    """One line: node, operator, the rule broken with what was found, and a way out."""
    name = op.OP_TYPE or op.name
    if isinstance(op, CustomOp):
        domain = op.attributes.get("domain_name")
        name = ".".join([domain.data if isinstance(domain, StringAttr) else "", op.function_name.data])
    return f"{describe(op)} ({name}): {rule}" + ("" if ";" in rule else WAY_OUT)


def _convert_inputs(function: FuncOp, to: Lowering) -> list[str]:
    refusals: list[str] = []
    for index, argument in enumerate(function.body.block.args):
        shape = static_shape(argument.type)
        cube = None if shape is None else cube_shape(shape)
        if shape is None or cube is None:
            refusals.append(
                f"input {index}: {argument.type} (the DLA takes one image 1xCxHxW, all sizes known); fix the "
                "shapes of the model's inputs"
            )
            continue
        if (refusal := to.admit(argument, shape, cube)) is not None:
            refusals.append(f"input {index}: {refusal}")
    return refusals


def _convert_op(op: OnnxOp, to: Lowering) -> None:
    if isinstance(op, ReturnOp):
        to.add(FuncReturnOp(*[to.returned(value) for value in op.operands]))
    else:
        to.lower(op)
