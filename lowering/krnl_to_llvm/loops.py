"""
Loops of krnl as blocks, the innermost in vectors.

An innermost loop becomes vectors when every element it reads or writes lies beside the last iteration's, or
is the same for all iterations; the rest of its iterations, fewer than a vector has lanes, are one shorter
vector. What a loop takes over from iteration to iteration becomes a vector too if it is a sum, product or
extreme; its lanes are brought together behind the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, IntegerType, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from xonnc.dialects.krnl.dynamic_shapes import PartOp, ShapedOp
from xonnc.dialects.krnl.int8_tiles import ByteConvOp, StoredOp
from xonnc.dialects.krnl.loops import DefineLoopsOp, IterateOp, YieldOp
from xonnc.dialects.krnl.memory import CallOp, GlobalOp, LoadOp, StoreOp, TransposeOp, element_of, shape_of
from xonnc.dialects.krnl.tiles import ConvOp, GemmOp
from xonnc.dialects.krnl.types import is_buffer, is_integer
from xonnc.lowering.krnl_to_llvm import scalar_ops
from xonnc.lowering.krnl_to_llvm.conv import emit_conv
from xonnc.lowering.krnl_to_llvm.gemm import emit_gemm
from xonnc.lowering.krnl_to_llvm.int8_conv import Rest, emit_byte_conv
from xonnc.lowering.krnl_to_llvm.llvm_builder import POINTER, Emitter, lanes_of, vector_of
from xonnc.lowering.krnl_to_llvm.transpose import transposed
from xonnc.lowering.krnl_to_llvm.vectorization import (
    Step,
    index_steps,
    lanes_for,
    neutral,
    reductions_of,
    step_of,
    strides_of,
)

INDEX = IndexType()


class BodyEmitter:
    """Writes the ops of a kernel; knows what each value of krnl became."""

    def __init__(self, to: Emitter, vector_bytes: int) -> None:
        self.to = to
        self.vector_bytes = vector_bytes
        self.values: dict[SSAValue, SSAValue] = {}
        self._strides: dict[SSAValue, Sequence[int | SSAValue]] = {}
        """Elements between neighbours, by axis, of buffers whose sizes only a run tells."""

    def block(self, block: Block, lanes: int = 0, steps: Mapping[SSAValue, Step] | None = None) -> None:
        """All ops of a block; where `lanes`, what moves by `steps` is read and written in vectors."""
        for op in block.ops:
            match op:
                case IterateOp():
                    self.iterate(op)
                case LoadOp():
                    step = 0 if steps is None else step_of(op.memref, op.indices, steps)
                    place = self.place(op.memref, op.indices)
                    element = element_of(op.memref)
                    self.values[op.result] = (
                        self.to.load_stepped(place, element, lanes, step)
                        if step
                        else self.to.load(place, element)
                    )
                case StoreOp():
                    value = self.to.splat(self.values[op.value], lanes)
                    self.to.store(value, self.place(op.memref, op.indices))
                case GemmOp() | ConvOp() | ByteConvOp():
                    self.tile(op)
                case TransposeOp():
                    self.transpose(op)
                case ShapedOp() | PartOp():
                    self.view(op)
                case CallOp():
                    self.call(op)
                case GlobalOp():
                    self.values[op.output] = self.to.add(llvm.AddressOfOp(op.symbol, POINTER))
                case DefineLoopsOp():
                    pass
                case _ if len(op.results) == 1:
                    self.values[op.results[0]] = self.number(op)
                case _:
                    pass

    def tile(self, op: GemmOp | ConvOp | ByteConvOp) -> None:
        """A tile of a product or a convolution."""
        match op:
            case GemmOp():
                sizes = [self.values[size] for size in op.dynamic_sizes]
                emit_gemm(self.to, op, self._buffers(op), self._turns_of(op), self.vector_bytes, sizes)
            case ConvOp():
                images = [self.values[count] for count in op.images]
                epilogue = None if op.epilogue is None else self._function(op.epilogue)
                emit_conv(self.to, op, self._buffers(op), self._turns_of(op), images, epilogue)
            case ByteConvOp():
                sizes = [self.values[size] for size in op.dynamic_sizes]
                turns, rest = self._turns_of(op), self._rest_of(op)
                emit_byte_conv(self.to, op, self._buffers(op), turns, sizes, rest)

    def _function(self, region: Region) -> Callable[[SSAValue, int], SSAValue]:
        """Writes the ops of a function of one number, for a vector of numbers."""
        end = region.block.last_op
        assert end is not None

        def results(vector: SSAValue, lanes: int) -> SSAValue:
            self.values[region.block.args[0]] = vector
            self.block(region.block, lanes)
            return self.to.splat(self.values[end.operands[0]], lanes)

        return results

    def view(self, op: ShapedOp | PartOp) -> None:
        """Where a buffer, or a part of it, begins; its strides from the sizes of the run."""
        pointer = self.values[op.source]
        if isinstance(op, PartOp):
            apart = (self._strides.get(op.source) or strides_of(op.source))[0]
            assert apart is not None
            place = self.to.scaled(self.values[op.place], apart)
            pointer = self.to.address(pointer, place, element_of(op.source))
        self.values[op.result] = pointer
        sizes = iter([self.values[size] for size in reversed(op.sizes)])
        strides: list[int | SSAValue] = []
        step: int | SSAValue = 1
        for size in reversed(shape_of(op.result)):
            strides.insert(0, step)
            step = self.to.times(step, next(sizes) if size == DYNAMIC_INDEX else size)
        self._strides[op.result] = strides

    def call(self, op: CallOp) -> None:
        """Another kernel, with the whole range of iterations if it takes one."""
        arguments = [self.values[each] for each in op.parameters]
        if op.iterations is not None:
            arguments += [self.to.number(0), self.to.number(op.iterations.value.data)]
        elif op.iterations_parameter is not None:
            arguments += [self.to.number(0), arguments[op.iterations_parameter.value.data]]
        results = self.to.called(op.func_name.data, arguments, [each.type for each in op.returned])
        self.values.update(zip(op.returned, results, strict=True))

    def transpose(self, op: TransposeOp) -> None:
        """A square of elements, in as many vectors as it has rows."""
        element = element_of(op.dest)
        element = IntegerType(8) if element == i1 else element
        size = op.size.value.data
        target, source = self.place(op.dest, op.dest_indices), self.place(op.src, op.src_indices)
        given = iter([self.values[stride] for stride in op.dynamic_strides])
        after, before = (
            next(given) if stride == DYNAMIC_INDEX else int(stride) for stride in op.strides.get_values()
        )
        rows = [
            self.to.load(self.to.address(source, self.to.times(before, row), element), element, size)
            for row in range(size)
        ]
        for number, column in enumerate(transposed(self.to, rows)):
            self.to.store(column, self.to.address(target, self.to.times(after, number), element))

    def _rest_of(self, op: ByteConvOp) -> Rest:
        """What the region of an op makes of a vector of sums."""
        body = op.rest.block
        end = body.last_op
        assert isinstance(end, StoredOp)

        def rest(vectors: Sequence[SSAValue]) -> SSAValue:
            self.values.update(zip(body.args, vectors, strict=True))
            self.block(body)
            return self.to.splat(self.values[end.value], lanes_of(vectors[0]))

        return rest

    def _buffers(self, op: GemmOp | ConvOp | ByteConvOp) -> list[SSAValue]:
        return [self.values[value] for value in op.operands if is_buffer(value.type)]

    def _turns_of(self, op: GemmOp | ConvOp | ByteConvOp) -> tuple[SSAValue, SSAValue]:
        """The first iteration, and the one behind the last."""
        if op.range:
            return self.values[op.range[0]], self.values[op.range[1]]
        return self.to.number(0), self.to.number(op.iterations)

    def number(self, op: Operation) -> SSAValue:
        """What an op of numbers or indices gives; an index is 64 bits."""
        match op:
            case arith.ConstantOp(value=IntegerAttr(value=value)) if op.result.type == INDEX:
                return self.to.number(value.data)
            case arith.IndexCastOp():
                return self.index_cast(op)
            case _:
                return scalar_ops.emit(self.to, op, [self.values[value] for value in op.operands])

    def index_cast(self, op: arith.IndexCastOp) -> SSAValue:
        """Between indices and other integers, by sign."""
        value = self.values[op.input]
        widths = [
            type_.width.data if is_integer(type_) else i64.width.data
            for type_ in (op.input.type, op.result.type)
        ]
        if widths[0] == widths[1]:
            return value
        kind = llvm.SExtOp if widths[0] < widths[1] else llvm.TruncOp
        return self.to.add(kind(value, IntegerType(widths[1])))

    def place(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Where the element at `indices` is."""
        offset: SSAValue | None = None
        strides = self._strides.get(buffer) or [stride or 0 for stride in strides_of(buffer)]
        for index, stride in zip(indices, strides, strict=True):
            part = self.to.scaled(self.values[index], stride)
            offset = part if offset is None else self.to.add(llvm.AddOp(offset, part))
        pointer = self.values[buffer]
        return pointer if offset is None else self.to.address(pointer, offset, element_of(buffer))

    def iterate(self, op: IterateOp) -> None:
        """All loops of an op, outermost first."""
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

        def turn(index: SSAValue, held: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.values[op.body.block.args[depth]] = index
            return self._nest(op, bounds, depth + 1, held)

        lower, upper = map(self._bound, bounds[depth])
        return self.to.loop(lower, upper, 1, carried, turn)

    def _bound(self, end: int | SSAValue) -> SSAValue:
        return self.to.number(end) if isinstance(end, int) else self.values[end]

    def _innermost(
        self, op: IterateOp, bounds: tuple[int | SSAValue, int | SSAValue], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        lower, upper = bounds
        lanes = lanes_for(op, self.vector_bytes)
        if lanes < 2:
            return self._turns(op, (self._bound(lower), self._bound(upper)), 0, carried)
        if not isinstance(lower, int) or not isinstance(upper, int):
            return self._open_vectors(op, self._bound(lower), self._bound(upper), lanes, carried)
        whole = lower + (upper - lower) // lanes * lanes
        if whole > lower:
            carried = self._vectors(op, lower, whole, lanes, carried)
        if upper - whole > 1:
            return self._vectors(op, whole, upper, upper - whole, carried)
        if upper > whole:
            return self._turns(op, (self.to.number(whole), self.to.number(upper)), 0, carried, True)
        return carried

    def _open_vectors(
        self, op: IterateOp, lower: SSAValue, upper: SSAValue, lanes: int, carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """As many iterations in vectors as fill some, those that are left one by one."""
        count = self.to.add(llvm.SubOp(upper, lower))
        # Without an iteration the end may lie before the start.
        vectors = self.to.add(llvm.SDivOp(count, self.to.number(lanes)))
        whole = self.to.plus(lower, self.to.scaled(vectors, lanes))
        carried = self._vectors(op, lower, whole, lanes, carried)
        return self._turns(op, (whole, upper), 0, carried)

    def _turns(
        self,
        op: IterateOp,
        bounds: tuple[SSAValue, SSAValue],
        lanes: int,
        carried: Sequence[SSAValue],
        is_single: bool = False,
    ) -> Sequence[SSAValue]:
        """The iterations of the innermost loop, `lanes` at a time; `is_single` if that is one iteration."""
        lower, upper = bounds
        body = op.body.block
        places = len(body.args) - len(carried)
        index = body.args[places - 1]
        steps = index_steps(body, index) if lanes else None

        def turn(found: SSAValue, held: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.values[index] = found
            self.values.update(zip(body.args[places:], held, strict=True))
            self.block(body, lanes, steps)
            end = body.last_op
            results = end.operands if isinstance(end, YieldOp) else ()
            return [self.to.splat(self.values[value], lanes) for value in results]

        if is_single:
            return turn(lower, carried)
        return self.to.loop(lower, upper, lanes or 1, carried, turn)

    def _vectors(
        self,
        op: IterateOp,
        lower: int | SSAValue,
        upper: int | SSAValue,
        lanes: int,
        carried: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Iterations `lanes` at a time; what is carried starts and ends as one number."""
        reductions = [reduction for reduction in reductions_of(op) if reduction is not None]
        starts = [
            self.to.number(neutral(reduction), vector_of(value.type, lanes))
            for value, reduction in zip(carried, reductions, strict=True)
        ]
        bounds = self.to.size(lower), self.to.size(upper)
        is_single = isinstance(lower, int) and isinstance(upper, int) and upper - lower == lanes
        ends = self._turns(op, bounds, lanes, starts, is_single)
        return [
            scalar_ops.emit(self.to, reduction, [value, self._together(end, reduction)])
            for value, end, reduction in zip(carried, ends, reductions, strict=True)
        ]

    def _together(self, vector: SSAValue, reduction: Operation) -> SSAValue:
        """All lanes brought together: halves with halves, then one by one."""
        while lanes_of(vector) > 1 and lanes_of(vector) % 2 == 0:
            half = lanes_of(vector) // 2
            halves = [self.to.shuffle(vector, range(start, start + half)) for start in (0, half)]
            vector = scalar_ops.emit(self.to, reduction, halves)
        total = self.to.lane(vector, 0)
        for lane in range(1, lanes_of(vector)):
            total = scalar_ops.emit(self.to, reduction, [total, self.to.lane(vector, lane)])
        return total
