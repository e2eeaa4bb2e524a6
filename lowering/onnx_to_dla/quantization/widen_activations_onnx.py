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
convolutions that read `y` read the channels of `y1` and `y2` with the weights `w` and `w / 16`. What Split,
Add and Concat make of `y1` they make of `y2` too, for the convolutions behind them: all these values have one
scale, so that sums are exact, and the rounding error of a sum is the sum of errors. Other readers of `y` read
`y1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log2

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.math import AddOp, MulOp, SubOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp, SplitOp, SplitV11Op, SplitV13Op
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


SPLITS = (SplitOp, SplitV11Op, SplitV13Op)

JOINED_READERS = (AddOp, ConcatOp, ConvOp, *SPLITS)
"""
Readers of sums and of parts that have a second tensor. A product would need a zero point of 0, which values
with the scale of wide ones do not have.
"""


@dataclass(frozen=True)
class WidenActivations(ModulePass):
    """
    Keep the rounding errors of marked pairs (`dla.wide`) in a second tensor, for the convolutions that read.

    `quantize-onnx` marks the pairs of values that a calibration table calls wide.
    """

    name = "widen-activations-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [each for each in op.walk() if isinstance(each, FuncOp)]:
            # Functions that are declared alone have no block.
            for block in function.body.blocks:
                widen(block, DisposablePool.of(ctx))


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
            readers = dict.fromkeys(reader for value in _reached(result) for reader in _convolutions(value))
            if readers:
                yield WideLayer(op.Y, result, joined_channels(result), tuple(readers))


def _reached(value: SSAValue) -> Iterator[SSAValue]:
    """Yield a value and what Split, Add and Concat make of it that convolutions can read as two tensors."""
    found, pending = {value}, [value]
    while pending:
        yield (one := pending.pop())
        for made in _made_of(one):
            if made not in found:
                found.add(made)
                pending.append(made)


def _made_of(value: SSAValue) -> Iterator[SSAValue]:
    """Yield the parts, sums and concatenations of a float value whose integers have its scale."""
    if (joined := joined_channels(value)) is not None:
        yield joined
    for op in [use.operation for use in value.uses]:
        if isinstance(op, SPLITS) and op.axis.value.data == 1 and all(map(_is_joined, op.results)):
            yield from op.results
        elif isinstance(op, AddOp) and _adds_alike(op) and _is_joined(op.C):
            yield op.C


def _is_joined(value: SSAValue) -> bool:
    return all(isinstance(use.operation, JOINED_READERS) for use in value.uses)


def _adds_alike(op: AddOp) -> bool:
    """Whether a sum is that of two computed tensors of its own shape."""
    shapes = {static_shape(each.type) for each in (*op.operands, op.C)}
    return len(shapes) == 1 and None not in shapes and all(elements(each) is None for each in op.operands)


def common_scales(block: Block) -> dict[SSAValue, frozenset[SSAValue]]:
    """
    Return the float values that have one scale if one of them is wide, by each of them: what Split, Add and
    Concat make of the results of convolutions, and what they add.
    """
    found: dict[SSAValue, frozenset[SSAValue]] = {}
    for layer in wide_layers(block):
        own: set[SSAValue] = set()
        for value in _reached(layer.result):
            own |= {value, *(value.owner.operands if isinstance(value.owner, AddOp) else ())}
        merged = frozenset(own).union(*(found.get(value, ()) for value in own))
        found |= dict.fromkeys(merged, merged)
    return found


def joined_channels(value: SSAValue) -> SSAValue | None:
    """Return the only concatenation of a value's channels with others, if convolutions alone read that."""
    joins = [use.operation for use in value.uses if isinstance(use.operation, ConcatOp)]
    if len(joins) != 1 or joins[0].axis.value.data != 1:
        return None
    (joined,) = joins[0].results
    readers = [use.operation for use in joined.uses]
    return joined if len(_convolutions(joined)) == len(readers) > 0 else None


def wide_qparams(found: Sequence[Range]) -> QuantizationParameters:
    """Return the parameters of wide values: all that samples show and more, with integers of both signs."""
    least = MARGIN * min(0.0, *(number for each in found for number in (each.least, *each.lows)))
    largest = MARGIN * max(0.0, *(number for each in found for number in (each.largest, *each.highs)))
    step = (largest - least) / (INT8_MAX - INT8_MIN - MIN_DISTANCE)
    zero = INT8_MIN + min(max(round(-least / step), MIN_DISTANCE), INT8_MAX - INT8_MIN - MIN_DISTANCE)
    return QuantizationParameters(step, zero)


def widen(block: Block, pool: DisposablePool) -> None:
    """
    Give marked pairs of convolutions' results, and of their activations, second tensors, and what Split, Add
    and Concat make of these; let convolutions read both.
    """
    found = _SecondTensors(pool)
    for op in [each for each in block.ops if isinstance(each, OnnxOp)]:
        if isinstance(op, DequantizeLinearOp):
            found.add_functions(op)
        elif isinstance(op, SPLITS):
            found.add_parts(op)
        elif isinstance(op, AddOp):
            found.add_sum(op)
        elif isinstance(op, ConcatOp):
            found.join(op)
        elif isinstance(op, ConvOp):
            found.read(op)
    erase_unread(found.seconds.values())


class _SecondTensors:
    """The second tensors of a block, by the first ones as others read them."""

    def __init__(self, pool: DisposablePool):
        self.seconds: dict[SSAValue, SSAValue] = {}
        self._both: dict[SSAValue, SSAValue] = {}
        """Concatenations of both tensors that convolutions read."""
        self._pool = pool

    def add_functions(self, op: DequantizeLinearOp) -> None:
        """Give the function of a convolution's marked pair, which is marked too, a second tensor."""
        store = op.x.owner
        result, sums_pair = _function_of(op.y) if WIDE in op.attributes else None, pair_of(op)
        load = None if result is None else _load_of(result)
        if result is None or sums_pair is None or load is None or not isinstance(store, QuantizeLinearOp):
            return
        result_pair = pair_of(load)
        if WIDE in load.attributes and result_pair is not None and load.y.first_use is not None:
            widening = _Widening(store.x, op.y, sums_pair, result, load, result_pair, self._pool)
            self.seconds[load.y] = widening.run()

    def add_parts(self, op: SplitOp | SplitV11Op | SplitV13Op) -> None:
        """Split a second tensor as the first one."""
        second = self.seconds.get(op.operands[0])
        if second is None or op.axis.value.data != 1:
            return
        made = type(op).create(
            operands=[second, *op.operands[1:]],
            result_types=op.result_types,
            properties=op.properties,
            location=derived(op.location),
        )
        Builder(InsertPoint.after(op)).insert(made)
        for first, part in zip(op.results, made.results, strict=True):
            self._note(first, part, _pair_of_value(second), made)

    def add_sum(self, op: AddOp) -> None:
        """Add second tensors, of which there are one or two, as the first ones are added."""
        seconds = [self.seconds[value] for value in op.operands if value in self.seconds]
        if not seconds or not _adds_alike(op):
            return
        if len(seconds) == 1:
            self._note(op.C, seconds[0], None, op)
            return
        pair, other = map(_pair_of_value, seconds)
        shape = static_shape(op.C.type)
        assert shape is not None, "engines take static shapes"
        # Summands of a sum that others than `JOINED_READERS` read have scales of their own.
        if pair == other:
            self._note(op.C, OpInserter(op, self._pool).op(AddOp, seconds, shape), pair, op)

    def _note(self, first: SSAValue, second: SSAValue, pair: QdqPair | None, after: Operation) -> None:
        """
        Note the second tensor of what others read of a value: after its pair, or itself if only a
        concatenation rounds it. Integers of another scale have none. `pair` rounds the second tensor.
        """
        load = _load_of(first)
        if load is not None and pair_of(load) != (pair or _pair_of_value(second)):
            return
        if pair is not None:
            second = pair_at(InsertPoint.after(after), second, pair, self._pool)
        self.seconds[first if load is None else load.y] = second

    def join(self, op: ConcatOp) -> None:
        """Let convolutions that read a concatenation of channels read the second tensors of its parts too."""
        load = _load_of(op.results[0])
        pair = None if load is None else pair_of(load)
        if load is None or pair is None or op.axis.value.data != 1:
            return
        readers = _convolutions(load.y)
        parts, seconds, channels, begin = list(op.operands), list[SSAValue](), list[slice](), 0
        for part in parts:
            end = begin + _channels(part)
            if part in self.seconds and _pair_of_value(self.seconds[part]) == pair:
                seconds.append(self.seconds[part])
                channels.append(slice(begin, end))
            begin = end
        if not seconds or not 0 < len(readers) == len(list(load.y.uses)):
            return
        joined = self._joined([*parts, *seconds], op, pair)
        for reader in readers:
            self._widen_weights(reader, joined, channels)
        erase_unread([load.y])

    def read(self, op: ConvOp) -> None:
        """Let a convolution that can read both tensors of its input."""
        value = op.X
        second = self.seconds.get(value)
        pair = None if second is None else _pair_of_value(second)
        if second is None or pair is None or op not in _convolutions(value):
            return
        if value not in self._both:
            self._both[value] = self._joined([value, second], op, pair)
        self._widen_weights(op, self._both[value], [slice(0, _channels(value))])

    def _joined(self, parts: Sequence[SSAValue], before: OnnxOp, pair: QdqPair) -> SSAValue:
        """Return the concatenation of the channels of parts, rounded."""
        shape = static_shape(parts[0].type)
        assert shape is not None, "engines take static shapes"
        joined_shape = (shape[0], sum(map(_channels, parts)), *shape[2:])
        joined = OpInserter(before, self._pool).op(ConcatOp, parts, joined_shape, axis=int_attr(1))
        return pair_at(InsertPoint.before(before), joined, pair, self._pool)

    def _widen_weights(self, reader: ConvOp, joined: SSAValue, channels: Sequence[slice]) -> None:
        """Let a convolution read parts that end with the second tensors of these of its channels."""
        weights = elements(reader.W)
        assert weights is not None, "weights are constant"
        fine = [weights[:, each] / FINER for each in channels]
        widened = np.concatenate([weights, *fine], axis=1).astype(weights.dtype)
        reader.operands[0], reader.operands[1] = joined, OpInserter(reader, self._pool).constant(widened)


def _load_of(value: SSAValue) -> DequantizeLinearOp | None:
    """Return the end of the pair that alone reads a value."""
    stores = [use.operation for use in value.uses]
    if len(stores) != 1 or not isinstance(stores[0], QuantizeLinearOp):
        return None
    loads = [use.operation for use in stores[0].y.uses]
    return loads[0] if len(loads) == 1 and isinstance(loads[0], DequantizeLinearOp) else None


def _pair_of_value(value: SSAValue) -> QdqPair | None:
    return pair_of(value.owner) if isinstance(value.owner, DequantizeLinearOp) else None


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

    def run(self) -> SSAValue:
        """Insert the second tensors before the first reader; return that of the function."""
        known = functions_of(self.rounded, np.zeros(1))
        # The first is what dequantizes the sums.
        steps = [
            op for op in self._block.ops if isinstance(op, OnnxOp) and op.results and op.results[0] in known
        ][1:]
        taking = {use.operation for use in self.load.y.uses}
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
        return self._pair(insert.op(AddOp, [product, rest], shape), first, self.result_pair)

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
