"""
`propagate-qdq-onnx`: give values of a quantized network the QDQ pairs that follow from their neighbours.

```mlir
%d = "onnx.DequantizeLinear"(%q, %s, %z)
%r = "onnx.Relu"(%d)
%y = "onnx.Conv"(%r, %w, %b)
```
Engines read integers, but the tools that train or calibrate a network place pairs where a GPU needs them:
before convolutions only (TensorRT, ModelOpt), or after convolutions only (fake quantization of torch). A
value that an operator reads as integers, and that no pair quantizes, gets

* those of its operand, if it consists of the operand's elements (Relu, MaxPool, Reshape …), which is exact;
* the parameters of a QuantizeLinear that reads it, or elements of it, beside that operator: a residual
  connection then adds what the next convolution reads;
* those of its operand, if it consists of means of its elements, which are rounded once more;
* those that cover its range, if it is a function of one quantized value, or a concatenation of several;
* those that cover the range in which its readers' results, once quantized, change at all: a sigmoid is 1
  above 6, and what is larger than a result's largest integer saturates.

Where none of this applies, only a calibration can tell the range (`quantize-onnx`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp
from xonnc.dialects.onnx.ops.math import AddOp, ClipOp, MulOp, ReluOp, SumOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, GlobalAveragePoolOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.ops.reduction import ReduceMeanOp, ReduceMeanV13Op
from xonnc.dialects.onnx.ops.tensor import ConcatOp, ResizeOp, ResizeV13Op, ResizeV18Op
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.quantization import covering
from xonnc.lowering.onnx_to_dla.builders.dla_builder import FLOATS, Array
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import (
    MOVES,
    PASS_THROUGH,
    QdqPair,
    elements,
    insert_pair,
    is_constant,
    is_quantized,
    meets_padding,
    pair_of,
)
from xonnc.lowering.onnx_to_dla.int8.lookup_regions import lookup_regions
from xonnc.lowering.onnx_to_dla.int8.saturation import functions_of, varying_range
from xonnc.lowering.onnx_to_dla.int8.sums_functions import looks_up_sums, sums_functions
from xonnc.lowering.onnx_to_dla.quantization.keep_float import stays_float
from xonnc.lowering.onnx_to_dla.quantization.value_ranges import ValueRanges
from xonnc.targets import NvdlaTarget, load_target

CLAMPS = (ClipOp, ReluOp)
"""Operators that the pass of the engine before them computes."""

MEANS = (AveragePoolOp, GlobalAveragePoolOp, ReduceMeanOp, ReduceMeanV13Op)
"""Operators whose results lie between elements of their operand."""

RESIZES = (ResizeOp, ResizeV13Op, ResizeV18Op)

MOVED = (*CLAMPS, *MOVES, BatchNormalizationInferenceModeOp)
"""Operators that read what is not quantized yet, if their results are quantized."""

SCALING = (AddOp, BatchNormalizationInferenceModeOp, MulOp, SumOp)
"""Operators that scale and add; no engine does that to elements of other values before they are stored."""

TAKING = (*MOVED, ConcatOp, *SCALING)
"""Operators that may read what is not quantized yet."""

REACH = 8.0
"""Values are sought within so many times the range of what is computed from them."""

COARSEST = 4.0
"""Steps of an operand may be so many times those of the result: two bits are lost."""

POINTS = 4096
"""Points at which functions are evaluated."""


@dataclass(frozen=True)
class PropagateQdq(ModulePass):
    """
    Insert QDQ pairs that follow from those of neighbouring values, where operators of NVDLA read integers.

    Modules without any pair stay as they are. If the SDP of `target` has a lookup table (nv_large, nv_full),
    it reads a convolution's sums, which need no pair before a function whose result has one.
    """

    name = "propagate-qdq-onnx"

    target: str = "nv_small"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        propagate_pairs(op, DisposablePool.of(ctx), target=load_target(self.target))


def propagate_pairs(
    module: ModuleOp,
    pool: DisposablePool,
    ranges: Ranges | None = None,
    target: NvdlaTarget | None = None,
) -> int:
    """
    Insert the pairs into a module that `target` runs, and return their number.

    `ranges` are measured ones: where elements do not come from a quantized value, they come before what
    follows from functions.
    """
    if not is_quantized(module):
        return 0
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    known = [None if ranges is None else ValueRanges(function, ranges) for function in functions]
    return sum(
        _Propagation(function.body.block, pool, found).run(looks_up_sums(target))
        for function, found in zip(functions, known, strict=True)
    )


class _Propagation:
    """The pairs of one function."""

    def __init__(self, block: Block, pool: DisposablePool, ranges: ValueRanges | None):
        self._block = block
        self._pool = pool
        self._ranges = ranges
        self._pairs: dict[SSAValue, QdqPair] = {}
        """Of values that consist of dequantized integers."""
        self._taken: dict[SSAValue, bool] = {}
        """Whether the readers of a value take it before it is quantized, as far as that is known."""
        self._quantized_as: dict[SSAValue, QdqPair] = {}
        """The pairs that other readers of a value, or of its elements, quantize it with."""
        self._tables: dict[SSAValue, tuple[SSAValue, Array]] = {}
        """
        Values that consist of dequantized integers or are functions of these alone, whether they have been
        visited or not: the value with the pair, and the result for each integer.
        """

    def run(self, has_sums_lookup: bool) -> int:
        """Insert the pairs; return their number."""
        self._move_clamps()
        self._taken.clear()
        values = self._values()
        for value in reversed(values):
            if (found := self._beside(value)) is not None:
                self._quantized_as[value] = found
        if has_sums_lookup:
            self._take_sums()
        count = 0
        for value in values:
            pair = self._missing(value)
            if pair is not None:
                stored = insert_pair(value, pair, self._pool)
                self._keep(stored, pair)
                # A sum takes one operand that is not stored: now it may take another one than before.
                if any(isinstance(use.operation, AddOp | SumOp) for use in stored.uses):
                    self._taken = {each: True for each, is_taken in self._taken.items() if is_taken}
                count += 1
        return count

    def _take_sums(self) -> None:
        """Note convolutions' sums, and what is computed from them, that a lookup table takes as they are."""
        for found in sums_functions(self._block, lookup_regions(self._block)):
            pair = self._quantized_as.get(found.result)
            if pair is not None and found.is_tabulated(pair.qparams):
                self._taken |= dict.fromkeys((found.sums, *found.inner), True)

    def _values(self) -> Sequence[SSAValue]:
        ops = [op for op in self._block.ops if isinstance(op, OnnxOp)]
        kinds = (ConstantOp, NoValueOp, ReturnOp)
        computed = [result for op in ops if not isinstance(op, kinds) for result in op.results]
        every = (*self._block.args, *computed)
        return [each for each in every if is_ranked(each.type) and element_type(each.type) in FLOATS]

    def _move_clamps(self) -> None:
        """
        Clamp before a pair instead of after it, where nothing else reads the pair: both are one pass then.

        Rounding is monotonic, so clamps at what an integer stands for, such as 0, give the same numbers.
        """
        for op in list(self._block.ops):
            if not isinstance(op, CLAMPS) or stays_float(op):
                continue
            read = op.operands[0].owner
            if not isinstance(read, DequantizeLinearOp) or not isinstance(read.x.owner, QuantizeLinearOp):
                continue
            quantized = read.x.owner
            alone = read.y.has_one_use() and quantized.y.has_one_use()
            pair = pair_of(read)
            if not alone or pair is None or pair != pair_of(quantized) or not _is_exact(op, pair):
                continue
            # Inputs of the network are quantized first, and what was dequantized is clamped by itself anyhow.
            maker = quantized.x.owner
            if not isinstance(maker, OnnxOp) or isinstance(maker, DequantizeLinearOp):
                continue
            if self._is_taken(op.results[0]):
                continue
            op.results[0].replace_all_uses_with(read.y)
            op.operands[0] = quantized.x
            op.detach()
            self._block.insert_op_before(op, quantized)
            quantized.operands[0] = op.results[0]

    def _missing(self, value: SSAValue) -> QdqPair | None:
        """Return the pair that a value needs and can have, after noting what is known of it."""
        op = value.owner
        if isinstance(op, DequantizeLinearOp):
            found = pair_of(op)
            if found is not None and elements(op.x) is None:
                self._keep(value, found)
            return None
        if isinstance(op, Operation) and stays_float(op):
            return None
        if self._is_taken(value):
            return None
        found = (
            self._carried(value, exactly=True)
            or self._quantized_as.get(value)
            or self._carried(value)
            or self._measured(value)
            or self._covering(value)
            or self._varying(value)
        )
        return None if found is None else found.in_type_of(value)

    def _keep(self, value: SSAValue, pair: QdqPair) -> None:
        self._pairs[value] = pair
        functions = functions_of(value, pair.numbers)
        self._tables |= {each: (value, numbers) for each, numbers in functions.items()}
        # Readers within a table take what they may not have taken before.
        for each in functions:
            self._taken.pop(each, None)

    def _is_taken(self, value: SSAValue) -> bool:
        """Whether all readers of a value take it before it is quantized; of an input, pairs only."""
        if not isinstance(value, OpResult):
            return all(isinstance(use.operation, QuantizeLinearOp) for use in value.uses)
        # Results before operands, without recursion: chains of such operators may be long.
        known = self._taken
        stack = [(value, False)]
        while stack:
            each, is_ready = stack.pop()
            if each in known:
                continue
            if is_ready:
                known[each] = all(self._takes(use.operation, use.index, each, known) for use in each.uses)
                continue
            stack.append((each, True))
            readers = [use.operation for use in each.uses if isinstance(use.operation, TAKING)]
            stack += [(result, False) for reader in readers for result in reader.results]
        return known[value]

    def _takes(self, op: Operation, index: int, value: SSAValue, known: Mapping[SSAValue, bool]) -> bool:
        """
        Whether an operator reads an operand before it is quantized, in the same pass of an engine; `known`
        tells whether its results are read so.
        """
        if isinstance(op, QuantizeLinearOp) or stays_float(op):
            return True
        if value in self._tables and op.results and self._is_one_table(op, self._tables[value][0]):
            return True
        if isinstance(op, SCALING) and _is_moved(value):
            return False
        if isinstance(op, MOVED):
            return index == 0 and all(known[each] or self._has_own(each) for each in op.results)
        if isinstance(op, ConcatOp):
            return known[op.results[0]] or self._has_own(op.results[0])
        if isinstance(op, AddOp | MulOp | SumOp):
            others = [each for each in op.operands if each is not value and not is_constant(each)]
            is_broadcast = static_shape(value.type) != static_shape(op.results[0].type)
            if others and (isinstance(op, MulOp) or is_broadcast):
                return False
            is_quantized = known[op.results[0]] or self._has_own(op.results[0])
            return is_quantized and all(map(self._is_stored, others))
        return False

    def _has_own(self, value: SSAValue) -> bool:
        """Whether a value gets a pair that does not depend on that of its operand."""
        return value in self._quantized_as or self._measured(value) is not None

    def _is_one_table(self, op: Operation, root: SSAValue) -> bool:
        """Whether an operator computes a function of a quantized value: it is part of one lookup table."""
        found = self._tables.get(op.results[0])
        return found is not None and found[0] is root

    def _is_stored(self, value: SSAValue) -> bool:
        return value in self._pairs or isinstance(value.owner, DequantizeLinearOp)

    def _beside(self, value: SSAValue) -> QdqPair | None:
        """Return the pair of a reader of the value or of its elements; values behind it are known."""
        through: QdqPair | None = None
        for use in value.uses:
            op = use.operation
            if use.index != 0:
                continue
            if isinstance(op, QuantizeLinearOp) and (found := pair_of(op)) is not None:
                return found
            if not isinstance(op, (*PASS_THROUGH, *CLAMPS)) or isinstance(op, RESIZES):
                continue
            for result in op.results:
                found = self._quantized_as.get(result)
                # A clamp's result may be quantized without the numbers that it excludes.
                if found is not None and not (isinstance(op, CLAMPS) and found.qparams.zero_point):
                    through = through or found
        return through

    def _carried(self, value: SSAValue, exactly: bool = False) -> QdqPair | None:
        """
        Return the pair of the operand, if the value consists of its elements; of means of them or of numbers
        that bounds cut off too, unless `exactly`.
        """
        if not isinstance(value, OpResult):
            return None
        op = value.op
        pair = self._pairs.get(op.operands[0]) if op.operands else None
        if pair is None or not isinstance(op, (*PASS_THROUGH, *CLAMPS, *MEANS)):
            return None
        if isinstance(op, RESIZES) and op.mode.data == "cubic":
            return None
        if exactly and (isinstance(op, MEANS) or (isinstance(op, RESIZES) and op.mode.data != "nearest")):
            return None
        return None if exactly and isinstance(op, CLAMPS) and not _is_exact(op, pair) else pair

    def _measured(self, value: SSAValue) -> QdqPair | None:
        """Return the pair that covers the measured range."""
        found = None if self._ranges is None else self._ranges.of(value)
        if found is None:
            return None
        covered = varying_range(value, found)
        return _pair_over(np.array([covered.least, covered.largest]), _is_symmetric(value))

    def _covering(self, value: SSAValue) -> QdqPair | None:
        """
        Return the pair that covers the results of a function of integers, those of factors and addends per
        channel, or the operands of a concatenation.
        """
        if value in self._tables:
            numbers = self._tables[value][1]
        elif (channels := self._by_channel(value)) is not None:
            numbers = channels
        elif isinstance(value.owner, ConcatOp):
            pairs = [self._pairs.get(each) for each in value.owner.operands]
            known = [pair for pair in pairs if pair is not None]
            if len(known) < len(pairs):
                return None
            if len(set(known)) == 1:
                return known[0]
            numbers = np.concatenate([pair.numbers for pair in known])
        else:
            return None
        return _pair_over(numbers, _is_symmetric(value))

    def _by_channel(self, value: SSAValue) -> Array | None:
        """Return what the least and the largest integer become by factors and addends per channel."""
        op = value.owner
        if isinstance(op, BatchNormalizationInferenceModeOp) and op.X in self._pairs:
            found = [elements(each) for each in (op.scale, op.B, op.mean, op.var)]
            known = [each.astype(np.float64) for each in found if each is not None]
            if len(known) < len(found):
                return None
            scale, shift, mean, variance = known
            factor = scale / np.sqrt(variance + op.epsilon.value.data)
            return np.concatenate([factor * (end - mean) + shift for end in self._ends(op.X)])
        if not isinstance(op, AddOp | MulOp):
            return None
        for operand, other in ((op.A, op.B), (op.B, op.A)):
            if operand in self._pairs and (constant := elements(other)) is not None:
                join = np.multiply if isinstance(op, MulOp) else np.add
                return np.concatenate([join(constant.reshape(-1), end) for end in self._ends(operand)])
        return None

    def _ends(self, value: SSAValue) -> tuple[float, float]:
        numbers = self._pairs[value].numbers
        return float(numbers[0]), float(numbers[-1])

    def _varying(self, value: SSAValue) -> QdqPair | None:
        """Return the pair that covers the range in which the results of elementwise readers change."""
        found = self._quantized_functions(value)
        if not found:
            return None
        spans = [float(np.ptp(pair.numbers)) for _, pair in found]
        reach = REACH * max(float(np.abs(pair.numbers).max()) for _, pair in found)
        points = np.linspace(-reach, reach, POINTS)
        functions = functions_of(value, points)
        first, last = POINTS - 1, 0
        for result, pair in found:
            numbers = functions[result]
            if not np.all(np.isfinite(numbers)):
                return None
            integers = pair.qparams.quantize(numbers)
            changes = np.flatnonzero(np.diff(integers))
            if not changes.size:
                continue
            first, last = min(first, int(changes[0])), max(last, int(changes[-1]) + 1)
        if first >= last or first == 0 or last == POINTS - 1:
            return None
        span = float(points[last]) - float(points[first])
        if span > COARSEST * min(spans):
            return None
        return _pair_over(points[[first, last]], _is_symmetric(value))

    def _quantized_functions(self, value: SSAValue) -> list[tuple[SSAValue, QdqPair]]:
        """Return the functions of a value that are quantized, with their pairs; none if others are read."""
        known = functions_of(value, np.zeros(1))
        found: list[tuple[SSAValue, QdqPair]] = []
        for result in known:
            for use in result.uses:
                op = use.operation
                if op.results and op.results[0] in known:
                    continue
                pair = pair_of(op) if isinstance(op, QuantizeLinearOp) else None
                if pair is None or result is value:
                    return []
                found.append((result, pair))
        return found


def _pair_over(numbers: Array, is_symmetric: bool) -> QdqPair | None:
    least, largest = float(np.min(numbers, initial=0)), float(np.max(numbers, initial=0))
    return QdqPair.of(covering(least, largest, is_symmetric)) if np.isfinite([least, largest]).all() else None


def _is_exact(op: Operation, pair: QdqPair) -> bool:
    """Whether a clamp has the same results before a pair as after it."""
    bounds = [each for each in op.operands[1:] if each.type != NONE]
    known = [each for each in map(elements, bounds) if each is not None]
    numbers = pair.numbers.astype(np.float32)
    return len(known) == len(bounds) and all(
        bool(np.isin(each, numbers).all() or (each <= numbers[0]).all() or (each >= numbers[-1]).all())
        for each in known
    )


def _is_symmetric(value: SSAValue) -> bool:
    """
    Whether the zero point must be 0: an average pooling pads the value, or a product of computed values reads
    it, where the SDP subtracts the zero point of one factor only.
    """
    products = (use.operation for use in value.uses if isinstance(use.operation, MulOp))
    return meets_padding(value) or any(not any(map(is_constant, op.operands)) for op in products)


def _is_moved(value: SSAValue) -> bool:
    """Whether a value is made of elements of others."""
    return isinstance(value.owner, (ConcatOp, *MOVES))
