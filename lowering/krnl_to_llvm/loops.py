"""
Lower kernel bodies: krnl loops become basic blocks, and innermost loops are vectorised where legal.

An innermost loop is vectorised if all its accesses are contiguous, of small stride, or loop-invariant. The
remaining iterations, fewer than a vector has lanes, become one shorter vector. Loop-carried values that are
reductions (sum, product, minimum, maximum) become vectors too, whose lanes are reduced after the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, IntegerType, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp, SubviewOp
from xonnc.dialects.krnl.int8_tiles import Int8ConvOp, StoredOp
from xonnc.dialects.krnl.loops import DefineLoopsOp, IterateOp, YieldOp
from xonnc.dialects.krnl.memory import (
    CallOp,
    GlobalOp,
    LoadOp,
    LookUpOp,
    SameBufferOp,
    StoreOp,
    TransposeOp,
    element_of,
    shape_of,
)
from xonnc.dialects.krnl.quantized_tiles import DequantizeGemmOp, QuantizedGemmOp
from xonnc.dialects.krnl.tiles import ConvOp, GemmOp
from xonnc.dialects.krnl.types import is_buffer, is_integer
from xonnc.lowering.krnl_to_llvm import scalar_ops
from xonnc.lowering.krnl_to_llvm.byte_lookup import look_up
from xonnc.lowering.krnl_to_llvm.conv import emit_conv
from xonnc.lowering.krnl_to_llvm.conv_tiles import StridedBuffer
from xonnc.lowering.krnl_to_llvm.dequantize_gemm import emit_dequantize_gemm
from xonnc.lowering.krnl_to_llvm.gemm import emit_gemm
from xonnc.lowering.krnl_to_llvm.int8_conv import Epilogue, emit_int8_conv
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, lanes_of
from xonnc.lowering.krnl_to_llvm.llvm_ops import POINTER, vector_of
from xonnc.lowering.krnl_to_llvm.quantized_gemm import emit_quantized_gemm
from xonnc.lowering.krnl_to_llvm.transpose import transpose
from xonnc.lowering.krnl_to_llvm.vectorization import (
    IndexStride,
    access_stride,
    buffer_strides,
    index_strides,
    loop_reductions,
    neutral_element,
    vector_lanes,
)

INDEX = IndexType()

TileOp: TypeAlias = GemmOp | DequantizeGemmOp | QuantizedGemmOp | ConvOp | Int8ConvOp
"""Operations in register tiles."""

PARTIAL_RESULTS = 4
"""
Vectors of partial results of a reduction.

An addition needs the result of the one before it, which takes three or four cycles; two start in each.
"""

MAX_LANES_OF_WORDS = 16
"""Lanes of 32 bits of the longest vectors: those of more lanes are of narrower elements."""

MAX_CHEAP_OPERATIONS = 4
"""An iteration with more operations takes as long as an addition."""

CHEAP_OPERATIONS = (
    arith.AddfOp,
    arith.AddiOp,
    arith.CmpfOp,
    arith.CmpiOp,
    arith.MaximumfOp,
    arith.MaxSIOp,
    arith.MaxUIOp,
    arith.MinimumfOp,
    arith.MinSIOp,
    arith.MinUIOp,
    arith.MulfOp,
    arith.SelectOp,
    arith.SubfOp,
    math.AbsFOp,
)
"""Operations of which a core starts one or two vectors in each cycle."""


class BodyLowering:
    """Lower the operations of a kernel; `values` maps each krnl value to its LLVM value."""

    def __init__(self, builder: LLVMBuilder, vector_bytes: int) -> None:
        self.builder = builder
        self.vector_bytes = vector_bytes
        self.values: dict[SSAValue, SSAValue] = {}
        self._strides: dict[SSAValue, Sequence[int | SSAValue]] = {}
        """The strides of buffers of dynamic shape, in elements."""

    def block(
        self, block: Block, lanes: int = 0, steps: Mapping[SSAValue, IndexStride] | None = None
    ) -> None:
        """Lower a block; if `lanes`, accesses with a stride in `steps` become vector accesses."""
        for op in block.ops:
            if type(op) in scalar_ops.KINDS:
                self.values[op.results[0]] = self.scalar_op(op)
            else:
                self.operation(op, lanes, steps)

    def operation(self, op: Operation, lanes: int, steps: Mapping[SSAValue, IndexStride] | None) -> None:
        """Lower an operation, as `block` does."""
        match op:
            case LoadOp():
                step = 0 if steps is None else access_stride(op.memref, op.indices, steps)
                address = self.address(op.memref, op.indices)
                element = element_of(op.memref)
                self.values[op.result] = (
                    self.builder.load_strided(address, element, lanes, step)
                    if step
                    else self.builder.load(address, element)
                )
            case StoreOp():
                value = self.builder.splat(self.values[op.value], lanes)
                self.builder.store(value, self.address(op.memref, op.indices))
            case IterateOp():
                self.iterate(op)
            case GemmOp() | DequantizeGemmOp() | QuantizedGemmOp() | ConvOp() | Int8ConvOp():
                self.tile(op)
            case TransposeOp():
                self.transpose(op)
            case arith.IndexCastOp() if steps is not None and (step := steps.get(op.input, 0)):
                first = self.builder.splat(self.index_cast(op), lanes)
                numbers = self.builder.constants([lane * int(step) for lane in range(lanes)], op.result.type)
                self.values[op.result] = self.builder.iadd(first, numbers)
            case ShapedOp() | SubviewOp():
                self.view(op)
            case CallOp():
                self.call(op)
            case GlobalOp():
                self.values[op.output] = self.builder.add(llvm.AddressOfOp(op.symbol, POINTER))
            case DefineLoopsOp():
                pass
            case _ if len(op.results) == 1:
                self.values[op.results[0]] = self.scalar_op(op)
            case _:
                pass

    def tile(self, op: TileOp) -> None:
        """Lower a tile operation: GEMM, convolution or int8 convolution."""
        match op:
            case GemmOp():
                sizes = [self.values[size] for size in op.dynamic_sizes]
                emit_gemm(
                    self.builder, op, self._buffers(op), self._iteration_range(op), self.vector_bytes, sizes
                )
            case DequantizeGemmOp():
                sizes = [self.values[size] for size in op.dynamic_sizes]
                emit_dequantize_gemm(
                    self.builder, op, self._buffers(op), self._iteration_range(op), self.vector_bytes, sizes
                )
            case QuantizedGemmOp():
                sizes = [self.values[size] for size in op.dynamic_sizes]
                emit_quantized_gemm(self.builder, op, self._buffers(op), self._iteration_range(op), sizes)
            case ConvOp():
                sizes = [self.values[size] for size in op.dynamic_sizes]
                epilogue = None if op.epilogue is None else self._scalar_function(op.epilogue)
                emit_conv(self.builder, op, self._memory(op), self._iteration_range(op), sizes, epilogue)
            case Int8ConvOp():
                sizes = [self.values[size] for size in op.dynamic_sizes]
                iterations, epilogue = self._iteration_range(op), self._epilogue_of(op)
                emit_int8_conv(self.builder, op, self._memory(op), iterations, sizes, epilogue)

    def _scalar_function(self, region: Region) -> Callable[[SSAValue, int], SSAValue]:
        """Return a function that lowers a region of one scalar argument elementwise on a vector."""
        end = region.block.last_op
        assert end is not None

        def results(vector: SSAValue, lanes: int) -> SSAValue:
            self.values[region.block.args[0]] = vector
            self.block(region.block, lanes)
            return self.builder.splat(self.values[end.operands[0]], lanes)

        return results

    def view(self, op: ShapedOp | SubviewOp) -> None:
        """Lower a view: the address of the (sub)buffer, and its strides from dynamic dimensions."""
        pointer = self.values[op.source]
        if isinstance(op, SubviewOp):
            stride = (self._strides.get(op.source) or buffer_strides(op.source))[0]
            assert stride is not None
            offset = self.builder.imul(self.values[op.index], stride)
            pointer = self.builder.address(pointer, offset, element_of(op.source))
        self.values[op.result] = pointer
        sizes = iter([self.values[size] for size in reversed(op.sizes)])
        strides: list[int | SSAValue] = []
        step: int | SSAValue = 1
        for size in reversed(shape_of(op.result)):
            strides.insert(0, step)
            step = self.builder.mul_sizes(step, next(sizes) if size == DYNAMIC_INDEX else size)
        self._strides[op.result] = strides

    def call(self, op: CallOp) -> None:
        """Lower a call of another kernel; if that has a parallel range, with all iterations."""
        arguments = [self.values[each] for each in op.parameters]
        if op.iterations is not None:
            arguments += [self.builder.constant(0), self.builder.constant(op.iterations.value.data)]
        elif op.iterations_parameter is not None:
            arguments += [self.builder.constant(0), arguments[op.iterations_parameter.value.data]]
        results = self.builder.call_function(
            op.func_name.data, arguments, [each.type for each in op.returned]
        )
        self.values.update(zip(op.returned, results, strict=True))

    def transpose(self, op: TransposeOp) -> None:
        """Lower the transposition of a square of elements, one vector per row."""
        element = element_of(op.dest)
        element = IntegerType(8) if element == i1 else element
        size = op.size.value.data
        target, source = self.address(op.dest, op.dest_indices), self.address(op.src, op.src_indices)
        given = iter([self.values[stride] for stride in op.dynamic_strides])
        after, before = (
            next(given) if stride == DYNAMIC_INDEX else int(stride) for stride in op.strides.get_values()
        )
        rows = [
            self.builder.load(
                self.builder.address(source, self.builder.mul_sizes(before, row), element), element, size
            )
            for row in range(size)
        ]
        for number, column in enumerate(transpose(self.builder, rows)):
            self.builder.store(
                column, self.builder.address(target, self.builder.mul_sizes(after, number), element)
            )

    def _epilogue_of(self, op: Int8ConvOp) -> Epilogue:
        """Return a function that lowers the epilogue of an int8 convolution for vectors of sums."""
        body = op.rest.block
        end = body.last_op
        assert isinstance(end, StoredOp)

        def epilogue(vectors: Sequence[SSAValue]) -> SSAValue:
            self.values.update(zip(body.args, vectors, strict=True))
            self.block(body)
            return self.builder.splat(self.values[end.value], lanes_of(vectors[0]))

        return epilogue

    def _buffers(self, op: TileOp) -> list[SSAValue]:
        return [self.values[value] for value in op.operands if is_buffer(value.type)]

    def _memory(self, op: TileOp) -> list[StridedBuffer]:
        """Return the address of each buffer of an operation, and the distance of elements on each axis."""
        return [(self.values[value], self.strides(value)) for value in op.operands if is_buffer(value.type)]

    def _iteration_range(self, op: TileOp) -> tuple[SSAValue, SSAValue]:
        """Return begin and end of the parallel range of an operation."""
        if op.range:
            return self.values[op.range[0]], self.values[op.range[1]]
        return self.builder.constant(0), self.builder.constant(op.iterations)

    def scalar_op(self, op: Operation) -> SSAValue:
        """Lower a scalar or index operation; an index has 64 bits."""
        match op:
            case arith.ConstantOp(value=IntegerAttr(value=value)) if op.result.type == INDEX:
                return self.builder.constant(value.data)
            case arith.IndexCastOp():
                return self.index_cast(op)
            case LookUpOp():
                shuffle = "" if op.shuffle is None else op.shuffle.data
                return look_up(self.builder, self.values[op.table], self.values[op.byte], shuffle)
            case SameBufferOp():
                addresses = [
                    self.builder.add(llvm.PtrToIntOp(self.values[each], i64)) for each in op.operands
                ]
                return self.builder.icmp("eq", *addresses)
            case _:
                return scalar_ops.emit(self.builder, op, [self.values[value] for value in op.operands])

    def index_cast(self, op: arith.IndexCastOp) -> SSAValue:
        """Lower a cast between index and integer: sign-extend or truncate."""
        value = self.values[op.input]
        widths = [
            type_.width.data if is_integer(type_) else i64.width.data
            for type_ in (op.input.type, op.result.type)
        ]
        if widths[0] == widths[1]:
            return value
        kind = llvm.SExtOp if widths[0] < widths[1] else llvm.TruncOp
        return self.builder.add(kind(value, IntegerType(widths[1])))

    def strides(self, buffer: SSAValue) -> Sequence[int | SSAValue]:
        """Return the distance of elements of a buffer along each axis."""
        return self._strides.get(buffer) or [stride or 0 for stride in buffer_strides(buffer)]

    def address(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Return the address of the element at `indices`."""
        offset: SSAValue | None = None
        for index, stride in zip(indices, self.strides(buffer), strict=True):
            part = self.builder.imul(self.values[index], stride)
            offset = part if offset is None else self.builder.iadd(offset, part)
        pointer = self.values[buffer]
        return pointer if offset is None else self.builder.address(pointer, offset, element_of(buffer))

    def iterate(self, op: IterateOp) -> None:
        """Lower a loop nest, outermost loop first."""
        bounds = [(lower, upper) for _, lower, upper in op.input_loops()]
        results = self._nest(op, bounds, 0, [self.values[value] for value in op.iter_args])
        self.values.update(zip(op.returned, results, strict=True))

    def _nest(
        self,
        op: IterateOp,
        bounds: Sequence[tuple[int | SSAValue, int | SSAValue]],
        depth: int,
        carried: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        if depth == len(bounds) - 1:
            return self._innermost(op, bounds[depth], carried)

        def body_of_loop(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.values[op.body.block.args[depth]] = index
            return self._nest(op, bounds, depth + 1, carried)

        lower, upper = map(self._bound, bounds[depth])
        return self.builder.loop(lower, upper, 1, carried, body_of_loop)

    def _bound(self, end: int | SSAValue) -> SSAValue:
        return self.builder.constant(end) if isinstance(end, int) else self.values[end]

    def _innermost(
        self, op: IterateOp, bounds: tuple[int | SSAValue, int | SSAValue], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        lower, upper = bounds
        lanes = vector_lanes(op, self.vector_bytes)
        if lanes < 2:
            return self._scalar_or_vector_loop(op, (self._bound(lower), self._bound(upper)), 0, carried)
        if not isinstance(lower, int) or not isinstance(upper, int):
            return self._dynamic_vector_loop(op, self._bound(lower), self._bound(upper), lanes, carried)
        vector_end = lower + (upper - lower) // lanes * lanes
        if vector_end > lower:
            carried = self._vector_loop(op, lower, vector_end, lanes, carried)
        if upper - vector_end > 1:
            return self._vector_loop(op, vector_end, upper, upper - vector_end, carried)
        if upper > vector_end:
            return self._scalar_or_vector_loop(
                op, (self.builder.constant(vector_end), self.builder.constant(upper)), 0, carried, True
            )
        return carried

    def _dynamic_vector_loop(
        self, op: IterateOp, lower: SSAValue, upper: SSAValue, lanes: int, carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """
        Vectorise a loop of dynamic bounds; the remaining iterations run as a scalar loop.

        If that takes long, as with exponentials in each row of a softmax or up to 63 bytes of each row of an
        image, vectors of a quarter come between.
        """
        for width in _widths(op, lanes):
            count = self.builder.add(llvm.SubOp(upper, lower))
            # For an empty range the end may be less than the start; the division truncates towards zero.
            vectors = self.builder.add(llvm.SDivOp(count, self.builder.constant(width)))
            vector_end = self.builder.iadd(lower, self.builder.imul(vectors, width))
            carried = self._vector_loop(op, lower, vector_end, width, carried)
            lower = vector_end
        return self._scalar_or_vector_loop(op, (lower, upper), 0, carried)

    def _scalar_or_vector_loop(
        self,
        op: IterateOp,
        bounds: tuple[SSAValue, SSAValue],
        lanes: int,
        carried: Sequence[SSAValue],
        is_single: bool = False,
        copies: int = 1,
    ) -> Sequence[SSAValue]:
        """
        Emit the innermost loop with a step of `lanes`; `is_single` if it has exactly one iteration.

        Each step has as many `copies` of the body, one after the other, with carried values of their own.
        """
        lower, upper = bounds
        body = op.body.block
        own = len(carried) // copies
        first_carried = len(body.args) - own
        index = body.args[first_carried - 1]
        steps = index_strides(body, index) if lanes else None

        def body_of_loop(found: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            end = body.last_op
            yielded = end.operands if isinstance(end, YieldOp) else ()
            results: list[SSAValue] = []
            for copy in range(copies):
                self.values[index] = (
                    self.builder.iadd(found, self.builder.constant(copy * lanes)) if copy else found
                )
                values = carried[copy * own : (copy + 1) * own]
                self.values.update(zip(body.args[first_carried:], values, strict=True))
                self.block(body, lanes, steps)
                results += [self.builder.splat(self.values[value], lanes) for value in yielded]
            return results

        if is_single:
            return body_of_loop(lower, carried)
        return self.builder.loop(lower, upper, copies * (lanes or 1), carried, body_of_loop)

    def _vector_loop(
        self,
        op: IterateOp,
        lower: int | SSAValue,
        upper: int | SSAValue,
        lanes: int,
        carried: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Emit a vector loop; reductions start from the neutral element and are combined after the loop."""
        reductions = [reduction for reduction in loop_reductions(op) if reduction is not None]
        starts = [
            self.builder.constant(neutral_element(reduction), vector_of(value.type, lanes))
            for value, reduction in zip(carried, reductions, strict=True)
        ]
        if _is_bound_by_latency(op):
            lower, starts = self._with_partial_results(op, lower, upper, lanes, starts)
        bounds = self.builder.size(lower), self.builder.size(upper)
        is_single = isinstance(lower, int) and isinstance(upper, int) and upper - lower == lanes
        ends = starts if lower == upper else self._scalar_or_vector_loop(op, bounds, lanes, starts, is_single)
        return [
            scalar_ops.emit(self.builder, reduction, [value, self._reduce_lanes(end, reduction)])
            for value, end, reduction in zip(carried, ends, reductions, strict=True)
        ]

    def _with_partial_results(
        self,
        op: IterateOp,
        lower: int | SSAValue,
        upper: int | SSAValue,
        lanes: int,
        starts: Sequence[SSAValue],
    ) -> tuple[int | SSAValue, Sequence[SSAValue]]:
        """Emit the steps of a reduction that fill all partial results; return their end and the results."""
        step = PARTIAL_RESULTS * lanes
        if isinstance(lower, int) and isinstance(upper, int):
            middle = lower + (upper - lower) // step * step
            if middle == lower:
                return lower, starts
        else:
            begin = self.builder.size(lower)
            steps = llvm.SDivOp(
                self.builder.add(llvm.SubOp(self.builder.size(upper), begin)), self.builder.constant(step)
            )
            middle = self.builder.iadd(begin, self.builder.imul(self.builder.add(steps), step))
        bounds = self.builder.size(lower), self.builder.size(middle)
        is_single = isinstance(middle, int) and isinstance(lower, int) and middle - lower == step
        ends = self._scalar_or_vector_loop(
            op, bounds, lanes, [*starts] * PARTIAL_RESULTS, is_single, PARTIAL_RESULTS
        )
        own = len(starts)
        results: list[SSAValue] = []
        for number, reduction in enumerate(loop_reductions(op)):
            assert reduction is not None
            parts = list(ends[number::own])
            while len(parts) > 1:
                pairs = zip(parts[::2], parts[1::2], strict=True)
                parts = [scalar_ops.emit(self.builder, reduction, list(pair)) for pair in pairs]
            results += parts
        return middle, results

    def _reduce_lanes(self, vector: SSAValue, reduction: Operation) -> SSAValue:
        """Reduce the lanes of a vector, by two equal parts while their number is even, then one by one."""
        while lanes_of(vector) > 1 and lanes_of(vector) % 2 == 0:
            half = lanes_of(vector) // 2
            parts = [self.builder.shuffle(vector, range(start, start + half)) for start in (0, half)]
            vector = scalar_ops.emit(self.builder, reduction, parts)
        total = self.builder.lane(vector, 0)
        for lane in range(1, lanes_of(vector)):
            total = scalar_ops.emit(self.builder, reduction, [total, self.builder.lane(vector, lane)])
        return total


def _widths(op: IterateOp, lanes: int) -> list[int]:
    """Return the lanes of the vectors of a loop of dynamic bounds, in decreasing order."""
    is_narrow = lanes > MAX_LANES_OF_WORDS
    if not _is_repeated(op) or lanes < 2 * 4 or (_has_only_cheap_operations(op) and not is_narrow):
        return [lanes]
    return [lanes, lanes // 4, lanes // 16] if lanes > 4 * 8 else [lanes, lanes // 4]


def _is_bound_by_latency(op: IterateOp) -> bool:
    """Whether an iteration of a reduction takes less time than the addition that the next one needs."""
    return (
        bool(op.returned)
        and len(_operations_on_elements(op)) <= MAX_CHEAP_OPERATIONS
        and _has_only_cheap_operations(op)
    )


def _is_repeated(op: IterateOp) -> bool:
    """Whether the innermost loop of a nest is within another loop."""
    return len(list(op.input_loops())) > 1 or isinstance(op.parent_op(), IterateOp)


def _has_only_cheap_operations(op: IterateOp) -> bool:
    return all(isinstance(each, CHEAP_OPERATIONS) for each in _operations_on_elements(op))


def _operations_on_elements(op: IterateOp) -> list[Operation]:
    operations = [
        each for each in op.body.block.ops if each.results and not isinstance(each, LoadOp | arith.ConstantOp)
    ]
    return [each for each in operations if not isinstance(each.results[0].type, IndexType)]
