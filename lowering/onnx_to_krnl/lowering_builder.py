"""What functions that lower an operator are given, and the table of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, UnrealizedConversionCastOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.memory import CallOp, GlobalOp
from xonnc.dialects.krnl.prepacked_weights import PrepackedWeights
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import AddOp
from xonnc.dialects.onnx.types import element_type, element_type_of, static_shape
from xonnc.lowering.onnx_to_krnl.dynamic_shapes import DynamicShapes
from xonnc.lowering.onnx_to_krnl.element_types import is_computable, is_storable
from xonnc.lowering.onnx_to_krnl.fusion_scope import FusionScope
from xonnc.lowering.onnx_to_krnl.int8_fusion import Int8Buffer, Int8Plan
from xonnc.lowering.onnx_to_krnl.kernel_builder import DynamicBuffer, KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.layout_plan import BlockedBuffer, LayoutPlan
from xonnc.lowering.onnx_to_krnl.parallel_ranges import parallelize
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, SymbolicSize, are_static, static_sizes
from xonnc.lowering.onnx_to_krnl.tile_selection import Tiles
from xonnc.rewriting.patterns import Array

OpT = TypeVar("OpT", bound=Operation)

Lower: TypeAlias = Callable[[OpT, "LoweringBuilder"], str | None]
"""Lowers an op; says why not where it cannot, and has done nothing then."""

LOWERINGS: dict[type[Operation], Lower[Operation]] = {}
"""The function that lowers each kind of op."""


DATA_MOVEMENT: set[type[Operation]] = set()
"""Kinds of op whose lowerings move elements of any type, and compute with none."""

SUPPORTS_EMPTY: set[type[Operation]] = set()
"""Kinds of op that compute from tensors without elements too."""

DATA_DEPENDENT: set[type[Operation]] = set()
"""Kinds of op whose results may have as many elements as a run finds."""
NO_DYNAMIC_KERNEL = "no kernel yet for sizes that only a run tells"
"""Why an op in some form has no kernel."""

SUPPORTS_DYNAMIC_SHAPES: set[type[Operation]] = set()
"""Kinds of op whose kernels may have sizes that only a run tells."""


def supports_dynamic_shapes(*kinds: type[Operation]) -> None:
    """Says that kernels of these kinds of op may have sizes that only a run tells."""
    SUPPORTS_DYNAMIC_SHAPES.update(kinds)


def lowers_data_movement(
    *kinds: type[OpT],
) -> Callable[[Callable[[OpT, LoweringBuilder], str | None]], Callable[[OpT, LoweringBuilder], str | None]]:
    """Registers a function for kinds of op that move elements of any type."""
    DATA_MOVEMENT.update(kinds)
    return lowers(*kinds)


def lowers(
    *kinds: type[OpT],
) -> Callable[[Callable[[OpT, LoweringBuilder], str | None]], Callable[[OpT, LoweringBuilder], str | None]]:
    """Registers a function for one or more kinds of op."""

    def register(
        function: Callable[[OpT, LoweringBuilder], str | None],
    ) -> Callable[[OpT, LoweringBuilder], str | None]:
        for kind in kinds:

            def checked(op: Operation, builder: LoweringBuilder, kind: type[OpT] = kind) -> str | None:
                assert isinstance(op, kind)
                return function(op, builder)

            assert kind not in LOWERINGS, f"{kind.name} is lowered twice"
            checked.__doc__ = function.__doc__
            LOWERINGS[kind] = checked
        return function

    return register


class LoweringBuilder:
    """Writes kernels beside the model's function and calls of them into it."""

    def __init__(
        self,
        tiles: Tiles,
        pool: DisposablePool,
        to_row_major: Callable[[SSAValue, LoweringBuilder], SSAValue],
        packings: PrepackedWeights,
        scope: FusionScope,
        is_checked: bool = True,
        dynamic_shapes: DynamicShapes | None = None,
        threads: int = 1,
    ) -> None:
        """
        `unblock` brings images of blocks of channels, or of bytes, into rows; gives the buffer.

        Tensors whose sizes only a run tells can be lowered if `open_sizes` are given.
        """
        self._to_row_major = to_row_major
        self.dynamic_shapes = dynamic_shapes
        self.threads = threads
        """How many share out the iterations of kernels."""
        self.target = tiles.target
        self.tiles = tiles
        self.has_runtime_checks = is_checked
        """Whether a run ends where a number that only it knows is out of bounds (`checks.py`)."""
        self.pool = pool
        self._packings = packings
        self.kernels: dict[str, FuncOp] = {}
        self.fused: set[Operation] = set()
        """Ops whose work another op's kernel does."""
        self.scope = scope
        """What may share a kernel."""
        self.layouts = LayoutPlan(self.target.vector_bytes // 4, self.known_sizes, scope)
        self.biases: dict[Operation, tuple[AddOp, SSAValue]] = {}
        """Sums that a product starts from, with the row that is added."""
        self.blocked_buffers: dict[SSAValue, BlockedBuffer] = {}
        """Buffers of images in blocks of channels."""
        self.int8 = Int8Plan(self.known_sizes, scope)
        self.int8_buffers: dict[SSAValue, Int8Buffer] = {}
        """Buffers of images of bytes."""
        self.written: set[SSAValue] = set()
        """Images that an op has written, or will have by the time that they are read, in blocks."""
        self._names: dict[str, str] = {}
        self._buffers: dict[SSAValue, SSAValue] = {}
        self.materialized: set[SSAValue] = set()
        """Results of ops that have kernels."""
        self.resized: dict[SSAValue, SSAValue] = {}
        """Results of sizes that a run finds, and the tensors that are cut to them."""
        self._globals = 0
        self._place: Operation | None = None

    @contextmanager
    def nested_scope(self) -> Generator[None]:
        """For a body: what is made in it is forgotten behind."""
        known = dict(self._buffers)
        yield
        self._buffers = known

    def set_insertion_point(self, op: Operation) -> None:
        """What is added from now on goes before `op`."""
        self._place = op

    @contextmanager
    def insertion_after(self, value: SSAValue, buffer: SSAValue) -> Generator[None]:
        """What is added meanwhile goes behind what fills the buffer of a value."""
        before = self._place
        if isinstance(buffer.owner, UnrealizedConversionCastOp) and value not in self.materialized:
            self._place = buffer.owner.next_op
        elif isinstance(value.owner, Operation) and value in self.materialized:
            self._place = value.owner
        yield
        self._place = before

    def insert(self, op: Operation) -> SSAValue:
        """Adds an op to the model's function; its result."""
        assert self._place is not None
        assert self._place.parent is not None
        op.location = self._place.location
        self._place.parent.insert_op_before(op, self._place)
        return op.results[0] if op.results else SSAValue.get(op.operands[0])

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The shape of a native tensor of known sizes."""
        sizes = self.sizes(value)
        assert are_static(sizes)
        return tuple(static_sizes(sizes))

    def is_computable(self, value: SSAValue) -> bool:
        """Whether a value is a tensor of known sizes, of elements that code can compute with."""
        return is_computable(element_type(value.type)) and self.has_known_sizes(value)

    def is_movable(self, value: SSAValue) -> bool:
        """Whether a value is a tensor of known sizes, of elements that code can move."""
        return is_storable(element_type(value.type)) and self.has_known_sizes(value)

    def has_known_sizes(self, value: SSAValue) -> bool:
        """Whether the sizes of a tensor are known, or what they are in terms of those of the inputs."""
        return self.known_sizes(value) is not None

    def sizes(self, value: SSAValue) -> tuple[Size, ...]:
        """The shape of a native tensor, of which a run may tell sizes."""
        sizes = self.known_sizes(value)
        assert sizes is not None
        return sizes

    def known_sizes(self, value: SSAValue) -> tuple[Size, ...] | None:
        """The sizes of a value; `None` if they are not known in terms of those of the inputs."""
        known = static_shape(value.type)
        return known if known is not None or self.dynamic_shapes is None else self.dynamic_shapes.of(value)

    def require_same_size(self, size: Size, whole: Size) -> bool:
        """Whether two sizes are the same in every run that does not fail; has it fail where they are not."""
        return self.dynamic_shapes is not None and self.dynamic_shapes.is_cut(size, whole)

    def element(self, value: SSAValue) -> Attribute:
        """The element type of a native tensor."""
        element = element_type(value.type)
        assert element is not None
        return element

    def constant(self, value: SSAValue) -> Array | None:
        """What a value is if it is a constant."""
        owner = value.owner
        if isinstance(owner, ConstantOp) and owner.value is not None:
            return elements_array(owner.value)
        return None

    def buffer(self, value: SSAValue) -> SSAValue:
        """The buffer that holds a tensor."""
        if value not in self._buffers and value in self.written:
            self._buffers[value] = self._to_row_major(value, self)
        if value not in self._buffers:
            owner = value.owner
            type_ = _type_of(self.sizes(value), self.element(value))
            if isinstance(owner, ConstantOp) and owner.value is not None:
                made = self._global(owner.value, type_)
            else:
                cast = UnrealizedConversionCastOp.get([value], [type_])
                if isinstance(owner, Operation):
                    assert owner.parent is not None
                    owner.parent.insert_op_after(cast, owner)
                else:
                    self.insert(cast)
                made = cast.results[0]
            self._buffers[value] = made
        return self._buffers[value]

    def prepacked(self, source: Array, how: Hashable, make: Callable[[], Array]) -> SSAValue:
        """What `make` makes of a constant, in a buffer; `how` tells it from what else is made of that."""
        return self.constant_buffer(self._packings.packed(source, how, make))

    def constant_buffer(self, array: Array) -> SSAValue:
        """A constant of our own making, in a buffer."""
        attribute = self.pool.create(np.ascontiguousarray(array))
        return self._global(attribute, buffer_type(array.shape, element_type_of(array.dtype)))

    def _global(self, value: Attribute, type_: MemRefType) -> SSAValue:
        self._globals += 1
        return self.insert(GlobalOp.of(f"constant_{self._globals}", value, type_))

    def allocate(self, shape: Sequence[Size], element: Attribute) -> SSAValue:
        """A new buffer."""
        type_ = _type_of(shape, element)
        sizes = [self.extent(size) for size in shape if isinstance(size, SymbolicSize)]
        return self.insert(memref.AllocOp.get(type_.element_type, None, type_.get_shape(), sizes))

    def extent(self, size: SymbolicSize) -> SSAValue:
        """A size that a run tells, as the run computes it."""
        assert self.dynamic_shapes is not None
        return self.dynamic_shapes.of_size(size)

    def result(self, value: SSAValue) -> SSAValue:
        """A new buffer for a result of an op."""
        made = self.allocate(self.sizes(value), self.element(value))
        self._buffers[value] = made
        self.materialized.add(value)
        return made

    def alias(self, value: SSAValue, source: SSAValue) -> None:
        """Says that a result is what another value is, in another shape."""
        sizes = self.sizes(value)
        type_ = _type_of(sizes, self.element(value))
        cast: Operation = UnrealizedConversionCastOp.get([self.buffer(source)], [type_])
        if self.dynamic_shapes is not None and isinstance(value.owner, Operation):
            self.dynamic_shapes.same_volume(self.sizes(source), sizes, value.owner)
        if not are_static(sizes):
            extents = [self.extent(size) for size in sizes if isinstance(size, SymbolicSize)]
            cast = ShapedOp(operands=[self.buffer(source), extents], result_types=[type_])
        self.insert(cast)
        self._buffers[value] = cast.results[0]
        self.materialized.add(value)

    def call(
        self,
        name: str,
        kernel: KernelBuilder,
        outputs: Sequence[SSAValue],
        inputs: Sequence[SSAValue],
        iterations: Size | None = None,
    ) -> None:
        """Calls a kernel; equal kernels become one. `turns` are those of a kernel that has taken a range."""
        if iterations is None:
            iterations = parallelize(kernel)
        function = kernel.function("kernel")
        text = str(function)
        if text not in self._names:
            self._names[text] = f"{name}_{len(self._names)}"
            function = FuncOp(self._names[text], function.function_type, function.detach_region(0), "private")
            self.kernels[self._names[text]] = function
        sizes = [self.extent(extent) for extent in kernel.extents]
        count = self.extent(iterations) if isinstance(iterations, SymbolicSize) else iterations
        if isinstance(count, SSAValue) and count not in sizes:
            raise AssertionError("turns are a size that the kernel does not take")
        self.insert(CallOp.of(self._names[text], outputs, inputs, count, sizes))

    def existing_buffer(self, value: SSAValue) -> SSAValue | None:
        """The buffer of a value, if a kernel or another op made one."""
        if value in self.written:
            return self.buffer(value)
        return self._buffers.get(value)


def _type_of(shape: Sequence[Size], element: Attribute) -> MemRefType:
    type_ = buffer_type(shape, element)
    return type_.type if isinstance(type_, DynamicBuffer) else type_
