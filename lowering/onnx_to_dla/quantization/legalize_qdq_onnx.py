"""
`legalize-qdq-onnx`: rewrite QDQ pairs that the engines of NVDLA do not take.

```mlir
%c = "onnx.Conv"(%x, %w, %none)                            // 64 channels
%q = "onnx.QuantizeLinear"(%c, %s, %z)                     // %s has 64 scales
%d = "onnx.DequantizeLinear"(%q, %s, %z)
%y = "onnx.Conv"(%d, %v, %none) <{group = 64}>
```
* **A scale for each channel** of an activation, as NNCF gives what depthwise convolutions read: the engines
  take one scale. Between two convolutions, the second of which is depthwise, the factors between the scales
  move into the scales of both convolutions' weights, so that all integers stay the same. Elsewhere the pair
  gets the scale that covers the ranges of all channels.
* **Two factors with zero points**, as a sigmoid in `uint8` times another activation in `uint8`: without a Y
  stage the SDP subtracts the zero point of one factor only, the one of full shape. The other factor gets a
  pair in `int8` with zero point 0 and nearly twice the step. Products of functions of one value are lookup
  tables, which take any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.math import ClipOp, MulOp, ReluOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, static_shape
from xonnc.formats.nvdla.quantization import INT8_MAX
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import (
    UNSIGNED,
    QdqPair,
    constant_op,
    elements,
    is_constant,
    pair_at,
    pair_of,
)
from xonnc.lowering.onnx_to_dla.int8.lookup_regions import computed_operands
from xonnc.targets import NvdlaTarget, load_target

MAX_RATIO = 64.0
"""
The largest ratio between scales of two channels, smaller scales become larger ones. The multipliers of one
SDP pass share a shift: that of the largest leaves the smallest 9 of 15 bits.
"""

LEVELS = 255
"""Steps of 8 bits."""


@dataclass(frozen=True)
class LegalizeQdq(ModulePass):
    """
    Give QDQ pairs of activations one scale, and products of two activations one zero point, as the engines of
    `target` take them. A target whose SDP has a Y stage takes two zero points.
    """

    name = "legalize-qdq-onnx"

    target: str = "nv_small"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        legalize_pairs(op, DisposablePool.of(ctx), load_target(self.target))


def legalize_pairs(module: ModuleOp, pool: DisposablePool, target: NvdlaTarget) -> None:
    """Rewrite the pairs of a module that `target` runs."""
    for op in list(module.walk()):
        if isinstance(op, QuantizeLinearOp) and (found := _ChannelPair.of(op)) is not None:
            found.legalize(pool)
        elif isinstance(op, MulOp) and not target.sdp_y:
            _legalize_product(op, pool)


@dataclass(frozen=True)
class _ChannelPair:
    """Pairs of an activation with parameters for each channel."""

    quantized: QuantizeLinearOp
    read: tuple[DequantizeLinearOp, ...]
    scales: Array
    zeros: Array
    """One for each scale."""

    @staticmethod
    def of(op: QuantizeLinearOp) -> _ChannelPair | None:
        """Return the pairs of `op`; `None` unless all that read it dequantize it with the same parameters."""
        scales, zeros = elements(op.y_scale), _zeros(op)
        if scales is None or zeros is None or scales.size < 2 or elements(op.x) is not None:
            return None
        if element_type(op.y.type) not in (i8, UNSIGNED) or op.block_size.value.data:
            return None
        if not np.isfinite(scales).all() or (scales <= 0).any():
            return None
        read: list[DequantizeLinearOp] = []
        for use in op.y.uses:
            reader = use.operation
            if not isinstance(reader, DequantizeLinearOp) or reader.axis != op.axis:
                return None
            if not _equal(elements(reader.x_scale), scales) or not _equal(_zeros(reader), zeros):
                return None
            read.append(reader)
        return _ChannelPair(op, tuple(read), scales, np.broadcast_to(zeros.reshape(-1), scales.shape))

    def legalize(self, pool: DisposablePool) -> None:
        """Move the factors between the scales into weights if possible, and give the pairs one scale."""
        bounds = np.iinfo(self.zeros.dtype)
        if (self.zeros == self.zeros[0]).all():
            scale, zero = self.scales.max(), self.zeros[0]
            self._scale_weights(pool)
        else:
            centred = self.zeros.astype(np.int64)
            least = float(((bounds.min - centred) * self.scales.astype(np.float64)).min())
            largest = float(((bounds.max - centred) * self.scales.astype(np.float64)).max())
            scale = self.scales.dtype.type((largest - least) / LEVELS)
            zero = self.zeros.dtype.type(np.clip(np.rint(bounds.min - least / scale), bounds.min, bounds.max))
        self._set(np.asarray(scale), np.asarray(zero), pool)

    def _set(self, scale: Array, zero: Array, pool: DisposablePool) -> None:
        location = self.quantized.location
        constants = [constant_op(each, location, pool) for each in (scale, zero)]
        Builder(InsertPoint.before(self.quantized)).insert(constants)
        for op in (self.quantized, *self.read):
            for index, each in enumerate(constants, 1):
                op.operands[index] = each.output

    def _scale_weights(self, pool: DisposablePool) -> None:
        """Scale the channels before and after the pairs so that one scale gives the same integers."""
        maker = self._producer()
        consumers = [use.operation for each in self.read for use in each.y.uses]
        if maker is None or not all(map(_is_depthwise, consumers)):
            return
        largest = float(self.scales.max())
        factors = largest / np.maximum(self.scales.astype(np.float64), largest / MAX_RATIO)
        producer, clips = maker
        scaled = [producer.W, *([] if producer.B.type == NONE else [producer.B])]
        weights = {id(op): op for op in consumers if isinstance(op, ConvOp)}
        if not all(_is_scalable(value, factors) for value in scaled):
            return
        # Those that read the channels are divided by factors of at least 1.
        if not all(_is_scalable(op.W, np.ones(1)) for op in weights.values()):
            return
        for value in scaled:
            _replace(producer, value, factors, pool)
        for op in weights.values():
            outputs = static_shape(op.W.type)
            assert outputs is not None, "weights are constants"
            _replace(op, op.W, np.repeat(1 / factors, outputs[0] // factors.size), pool)
        for clip in clips:
            Rewriter.replace_op(clip, [], [clip.operands[0]])

    def _producer(self) -> tuple[ConvOp, tuple[ClipOp, ...]] | None:
        """
        Return the convolution whose results are quantized, with at most a ReLU and bounds in between, and the
        bounds that change no integer.
        """
        value, clips = self.quantized.x, list[ClipOp]()
        while isinstance(value, OpResult) and value.has_one_use():
            op = value.op
            if isinstance(op, ConvOp):
                return (op, tuple(clips)) if self.quantized.axis.value.data == 1 else None
            if isinstance(op, ClipOp) and self._saturates_before(op):
                clips.append(op)
            elif not isinstance(op, ReluOp):
                return None
            value = op.operands[0]
        return None

    def _saturates_before(self, clip: ClipOp) -> bool:
        """Whether the integers saturate at, or before, the bounds."""
        bounds = np.iinfo(self.zeros.dtype)
        for operand, end, sign in ((clip.min, bounds.min, -1), (clip.max, bounds.max, 1)):
            if operand.type == NONE:
                continue
            bound = elements(operand)
            if bound is None:
                return False
            integers = np.rint(bound.reshape(()) / self.scales) + self.zeros
            if not (sign * integers >= sign * end).all():
                return False
        return True


def _equal(found: Array | None, expected: Array) -> bool:
    return found is not None and np.array_equal(found, expected)


def _zeros(op: QuantizeLinearOp | DequantizeLinearOp) -> Array | None:
    """Return the constant zero points of an operator; without any it is 0."""
    given, stored = (op.y_zero_point, op.y) if isinstance(op, QuantizeLinearOp) else (op.x_zero_point, op.x)
    if given.type != NONE:
        return elements(given)
    return np.zeros(1, np.uint8 if element_type(stored.type) == UNSIGNED else np.int8)


def _is_depthwise(op: Operation) -> bool:
    """Whether an operator is a convolution of each channel by itself."""
    shape = static_shape(op.W.type) if isinstance(op, ConvOp) else None
    return isinstance(op, ConvOp) and shape is not None and shape[1] == 1 and op.group.value.data > 1


def _is_scalable(value: SSAValue, factors: Array) -> bool:
    """Whether outputs of a constant, as it is or dequantized, can be scaled by `factors`."""
    if not isinstance(value.owner, DequantizeLinearOp):
        numbers = elements(value)
        return numbers is not None and _is_finite(_of_outputs(numbers, factors))
    op = value.owner
    scales = elements(op.x_scale)
    if not is_constant(op.x) or scales is None or op.block_size.value.data:
        return False
    if not _is_finite(_product(scales.reshape(-1), factors)):
        return False
    shape = static_shape(op.x.type)
    is_first = shape is not None and op.axis.value.data % max(len(shape), 1) == 0
    return (scales.size == 1 or is_first) and (op.x_zero_point.type == NONE or _zeros(op) is not None)


def _replace(reader: ConvOp, value: SSAValue, factors: Array, pool: DisposablePool) -> None:
    """Let a convolution read weights, or a bias, whose outputs are scaled by `factors`."""
    index = list(reader.operands).index(value)
    location = reader.location
    added: list[Operation] = []

    def constant(array: Array) -> SSAValue:
        added.append(op := constant_op(array, location, pool))
        return op.output

    op = value.owner
    if isinstance(op, DequantizeLinearOp):
        scales, zeros = elements(op.x_scale), _zeros(op)
        assert scales is not None, "_is_scalable"
        assert zeros is not None, "_is_scalable"
        given = op.x_zero_point
        if given.type != NONE:
            given = constant(np.broadcast_to(zeros.reshape(-1), factors.shape).copy())
        scaled = DequantizeLinearOp.create(
            operands=[op.x, constant(_product(scales.reshape(-1), factors)), given],
            result_types=[value.type],
            properties={**op.properties, "axis": int_attr(0)},
            location=op.location,
        )
        added.append(scaled)
        result: SSAValue = scaled.y
    else:
        numbers = elements(value)
        assert numbers is not None, "_is_scalable"
        result = constant(_of_outputs(numbers, factors))
    Builder(InsertPoint.before(reader)).insert(added)
    reader.operands[index] = result
    if isinstance(op, DequantizeLinearOp) and op.y.first_use is None:
        Rewriter.erase_op(op)


def _of_outputs(numbers: Array, factors: Array) -> np.ndarray[Any, Any]:
    """Scale the outputs of weights, or a bias."""
    return _product(numbers, factors.reshape(-1, *[1] * (numbers.ndim - 1)))


def _product(numbers: Array, factors: Array) -> np.ndarray[Any, Any]:
    # A weight of float16 may exceed its range: the result is infinite, which _is_scalable refuses.
    with np.errstate(over="ignore"):
        return (numbers.astype(np.float64) * factors).astype(numbers.dtype)


def _is_finite(numbers: Array) -> bool:
    return bool(np.isfinite(numbers).all())


def _legalize_product(op: MulOp, pool: DisposablePool) -> None:
    """Give a factor of two activations a zero point of 0, where the SDP can subtract only the other's."""
    shape = static_shape(op.C.type)
    pairs = [_pair_read(each) for each in op.operands]
    if shape is None or any(pair is None for pair in pairs):
        return
    is_centred = [pair is not None and not pair.qparams.zero_point for pair in pairs]
    is_spread = [static_shape(each.type) != shape for each in op.operands]
    if any(is_spread):
        index = is_spread.index(True)
    elif any(is_centred):
        return
    else:
        index = 0 if _is_read_once(op.operands[0]) else 1
    pair = pairs[index]
    if pair is not None and not is_centred[index] and not _is_function_of_one(op):
        _centre(op, index, pair, pool)


def _is_function_of_one(op: MulOp) -> bool:
    """Whether both factors are functions of one value, rounded or not: the product is a lookup table."""
    ends: set[SSAValue] = set()
    stack, seen = list(op.operands), set[SSAValue]()
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        maker = value.owner
        if isinstance(maker, DequantizeLinearOp) and isinstance(maker.x.owner, QuantizeLinearOp):
            stack.append(maker.x.owner.x)
        elif isinstance(maker, Operation) and (operands := computed_operands(maker)) is not None:
            stack += operands
        else:
            ends.add(value)
    return len(ends) == 1


def _pair_read(value: SSAValue) -> QdqPair | None:
    """Return the pair of an activation."""
    op = value.owner
    if not isinstance(op, DequantizeLinearOp) or is_constant(value):
        return None
    return pair_of(op)


def _is_read_once(value: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, DequantizeLinearOp) and op.y.has_one_use() and op.x.has_one_use()


def _centre(op: MulOp, index: int, pair: QdqPair, pool: DisposablePool) -> None:
    """Quantize a factor with zero point 0: instead of its pair if nothing else reads that, or once more."""
    value = op.operands[index]
    read = value.owner
    assert isinstance(read, DequantizeLinearOp), "a factor has a pair"
    found = QdqPair(float(np.abs(pair.numbers).max()) / INT8_MAX).in_type_of(value)
    if found is None:
        return
    quantized = read.x.owner
    if isinstance(quantized, QuantizeLinearOp) and _is_read_once(value):
        op.operands[index] = pair_at(InsertPoint.before(op), quantized.x, found, pool)
        Rewriter.erase_op(read)
        Rewriter.erase_op(quantized)
    else:
        op.operands[index] = pair_at(InsertPoint.before(op), value, found, pool)
