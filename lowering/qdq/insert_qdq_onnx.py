"""
`insert-qdq-onnx`: quantize a model to INT8 in standard operators, with the ranges of a calibration table.

```mlir
%y = "onnx.Conv"(%x, %w, %b)
```
becomes
```mlir
%qx = "onnx.QuantizeLinear"(%x, %scale, %zero)
%dx = "onnx.DequantizeLinear"(%qx, %scale, %zero)
%dw = "onnx.DequantizeLinear"(%int8_weights, %scales, %zeros) {axis = 0}
%db = "onnx.DequantizeLinear"(%int32_bias, %products, %zeros) {axis = 0}
%c = "onnx.Conv"(%dx, %dw, %db)
```
with another pair on `%c`. Runtimes fuse what lies between two pairs to integer kernels.

Convolutions and matrix products with constant weights are quantized, and what follows them up to the next
operator that is not in the lists below. `quantize-onnx` is the counterpart for the engines of NVDLA.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, LocationAttr, ModuleOp, f32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import UNKNOWN, derived, describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops import math, nn, tensor
from xonnc.dialects.onnx.ops.constant import ConstantOp, constant_elements
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import element_type, element_type_of, is_ranked, tensor_type
from xonnc.errors import XonncError, suggest
from xonnc.formats.nvdla.calibration import Ranges, read_calibration
from xonnc.lowering.onnx_to_dla.quantization.keep_float import keep_float, stays_float
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import is_quantized
from xonnc.lowering.onnx_to_dla.quantization.value_ranges import ValueRanges
from xonnc.lowering.qdq.qdq_params import (
    ACTIVATION_TYPES,
    ActivationType,
    Array,
    QuantizationParams,
    activation_params,
    quantize_weights,
)
from xonnc.transforms.model_opsets import ONNX_DOMAIN

CLAMPS = (math.ClipOp, math.ReluOp)
"""Operators that runtimes fuse into the product before them: there is no pair in between."""

ELEMENTWISE = (
    *CLAMPS,
    math.AddOp,
    math.HardSigmoidOp,
    math.HardSwishOp,
    math.LeakyReluOp,
    math.MulOp,
    math.SigmoidOp,
    math.SubOp,
    math.TanhOp,
    nn.AveragePoolOp,
    nn.GlobalAveragePoolOp,
    tensor.ConcatOp,
)
"""Operators that are quantized if all their computed operands are."""

PER_CHANNEL_OPSET = 13
"""The first opset with one scale per channel."""

MOVES = (
    MaxPoolSingleOutOp,
    nn.FlattenOp,
    nn.MaxPoolOp,
    tensor.DepthToSpaceOp,
    tensor.IdentityOp,
    tensor.ReshapeOp,
    tensor.SliceOp,
    tensor.SpaceToDepthOp,
    tensor.SqueezeOp,
    tensor.TransposeOp,
    tensor.UnsqueezeOp,
)
"""Operators whose results are elements of their first operand, and have its scale and zero point."""


@dataclass(frozen=True)
class InsertQdqOnnx(ModulePass):
    """
    Quantize a model to INT8 in standard operators, with the ranges of a calibration table.

    Weights become int8 with one scale per output channel (`per-tensor`: one in all), biases int32.
    `table` is the file; `activations` is `uint8`, `int8`, or `symmetric` for int8 with zero point 0;
    `keep-float` names nodes that are not quantized.
    """

    name = "insert-qdq-onnx"

    table: str = ""
    activations: str = "uint8"
    per_tensor: bool = False
    keep_float: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.table:
            raise XonncError("insert-qdq-onnx: table=FILE says which calibration table")
        kinds: dict[str, ActivationType] = {each: each for each in ACTIVATION_TYPES}
        kind = kinds.get(self.activations)
        if kind is None:
            hint = suggest(self.activations, ACTIVATION_TYPES) or f"; there are {', '.join(ACTIVATION_TYPES)}"
            raise XonncError(f"insert-qdq-onnx: no type of activations '{self.activations}'{hint}")
        scheme = QdqScheme(kind, self.per_tensor, self.keep_float)
        insert_qdq(op, read_calibration(Path(self.table)), DisposablePool.of(ctx), scheme)


@dataclass(frozen=True)
class QdqScheme:
    """The operators that are quantized, and their types."""

    activations: ActivationType = "uint8"
    is_per_tensor: bool = False
    """Whether weights have one scale in all, not one per output channel."""
    keep_float: Sequence[str] = ()
    """Names of nodes, or of their results, that are not quantized."""


def insert_qdq(module: ModuleOp, ranges: Ranges, pool: DisposablePool, scheme: QdqScheme) -> None:
    """
    Quantize `module` in place; one that has QDQ pairs already stays unchanged.

    Raises `XonncError` for values without a range, or unknown names of nodes.
    """
    if is_quantized(module):
        return
    keep_float(module, scheme.keep_float)
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    insertions = [
        _Insertion(function.body.block, ValueRanges(function, ranges), pool, scheme) for function in functions
    ]
    missing = [name for insertion in insertions for name in insertion.without_range()]
    if missing:
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise XonncError(
            f"no range in the calibration table for {', '.join(missing[:8])}{more}; calibrate with this model"
        )
    if any(insertion.is_needed for insertion in insertions):
        if not scheme.is_per_tensor:
            _raise_opset(module, PER_CHANNEL_OPSET)
        for insertion in insertions:
            insertion.run()


def _raise_opset(module: ModuleOp, opset: int) -> None:
    """Let the model import at least `opset`; `XonncError` for an operator that it no longer has."""
    imports = module.attributes.get("onnx.opset_imports")
    if not isinstance(imports, DictionaryAttr):
        return
    for op in module.walk():
        if isinstance(op, OnnxOp) and not op.DOMAIN and op.UNTIL is not None and op.UNTIL <= opset:
            raise XonncError(
                f"{describe(op)} ({op.OP_TYPE}): the version of opset {op.UNTIL - 1}; scales per channel "
                f"need opset {opset}, those per tensor do not"
            )
    raised = dict(imports.data)
    for domain, version in imports.data.items():
        if domain in ("", ONNX_DOMAIN) and isinstance(version, IntegerAttr) and version.value.data < opset:
            raised[domain] = IntegerAttr(opset, i64)
    module.attributes["onnx.opset_imports"] = DictionaryAttr(raised)


def linear_ops(module: ModuleOp) -> list[Operation]:
    """Return the operators that can be quantized by themselves: those with constant weights."""
    return [op for op in module.walk() if _weights_axis(op) is not None]


def has_quantized_weights(op: Operation) -> bool:
    """Whether the weights of a linear operator are dequantized integers."""
    return len(op.operands) > 1 and isinstance(op.operands[1].owner, DequantizeLinearOp)


def _weights_axis(op: Operation) -> int | None:
    """Return the axis of output channels of the constant float weights of a linear operator, or `None`."""
    if not isinstance(op, nn.ConvOp | math.GemmOp | math.MatMulOp):
        return None
    weights = constant_elements(op.operands[1])
    is_float = all(element_type(each.type) == f32 for each in op.operands[:2])
    if weights is None or not is_float or not weights.size or constant_elements(op.operands[0]) is not None:
        return None
    if isinstance(op, nn.ConvOp):
        return 0
    if weights.ndim != 2:
        return None
    return 0 if isinstance(op, math.GemmOp) and op.transB.value.data else 1


class _Insertion:
    """Chooses the values of one block that get a pair, and inserts the pairs."""

    def __init__(
        self,
        block: Block,
        ranges: ValueRanges,
        pool: DisposablePool,
        scheme: QdqScheme,
    ):
        self._block = block
        self._ranges = ranges
        self._pool = pool
        self._scheme = scheme
        self._ops: list[Operation] = []
        """The quantized ops, in order."""
        self._made: set[SSAValue] = set()
        """Their results."""
        for op in block.ops:
            if not stays_float(op) and self._can_quantize(op):
                self._ops.append(op)
                self._made.add(op.results[0])
        self._params: dict[SSAValue, QuantizationParams | None] = {}
        quantized = set(self._ops)
        self._pairs = [value for value in self._read_or_made() if not _is_clamped(value, quantized)]

    def _can_quantize(self, op: Operation) -> bool:
        if _weights_axis(op) is not None:
            return True
        if not isinstance(op, (*ELEMENTWISE, *MOVES)) or len([each for each in op.results if each.uses]) > 1:
            return False
        if element_type(op.results[0].type) != f32:
            return False
        inputs = op.operands[:1] if isinstance(op, (*MOVES, *CLAMPS)) else op.operands
        computed = [each for each in inputs if constant_elements(each) is None]
        return bool(computed) and all(each in self._made for each in computed)

    def _read_or_made(self) -> list[SSAValue]:
        """Return the values that quantized ops read or produce."""
        found: dict[SSAValue, None] = {}
        for op in self._ops:
            if _weights_axis(op) is not None:
                found[op.operands[0]] = None
            found[op.results[0]] = None
        return list(found)

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to quantize."""
        return bool(self._ops)

    def without_range(self) -> list[str]:
        """Return the names of values that need a range that the table does not have."""
        own = [value for value in self._pairs if self._same_params(value) is None]
        return [f"'{self._ranges.name(value)}'" for value in own if self._params_of(value) is None]

    def _params_of(self, value: SSAValue) -> QuantizationParams | None:
        if value not in self._params:
            source = self._same_params(value)
            if source is not None:
                self._params[value] = self._params_of(source)
            else:
                found = self._ranges.of(value)
                kind = self._scheme.activations
                self._params[value] = None if found is None else activation_params(found, kind)
        return self._params[value]

    def _same_params(self, value: SSAValue) -> SSAValue | None:
        """
        Return another value with the same scale and zero point, or `None`.

        What only a concatenation reads is quantized as its result, so that it moves integers.
        """
        if value not in self._made or not isinstance(value, OpResult):
            return None
        if isinstance(value.op, MOVES):
            return value.op.operands[0]
        reader = next(iter(value.uses)).operation if value.has_one_use() else None
        is_joined = isinstance(reader, tensor.ConcatOp) and reader.results[0] in self._made
        return reader.results[0] if is_joined and reader is not None else None

    def run(self) -> None:
        """Insert the pairs, and quantize weights and biases."""
        quantized = set(self._ops)
        for value in self._pairs:
            # All before the first change: which values share parameters depends on their readers.
            self._params_of(value)
        for op in self._ops:
            axis = _weights_axis(op)
            if axis is not None:
                self._quantize_weights(op, axis)
        for value in self._pairs:
            self._insert_pair(value, quantized)

    def _quantize_weights(self, op: Operation, axis: int) -> None:
        params, weights = self._params_of(op.operands[0]), constant_elements(op.operands[1])
        assert params is not None, "checked before anything is changed"
        assert weights is not None, "linear operators have constant weights"
        bias = _bias(op, weights.shape[axis])
        stored = quantize_weights(weights, axis, bias, params.scale, self._scheme.is_per_tensor)
        _replace_constant(op, 1, self._dequantized(op, stored.weights, stored.scales, axis))
        if stored.bias is not None:
            _replace_constant(op, 2, self._dequantized(op, stored.bias, stored.bias_scales, 0))

    def _dequantized(self, op: Operation, integers: Array, scales: Array, axis: int) -> SSAValue:
        location = derived(op.location)
        zeros = np.zeros(scales.shape, integers.dtype)
        constants = [self._constant(each, location) for each in (integers, scales, zeros)]
        made = DequantizeLinearOp.create(
            operands=[each.output for each in constants],
            # One scale has no axis, and before opset 13 the operator has no such attribute.
            properties={"axis": int_attr(axis)} if scales.ndim else {},
            result_types=[tensor_type(integers.shape, f32)],
            location=location,
        )
        Builder(InsertPoint.before(op)).insert([*constants, made])
        return made.y

    def _insert_pair(self, value: SSAValue, quantized: set[Operation]) -> None:
        params = self._params_of(value)
        assert params is not None, "checked before anything is changed"
        assert is_ranked(value.type), "operators that are quantized have ranked operands"
        if isinstance(value, OpResult):
            where, location = InsertPoint.after(value.op), derived(value.op.location)
        else:
            where, location = InsertPoint.at_start(self._block), UNKNOWN
        # Operators in float keep reading what is computed in float.
        readers = [use for use in value.uses if value in self._made or use.operation in quantized]
        scale, zero = (self._constant(np.asarray(each), location) for each in params)
        stored = tensor_type(value.type.get_shape(), element_type_of(params.zero_point.dtype))
        quantize = QuantizeLinearOp.create(
            operands=[value, scale.output, zero.output], result_types=[stored], location=location
        )
        read = DequantizeLinearOp.create(
            operands=[quantize.y, scale.output, zero.output], result_types=[value.type], location=location
        )
        Builder(where).insert([scale, zero, quantize, read])
        for use in readers:
            use.operation.operands[use.index] = read.y

    def _constant(self, array: Array, location: LocationAttr) -> ConstantOp:
        return ConstantOp.from_attr(self._pool.create(array), location)


def _replace_constant(op: Operation, index: int, value: SSAValue) -> None:
    """Replace an operand, and erase the constant that it was if nothing else reads it."""
    constant = op.operands[index].owner
    op.operands[index] = value
    if isinstance(constant, ConstantOp) and not constant.output.uses:
        constant.detach()
        constant.erase()


def _is_clamped(value: SSAValue, quantized: set[Operation]) -> bool:
    """Whether a linear operator or sum produces the value for a clamp alone."""
    if not isinstance(value, OpResult) or not value.has_one_use() or value.op not in quantized:
        return False
    reader = next(iter(value.uses)).operation
    is_fused = isinstance(value.op, nn.ConvOp | math.GemmOp | math.MatMulOp | math.AddOp)
    return is_fused and isinstance(reader, CLAMPS) and reader in quantized


def _bias(op: Operation, channels: int) -> Array | None:
    """Return the constant bias of a Conv or Gemm that is added as it is, one value per channel, or `None`."""
    if isinstance(op, math.MatMulOp):
        return None
    bias = constant_elements(op.operands[2])
    if isinstance(op, math.GemmOp) and not op.alpha.value.data == op.beta.value.data == 1.0:
        return None
    return bias if bias is not None and bias.shape == (channels,) else None
