"""
`widen-activations-onnx`: results of convolutions and of their activations as two int8 tensors, for NVDLA.

A first layer has few channels, and what its results lose by rounding to 8 bits reaches all others. Marked
pairs of a convolution's result `p` and of an activation `y = f(p)` keep the rounding error too, 16 times as
large, in integers of the same scale (`s` and `t`):

```
p1 = round(p)          p2 = round(16 (p1 - p))        the convolution runs twice
y1 = round(f(p1))      y2 = round(16 (f(p1) - y1) - f'(p1) p2)
```
`f(p1)`, `16 (f(p1) - y1)` and `-f'(p1)` are lookups of `p1`, and one SDP pass multiplies and adds. The
convolutions that read `y` read the channels of `y1` and `y2` with the weights `w` and `w / 16`. If they read
a concatenation of it, `y2` is one of its parts. Its integers are those of `y1`, so both have one scale. Other
readers of `y` read `y1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log2

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.math import AddOp, MulOp, SubOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp
from xonnc.dialects.onnx.types import element_type, numpy_dtype, static_shape
from xonnc.formats.nvdla.calibration import Range
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.onnx_to_dla.builders.op_inserter import OpInserter, erase_unread
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import QdqPair, elements, pair_at, pair_of
from xonnc.lowering.onnx_to_dla.builders.unary_functions import INT8_FUNCTIONS
from xonnc.lowering.onnx_to_dla.int8.saturation import functions_of

WIDE = "dla.wide"
"""The attribute of both operators of a pair whose rounding error is kept."""

FINER = 16
"""Steps of the second tensor in one of the first."""

MARGIN = 1.3
"""The range of a wide tensor relative to that of the samples: steps cost little, other pictures exceed it."""

MIN_DISTANCE = 24
"""The fewest integers below and above the zero point: errors have both signs, two of half a step are 16."""


@dataclass(frozen=True)
class WidenActivations(ModulePass):
    """
    Keep the rounding errors of marked pairs (`dla.wide`) in a second tensor, for the convolutions that read.

    `quantize-onnx` marks the pairs of values that a calibration table calls wide.
    """

    name = "widen-activations-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in [each for each in op.walk() if isinstance(each, DequantizeLinearOp)]:
            widen(each, DisposablePool.of(ctx))


@dataclass(frozen=True)
class WideLayer:
    """A convolution's result, the only function of it that others read, and the convolutions that do."""

    sums: SSAValue
    result: SSAValue
    joined: SSAValue | None
    """The concatenation of the result with others that some of the readers read."""
    readers: tuple[ConvOp, ...]


def wide_layers(block: Block) -> Iterator[WideLayer]:
    """Yield the convolutions of a float network whose results can be wide, in order."""
    for op in block.ops:
        if isinstance(op, ConvOp) and (result := _function_of(op.Y)) is not None:
            joined = joined_channels(result)
            readers = (*_convolutions(result), *(() if joined is None else _convolutions(joined)))
            if readers:
                yield WideLayer(op.Y, result, joined, readers)


def joined_channels(value: SSAValue) -> SSAValue | None:
    """Return the only concatenation of a value's channels with others, if convolutions alone read that."""
    joins = [use.operation for use in value.uses if isinstance(use.operation, ConcatOp)]
    if len(joins) != 1 or joins[0].axis.value.data != 1:
        return None
    (joined,) = joins[0].results
    readers = [use.operation for use in joined.uses]
    return joined if len(_convolutions(joined)) == len(readers) > 0 else None


def wide_qparams(found: Range) -> QuantizationParameters:
    """Return the parameters of a wide value: all that samples show and more, with integers of both signs."""
    least = MARGIN * min(found.least, *found.lows, 0.0)
    largest = MARGIN * max(found.largest, *found.highs, 0.0)
    step = (largest - least) / (INT8_MAX - INT8_MIN - MIN_DISTANCE)
    zero = INT8_MIN + min(max(round(-least / step), MIN_DISTANCE), INT8_MAX - INT8_MIN - MIN_DISTANCE)
    return QuantizationParameters(step, zero)


def widen(op: DequantizeLinearOp, pool: DisposablePool) -> bool:
    """Give a marked pair of a convolution's result, and that of its activation, a second tensor."""
    if op.parent is None:
        # A concatenation's, which was made anew with one part more.
        return False
    store = op.x.owner
    if WIDE not in op.attributes or not isinstance(store, QuantizeLinearOp):
        return False
    result, sums_pair = _function_of(op.y), pair_of(op)
    stores = [] if result is None else [use.operation for use in result.uses]
    if result is None or sums_pair is None or len(stores) != 1 or not isinstance(stores[0], QuantizeLinearOp):
        return False
    loads = [use.operation for use in stores[0].y.uses]
    if len(loads) != 1 or not isinstance(loads[0], DequantizeLinearOp) or WIDE not in loads[0].attributes:
        return False
    result_pair, readers = pair_of(loads[0]), _convolutions(loads[0].y)
    join = None if result_pair is None else _quantized_join(loads[0].y, result_pair)
    if result_pair is None or not (readers or join):
        return False
    _Widening(store.x, op.y, sums_pair, result, loads[0], result_pair, pool).run(readers, join)
    return True


@dataclass(frozen=True)
class _Join:
    """A concatenation, its value after the pair, and the convolutions that read it."""

    op: ConcatOp
    rounded: SSAValue
    readers: tuple[ConvOp, ...]


def _quantized_join(value: SSAValue, pair: QdqPair) -> _Join | None:
    """Return the concatenation of the channels of a value, if its integers have the same scale."""
    for op in [use.operation for use in value.uses if isinstance(use.operation, ConcatOp)]:
        stores = [use.operation for use in op.results[0].uses]
        loads = [use.operation for store in stores for made in store.results for use in made.uses]
        if len(loads) != 1 or not isinstance(loads[0], DequantizeLinearOp) or WIDE not in loads[0].attributes:
            continue
        readers, found = _convolutions(loads[0].y), pair_of(loads[0])
        if found is not None and found.qparams == pair.qparams and len(readers) == len(list(loads[0].y.uses)):
            return _Join(op, loads[0].y, readers)
    return None


def _function_of(root: SSAValue) -> SSAValue | None:
    """Return the only function of a value that others than functions of it read; `None` for a clamp."""
    known = functions_of(root, np.zeros(1))
    outside = [
        value
        for value in known
        if any(not use.operation.results or use.operation.results[0] not in known for use in value.uses)
    ]
    has_function = any(type(value.owner) in INT8_FUNCTIONS for value in known)
    return outside[0] if has_function and len(outside) == 1 else None


def _convolutions(value: SSAValue) -> tuple[ConvOp, ...]:
    """Return the readers of a value that are convolutions over all channels with constant weights."""
    readers = [use.operation for use in value.uses]
    return tuple(
        op
        for op in readers
        if isinstance(op, ConvOp)
        and op.group.value.data == 1
        and op.X is value
        and elements(op.W) is not None
    )


@dataclass(frozen=True)
class _Widening:
    """One convolution: its `sums`, these `rounded`, and the function `result` of those."""

    sums: SSAValue
    rounded: SSAValue
    sums_pair: QdqPair
    result: SSAValue
    load: DequantizeLinearOp
    result_pair: QdqPair
    pool: DisposablePool

    def run(self, readers: Sequence[ConvOp], join: _Join | None) -> None:
        """Insert the second tensors before the first reader."""
        known = functions_of(self.rounded, np.zeros(1))
        # The first is what dequantizes the sums.
        steps = [
            op for op in self._block.ops if isinstance(op, OnnxOp) and op.results and op.results[0] in known
        ][1:]
        taking = [*readers, *([] if join is None else [join.op])]
        first = next(op for op in self._block.ops if op in taking)
        insert, shape = OpInserter(first, self.pool), static_shape(self.result.type)
        assert shape is not None, "engines take static shapes"
        # The convolution of a pass can be subtracted, nothing from it: p1 - p.
        errors = self._pair(
            self._finer(insert, self.rounded, self.sums), first, QdqPair(self.sums_pair.scale)
        )
        coarse = QdqPair(self.result_pair.scale)
        rest = self._pair(self._finer(insert, self.result, self.load.y), first, coarse)
        slope, slopes = self._slopes(insert, steps)
        product = insert.op(MulOp, [self._pair(slope, first, slopes), errors], shape)
        fine = self._pair(insert.op(AddOp, [product, rest], shape), first, self.result_pair)
        if readers:
            self._join([self.load.y, fine], first, readers, slice(0, shape[1]))
        if join is not None:
            parts = list(join.op.operands)
            before = sum(_channels(part) for part in parts[: parts.index(self.load.y)])
            self._join([*parts, fine], join.op, join.readers, slice(before, before + shape[1]))
            erase_unread([join.rounded])

    def _join(
        self, parts: Sequence[SSAValue], first: Operation, readers: Sequence[ConvOp], channels: slice
    ) -> None:
        """Give `readers` parts whose last is the second tensor of these of their `channels`."""
        shape = static_shape(self.result.type)
        assert shape is not None, "engines take static shapes"
        joined_shape = (shape[0], sum(map(_channels, parts)), *shape[2:])
        joined = OpInserter(first, self.pool).op(ConcatOp, parts, joined_shape, axis=int_attr(1))
        both = self._pair(joined, first, self.result_pair)
        # Other parts of a concatenation may have second tensors that follow.
        mark(both)
        for reader in readers:
            weights = elements(reader.W)
            assert weights is not None, "weights are constant"
            widened = np.concatenate([weights, weights[:, channels] / FINER], axis=1).astype(weights.dtype)
            at_reader = OpInserter(reader, self.pool)
            reader.operands[0], reader.operands[1] = both, at_reader.constant(widened)

    @property
    def _block(self) -> Block:
        block = self.load.parent_block()
        assert block is not None, "operators are in a block"
        return block

    def _number(self, insert: OpInserter, number: float) -> SSAValue:
        element = element_type(self.result.type)
        assert element is not None, "what is quantized has numbers"
        return insert.constant(np.array(number, numpy_dtype(element)))

    def _pair(self, value: SSAValue, first: Operation, pair: QdqPair) -> SSAValue:
        return pair_at(InsertPoint.before(first), value, pair, self.pool)

    def _finer(self, insert: OpInserter, value: SSAValue, subtrahend: SSAValue) -> SSAValue:
        """Return a difference in steps of the second tensor."""
        shape = static_shape(self.result.type) or ()
        difference = insert.op(SubOp, [value, subtrahend], shape)
        return insert.op(MulOp, [difference, self._number(insert, FINER)], shape)

    def _slopes(self, insert: OpInserter, steps: Sequence[OnnxOp]) -> tuple[SSAValue, QdqPair]:
        """
        Return the negated slopes of the function, between half a step below and above each number, and a pair
        whose products are in the unit of the result divided by a power of two: one pass can add that.
        """
        shape, half = static_shape(self.result.type) or (), self.sums_pair.scale / 2
        ends = [self._shifted(insert, steps, offset) for offset in (-half, half)]
        difference = insert.op(SubOp, ends, shape)
        slopes = insert.op(MulOp, [difference, self._number(insert, 1 / self.sums_pair.scale)], shape)
        numbers = self.sums_pair.numbers
        low, high = (functions_of(self.rounded, numbers + each)[self.result] for each in (-half, half))
        ratio, largest = (
            self.result_pair.scale / self.sums_pair.scale,
            float(np.abs(high - low).max()) / (2 * half),
        )
        shift = floor(log2(INT8_MAX * ratio / largest))
        return slopes, QdqPair(ratio * 2.0**-shift)

    def _shifted(self, insert: OpInserter, steps: Sequence[OnnxOp], offset: float) -> SSAValue:
        """Return the function of the rounded sums with a number added, whose operators are `steps`."""
        shape = static_shape(self.result.type) or ()
        copies = {self.rounded: insert.op(AddOp, [self.rounded, self._number(insert, offset)], shape)}
        for op in steps:
            operands = [copies.get(value, value) for value in op.operands]
            copies[op.results[0]] = insert.op(type(op), operands, shape, **op.properties)
        return copies[self.result]


def _channels(value: SSAValue) -> int:
    shape = static_shape(value.type)
    assert shape is not None, "engines take static shapes"
    return shape[1]


def mark(value: SSAValue) -> None:
    """Mark the pair that a value is dequantized by as wide."""
    load = value.owner
    assert isinstance(load, DequantizeLinearOp), "a pair ends with a DequantizeLinear"
    for op in (load, load.x.owner):
        assert isinstance(op, Operation), "a pair has two operators"
        op.attributes[WIDE] = UnitAttr()
