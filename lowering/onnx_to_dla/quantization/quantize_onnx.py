"""
`quantize-onnx`: insert QDQ pairs (QuantizeLinear and DequantizeLinear) with the ranges of a calibration
table.

```mlir
%y = "onnx.Conv"(%x, %w, %b)
%r = "onnx.Relu"(%y)
```
gets one pair on `%x` and one after `%r`: what lies between two pairs is one pass of the engines.

Cross-layer equalization comes first where the table has ranges per channel (`equalization.py`). Weights
are quantized by the lowering. Bias correction subtracts the mean quantization error of every result: as
measured on samples if the table has it, else the error of the weights times the mean of each input channel
[Nagel 2019, §4.2].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived, node_location, node_name, output_names
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import (
    AddOp,
    ClipOp,
    GemmOp,
    MatMulOp,
    MulOp,
    ReluOp,
    SigmoidOp,
    SoftmaxOp,
    SoftmaxV11Op,
    SumOp,
)
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import ROUNDED_RESULTS, Range, Ranges, read_calibration
from xonnc.formats.nvdla.quantization import INT8_MAX, covering
from xonnc.lowering.onnx_to_dla.builders.dla_builder import FLOATS, Array
from xonnc.lowering.onnx_to_dla.builders.kernels import quantize_kernels
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import (
    PASS_THROUGH,
    QdqPair,
    constant_op,
    elements,
    insert_pair,
    is_quantized,
    meets_padding,
)
from xonnc.lowering.onnx_to_dla.int8.lookup_regions import lookup_regions
from xonnc.lowering.onnx_to_dla.int8.saturation import varying_range
from xonnc.lowering.onnx_to_dla.int8.sums_functions import (
    SumsFunction,
    looks_up_sums,
    rounded_of,
    sums_functions,
)
from xonnc.lowering.onnx_to_dla.quantization.equalization import equalize
from xonnc.lowering.onnx_to_dla.quantization.group_equalization import equalize_groups
from xonnc.lowering.onnx_to_dla.quantization.keep_float import keep_float, stays_float
from xonnc.lowering.onnx_to_dla.quantization.negligible_weights import drop_negligible_weights
from xonnc.lowering.onnx_to_dla.quantization.propagate_qdq_onnx import propagate_pairs
from xonnc.lowering.onnx_to_dla.quantization.softmax_logits import are_logits
from xonnc.lowering.onnx_to_dla.quantization.statistic_ranges import statistics_among, widened
from xonnc.lowering.onnx_to_dla.quantization.value_ranges import ValueRanges
from xonnc.lowering.onnx_to_dla.quantization.weight_scales import coarsen_weight_scales
from xonnc.lowering.onnx_to_dla.quantization.widen_activations_onnx import (
    common_scales,
    mark,
    wide_qparams,
    widen,
)
from xonnc.targets import NvdlaTarget, load_target

CLAMPS = (ClipOp, ReluOp)
"""Ops that are fused into the following quantization."""

SCORE_REACH = 8.0
"""Beyond this and its negative a sigmoid is 0 and 1 but for less than a tenth of a step of 8 bits."""

MATRIX_RANK = 3
"""Dimensions of the factors of products with computed weights (`int8/computed_weights.py`)."""


@dataclass(frozen=True)
class QuantizeOnnx(ModulePass):
    """
    Insert QDQ pairs with the ranges of a calibration table.

    Values whose range is far from symmetric become `uint8` with a zero point, others symmetric `int8`; before
    an activation the range is that in which it varies. Weights stay floats; the lowering quantizes them per
    output channel. Where that would make biases coarse they are integers with scales of their own.
    Options: `table` is the file; `keep-float` names nodes that are not quantized. If the SDP of `target` has
    a lookup table (nv_large, nv_full), functions of a convolution's sums have no pair before them.
    """

    name = "quantize-onnx"

    table: str = ""
    keep_float: tuple[str, ...] = ()
    target: str = "nv_small"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.table:
            raise XonncError("quantize-onnx: table=FILE says which calibration table")
        keep_float(op, self.keep_float)
        target = load_target(self.target)
        quantize(op, read_calibration(Path(self.table)), DisposablePool.of(ctx), target)


def quantize(
    module: ModuleOp, ranges: Ranges, pool: DisposablePool, target: NvdlaTarget | None = None
) -> None:
    """
    Insert QDQ pairs into `module`, but around nodes that stay in float (`keep_float.py`).

    A `target` whose SDP has a lookup table takes activations of convolutions without a pair in between.

    Raises `XonncError` with all values that have no range, and for corrections that hold for other targets. A
    module that already has such pairs gets those that it lacks (`propagate_qdq_onnx.py`).
    """
    if is_quantized(module):
        propagate_pairs(module, pool, ranges, target)
        return
    _require_corrections_for(target, ranges)
    _insert_pairs(_equalize(module, ranges, pool), pool, looks_up_sums(target))


def _require_corrections_for(target: NvdlaTarget | None, ranges: Ranges) -> None:
    rounded = rounded_of(target)
    if any(each.rounded not in ("", rounded) for each in ranges.values()):
        name = "this target" if target is None else target.name
        own, others = ("after", "before") if rounded == ROUNDED_RESULTS else ("before", "after")
        raise XonncError(
            "the calibration table has bias corrections for targets that round a convolution to 8 bits "
            f"{others} its activation, {name} does {own} it; calibrate for {name}"
        )


def _equalize(module: ModuleOp, ranges: Ranges, pool: DisposablePool) -> list[tuple[FuncOp, ValueRanges]]:
    """Equalize the channels of `module`; return its functions with the ranges of their values."""
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    found = [(function, ValueRanges(function, ranges)) for function in functions]
    for function, known in found:
        equalize(function, known, pool)
        equalize_groups(function, known, pool)
    return found


def _insert_pairs(
    functions: Iterable[tuple[FuncOp, ValueRanges]], pool: DisposablePool, has_sums_lookup: bool = False
) -> None:
    """Insert QDQ pairs into functions whose channels are equalized."""
    missing: list[str] = []
    for function, known in functions:
        drop_negligible_weights(function, known, pool)
        missing += _PairInsertion(function, known, pool, has_sums_lookup).run()
        widen(function.body.block, pool)
        coarsen_weight_scales(function, pool)
    if missing:
        raise XonncError(
            f"no range in the calibration table for {', '.join(missing[:8])}"
            + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
            + "; calibrate with this model"
        )


def equalized(module: ModuleOp, ranges: Ranges) -> ModuleOp:
    """Return a copy of `module` with equalized channels, as `quantize` makes it, and its original biases."""
    twin = module.clone()
    _equalize(twin, ranges, DisposablePool())
    return twin


def equalized_and_quantized(
    module: ModuleOp, ranges: Ranges, has_sums_lookup: bool = False
) -> tuple[list[tuple[FuncOp, ValueRanges]], ModuleOp]:
    """
    Return the functions of a copy of a float `module` with equalized channels, with the ranges of their
    values, and a copy with QDQ pairs besides.
    """
    exact, pool = module.clone(), DisposablePool()
    functions = _equalize(exact, ranges, pool)
    values: dict[SSAValue, SSAValue] = {}
    rounded = exact.clone(values)
    copies = [op for op in rounded.walk() if isinstance(op, FuncOp)]
    _insert_pairs(
        [(copy, known.of_copy(copy, values)) for copy, (_, known) in zip(copies, functions, strict=True)],
        pool,
        has_sums_lookup,
    )
    return functions, rounded


def name_values(module: ModuleOp) -> None:
    """
    Name every value that has no ONNX name after the node that produces it.

    If several ops derive from one node, those that get names here become nodes of their own: onnxruntime
    rejects two nodes of one name with different outputs.
    """
    taken = {name for op in module.walk() for name in output_names(op)}
    nodes = {node_name(op) for op in module.walk() if output_names(op)}
    for number, op in enumerate(module.walk()):
        if not isinstance(op, OnnxOp) or isinstance(op, NoValueOp) or not op.results or output_names(op):
            continue
        stem = node_name(op) or f"{op.name.removeprefix('onnx.')}_{number}"
        names = [f"{stem}_out{index or ''}" for index in range(len(op.results))]
        names = [name if name not in taken else f"{name}_{number}" for name in names]
        taken.update(names)
        node = node_name(op)
        op.location = node_location(f"{node}_{number}" if node and node in nodes else node, names)
        nodes.add(node)


class _PairInsertion:
    """Inserts the pairs of one function."""

    def __init__(self, function: FuncOp, ranges: ValueRanges, pool: DisposablePool, has_sums_lookup: bool):
        self._block: Block = function.body.block
        self._ranges = ranges
        self._pool = pool
        self._has_sums_lookup = has_sums_lookup
        self._pairs: dict[SSAValue | None, QdqPair] = {}
        """By the value after the pair."""
        self._roots: dict[SSAValue, SSAValue] = {}
        """The root of the lookup region of each value."""
        self._statistics: set[SSAValue] = set()
        self._alike = common_scales(self._block) if self._has_wide() else {}
        self._unknown: set[SSAValue | None] = set()
        self._missing: list[str] = []

    def run(self) -> list[str]:
        """Insert the pairs; return the names of values without a range."""
        values = [
            value for value in self._values() if is_ranked(value.type) and element_type(value.type) in FLOATS
        ]
        self._statistics = statistics_among(values)
        later = self._quantized_by_reader(values)
        regions = [
            region for region in lookup_regions(self._block) if not any(map(_meets_float, region.inner))
        ]
        for region in regions:
            self._roots |= dict.fromkeys((region.root, *region.inner), region.root)
        later -= {region.root for region in regions}
        later |= {value for region in regions for value in region.inner}
        if self._has_sums_lookup:
            later |= {
                found.sums for found in sums_functions(self._block, regions) if self._is_tabulated(found)
            }
        biases = [(op, bias) for op in self._block.ops if (bias := self._corrected_bias(op)) is not None]
        for value in values:
            if value not in later and not _is_float(value):
                self._insert_pair(value)
        for op, bias in biases:
            constant = constant_op(bias, derived(op.location), self._pool)
            Builder(InsertPoint.before(op)).insert(constant)
            op.operands[2] = constant.output
        return self._missing

    def _is_tabulated(self, found: SumsFunction) -> bool:
        pair = None if _meets_float(found.sums) else self._pair(found.result)
        return pair is not None and found.is_tabulated(pair.qparams)

    def _corrected_bias(self, op: Operation) -> Array | None:
        """Return the bias of a convolution or Gemm less the mean error of quantization (bias correction)."""
        if not isinstance(op, ConvOp | GemmOp) or stays_float(op):
            return None
        weights, given = elements(op.operands[1]), elements(op.operands[2])
        found = self._ranges.of(op.operands[0])
        if weights is None or found is None or (given is None and op.operands[2].type != NONE):
            return None
        rows = weights.T if isinstance(op, GemmOp) and not op.transB.value.data else weights
        groups = op.group.value.data if isinstance(op, ConvOp) else 1
        is_plain = isinstance(op, ConvOp) or (op.alpha.value.data == op.beta.value.data == 1.0)
        if not is_plain or rows.shape[1] * groups != len(found.means):
            return None
        if given is not None and given.size != rows.shape[0]:
            return None
        bias = np.zeros(rows.shape[0], np.float32) if given is None else given.reshape(-1)
        made = self._ranges.of(op.results[0])
        if made is not None and len(made.bias_corrections) == bias.size:
            return (bias - np.array(made.bias_corrections)).astype(np.float32)
        change = quantize_kernels(rows).numbers - rows
        taps = change.reshape(groups, rows.shape[0] // groups, rows.shape[1], -1).sum(axis=3)
        means = np.array(found.means).reshape(groups, rows.shape[1], 1)
        return (bias - (taps @ means).reshape(-1)).astype(np.float32)

    def _values(self) -> Iterator[SSAValue]:
        """Yield computed values in order."""
        yield from self._block.args
        for op in list(self._block.ops):
            if isinstance(op, OnnxOp) and not isinstance(op, ConstantOp | NoValueOp | ReturnOp):
                yield from op.results

    def _quantized_by_reader(self, values: Sequence[SSAValue]) -> set[SSAValue]:
        """
        Return values that their only reader takes before they are quantized: inputs of clamps and
        concatenations, and of a sum's operands the one that is computed last.
        """
        later: set[SSAValue] = set()
        sums: set[Operation] = set()
        for value in reversed(values):
            if not isinstance(value, OpResult) or not value.has_one_use() or _meets_float(value):
                continue
            if self._is_wide(value):
                continue
            use = next(iter(value.uses))
            reader = use.operation
            if isinstance(reader, ConcatOp) or (isinstance(reader, CLAMPS) and use.index == 0):
                later.add(value)
            elif isinstance(reader, AddOp | SumOp) and _takes(reader, value.op) and reader not in sums:
                sums.add(reader)
                later.add(value)
        return later

    def _insert_pair(self, value: SSAValue) -> None:
        pair = self._pair(value)
        if pair is None:
            self._unknown.add(value)
            if not (isinstance(value, OpResult) and _source(value.op) in self._unknown):
                self._missing.append(f"'{self._ranges.name(value)}'")
            return
        read = insert_pair(value, pair, self._pool)
        self._pairs[read] = pair
        if self._is_wide(value):
            mark(read)

    def _has_wide(self) -> bool:
        return any(self._is_wide(result) for op in self._block.ops for result in op.results)

    def _is_wide(self, value: SSAValue) -> bool:
        found = self._ranges.of(value)
        return found is not None and found.is_wide

    def _pair(self, value: SSAValue) -> QdqPair | None:
        if isinstance(value, OpResult):
            if (source := _source(value.op)) in self._pairs:
                return self._pairs[source]
        found = self._ranges.of(value)
        if isinstance(value, OpResult) and isinstance(value.op, SoftmaxOp | SoftmaxV11Op):
            # The CPU emulator supports no zero point: probabilities use [0, 127].
            return QdqPair(min(found.largest if found else 1.0, 1.0) / INT8_MAX)
        if found is not None and element_type(value.type) == f32 and are_logits(value):
            # Softmax is invariant to a constant added to all logits: center the range at zero.
            reach = (found.largest - found.least) / 2
            return QdqPair((reach or 1.0) / INT8_MAX, centre=(found.largest + found.least) / 2)
        if found is None:
            return None
        is_symmetric = meets_padding(value) or self._is_factor(value)
        alike = [self._ranges.of(each) for each in self._alike.get(value, (value,))]
        if found.is_wide or (any(each is not None and each.is_wide for each in alike) and not is_symmetric):
            return QdqPair.of(wide_qparams([each for each in alike if each is not None]))
        if value in self._statistics:
            found = widened(value, found)
        found = _of_any_score(value, found)
        covered = varying_range(value, found)
        return QdqPair.of(covering(covered.least, covered.largest, is_symmetric))

    def _is_factor(self, value: SSAValue) -> bool:
        """
        Whether the value reaches a product in the SDP, which subtracts the zero point of one factor: that of
        the larger; or one of two matrices, which has none.
        """
        return any(
            self._multiplies(use.operation, value)
            or _is_product_of_matrices(use.operation)
            or (isinstance(use.operation, PASS_THROUGH) and self._is_factor(use.operation.results[0]))
            for use in value.uses
        )

    def _multiplies(self, op: Operation, value: SSAValue) -> bool:
        """Whether `op` multiplies the value by another computed one of at least its size."""
        if not isinstance(op, MulOp):
            return False
        other = op.B if op.A is value else op.A
        root = self._roots.get(value)
        if elements(other) is not None or (root is not None and self._roots.get(other) is root):
            return False
        sizes = [static_shape(each.type) for each in (value, other)]
        return None in sizes or prod(sizes[0] or ()) <= prod(sizes[1] or ())


def _is_product_of_matrices(op: Operation) -> bool:
    """Whether NVDLA may take an operator as a convolution with computed weights."""
    return (
        isinstance(op, MatMulOp)
        and elements(op.B) is None
        and all((static_shape(factor.type) or ())[:1] == (1,) for factor in op.operands)
        and all(len(static_shape(factor.type) or ()) == MATRIX_RANK for factor in op.operands)
    )


def _of_any_score(value: SSAValue, found: Range) -> Range:
    """
    Return the range of a score of the network, or of what its sigmoid reads, with those that samples lack: a
    detector's samples may show no object of a class or a size.
    """
    if _is_score(value):
        return replace(found, least=min(found.least, 0.0), largest=max(found.largest, 1.0))
    if value.first_use is not None and all(
        isinstance(use.operation, SigmoidOp) and _is_score(use.operation.Y) for use in value.uses
    ):
        least, largest = min(found.least, -SCORE_REACH), max(found.largest, SCORE_REACH)
        return replace(found, least=least, largest=largest)
    return found


def _is_score(value: SSAValue) -> bool:
    """Whether a value is a sigmoid's that reaches outputs of the network alone."""
    return isinstance(value.owner, SigmoidOp) and _reaches_outputs(value)


def _reaches_outputs(value: SSAValue) -> bool:
    return value.first_use is not None and all(
        isinstance(use.operation, ReturnOp)
        or (
            isinstance(use.operation, (*PASS_THROUGH, ConcatOp))
            and all(_reaches_outputs(result) for result in use.operation.results)
        )
        for use in value.uses
    )


def _meets_float(value: SSAValue) -> bool:
    """Whether an operator that stays in float makes or reads the value."""
    return stays_float(value.owner) or any(stays_float(use.operation) for use in value.uses)


def _is_float(value: SSAValue) -> bool:
    """Whether no quantized operator makes or reads the value."""
    is_made = stays_float(value.owner) or isinstance(value, BlockArgument)
    readers = [use.operation for use in value.uses]
    are_read = all(stays_float(reader) or isinstance(reader, ReturnOp) for reader in readers)
    return is_made and are_read and _meets_float(value)


def _takes(total: Operation, op: Operation) -> bool:
    """
    Whether a sum can add the result of `op` before it is quantized, in the same SDP pass. A grouped
    convolution may be several layers, each of which can add its channels of a cube, but not of constants.
    What is broadcast is an operand of the pass, which reads it quantized.
    """
    if static_shape(op.results[0].type) != static_shape(total.results[0].type):
        return False
    if isinstance(op, ConvOp) and op.group.value.data > 1:
        return len(total.operands) == 2 and all(elements(value) is None for value in total.operands)
    return isinstance(op, ConvOp | GemmOp | MatMulOp)


def _source(op: Operation) -> SSAValue | None:
    """Return the operand whose elements an op passes on, or `None`."""
    return op.operands[0] if isinstance(op, PASS_THROUGH) else None
