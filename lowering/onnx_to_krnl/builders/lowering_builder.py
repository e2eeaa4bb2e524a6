"""The builder that lowerings of operators write with, and the table of lowerings."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, UnrealizedConversionCastOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.krnl.attributes import CUT
from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.memory import CallOp, GlobalOp, element_of
from xonnc.dialects.krnl.packing import PackOp
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import AddOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp, TransposeOp
from xonnc.dialects.onnx.types import element_type, element_type_of, static_shape
from xonnc.lowering.onnx_to_krnl.builders.cache_slices import CacheSlices
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import DynamicBuffer, KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.narrow_caches import NarrowCache
from xonnc.lowering.onnx_to_krnl.builders.shared_kernels import SharedKernels
from xonnc.lowering.onnx_to_krnl.planning.dynamic_shapes import DynamicShapes
from xonnc.lowering.onnx_to_krnl.planning.element_types import is_computable, is_storable
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionScope
from xonnc.lowering.onnx_to_krnl.planning.int8_fusion import Int8Buffer, Int8Plan
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import BlockedBuffer, LayoutPlan
from xonnc.lowering.onnx_to_krnl.planning.quantized_operands import QuantizedOperands
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, SymbolicSize, are_static, static_sizes
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import Tiles
from xonnc.rewriting.patterns import Array

OpT = TypeVar("OpT", bound=Operation)

Lower: TypeAlias = Callable[[OpT, "LoweringBuilder"], str | None]
"""Lowers an op; returns None, or the reason why it cannot, having emitted nothing."""

LOWERINGS: dict[type[Operation], Lower[Operation]] = {}
"""The lowering of each kind of op."""


DATA_MOVEMENT: set[type[Operation]] = set()
"""Kinds of op whose lowerings only move elements, of any type."""

SUPPORTS_EMPTY: set[type[Operation]] = set()
"""Kinds of op with kernels for operands without elements."""

DATA_DEPENDENT: set[type[Operation]] = set()
"""Kinds of op whose results may have data-dependent shapes."""


def may_be_cut(op: Operation) -> bool:
    """Whether the size of a result may be known only after the kernels of the op ran."""
    return type(op) in DATA_DEPENDENT or CUT in op.attributes


NO_DYNAMIC_KERNEL = "no kernel yet for dynamic shapes"
"""The reason why an op with dynamic shapes has no kernel."""

SUPPORTS_DYNAMIC_SHAPES: set[type[Operation]] = set()
"""Kinds of op with kernels for dynamic shapes."""


def supports_dynamic_shapes(*kinds: type[Operation]) -> None:
    """Register kinds of op with kernels for dynamic shapes."""
    SUPPORTS_DYNAMIC_SHAPES.update(kinds)


def lowers_data_movement(
    *kinds: type[OpT],
) -> Callable[[Callable[[OpT, LoweringBuilder], str | None]], Callable[[OpT, LoweringBuilder], str | None]]:
    """Register the lowering of kinds of op that move elements of any type."""
    DATA_MOVEMENT.update(kinds)
    return lowers(*kinds)


def lowers(
    *kinds: type[OpT],
) -> Callable[[Callable[[OpT, LoweringBuilder], str | None]], Callable[[OpT, LoweringBuilder], str | None]]:
    """Register the lowering of one or more kinds of op."""

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
    """Creates kernels beside the model's function and inserts buffers and kernel calls into it."""

    def __init__(
        self,
        tiles: Tiles,
        pool: DisposablePool,
        to_row_major: Callable[[SSAValue, LoweringBuilder], SSAValue],
        scope: FusionScope,
        is_checked: bool = True,
        dynamic_shapes: DynamicShapes | None = None,
        threads: int = 1,
        static_because: str = "",
    ) -> None:
        """
        Create a builder.

        `to_row_major` converts NCHWc and int8 NHWC images and returns the buffer. Values of dynamic shape can
        be lowered if `dynamic_shapes` is given.
        """
        self._to_row_major = to_row_major
        self.dynamic_shapes = dynamic_shapes
        self.threads = threads
        """The number of threads among which iterations of kernels are divided."""
        self.static_because = static_because or "kernels are of static sizes"
        """Why there are no `dynamic_shapes`: it is part of the reasons why operators have no kernel."""
        self.target = tiles.target
        self.tiles = tiles
        self.has_runtime_checks = is_checked
        """Whether a run fails where an index or count is out of range (`checks.py`)."""
        self.pool = pool
        self.kernels: dict[str, FuncOp] = {}
        self.fused: set[Operation] = set()
        """Ops that another op's kernel computes."""
        self.scope = scope
        """The ops that may share a kernel."""
        self.layouts = LayoutPlan(self.target.vector_bytes // 4, self.known_sizes, scope)
        self.biases: dict[Operation, tuple[AddOp, SSAValue]] = {}
        """The Add fused into a MatMul, and the row that it adds."""
        self.transposed: dict[Operation, TransposeOp] = {}
        """The transposition of B that a MatMul does without."""
        self.quantized_weights: dict[Operation, QuantizedOperands] = {}
        """The DequantizeLinear operations fused into a MatMul with constant weights."""
        self.growth: dict[Operation, ConcatOp] = {}
        """The Concat with zeros fused into a TensorScatter."""
        self.cache_slices: dict[Operation, CacheSlices] = {}
        """The slices of a cache fused into an Attention."""
        self.narrow_caches: dict[Operation, tuple[NarrowCache, NarrowCache]] = {}
        """The caches whose functions are fused into an Attention as keys and values."""
        self.blocked_buffers: dict[SSAValue, BlockedBuffer] = {}
        """NCHWc buffers."""
        self.bf16_buffers: dict[SSAValue, SSAValue] = {}
        """Copies in bfloat16 of float32 buffers."""
        self.padded_buffers: dict[tuple[SSAValue, Sequence[Size], float], SSAValue] = {}
        """Copies of buffers with pads: by the buffer, pads and sizes of the copy, and the element of pads."""
        self.int8 = Int8Plan(self.known_sizes, scope)
        self.int8_buffers: dict[SSAValue, Int8Buffer] = {}
        """NHWC int8 buffers."""
        self.written: set[SSAValue] = set()
        """Images that are written in NCHWc or NHWC by the time that they are read."""
        self._shared = SharedKernels()
        self._built: dict[tuple[str, Hashable], FuncOp] = {}
        """Kernels by their name and what they are built from."""
        self._buffers: dict[SSAValue, SSAValue] = {}
        self._contents: dict[SSAValue, tuple[Sequence[Size], Attribute]] = {}
        self.materialized: set[SSAValue] = set()
        """Results that a kernel writes."""
        self.resized: dict[SSAValue, SSAValue] = {}
        """Results of data-dependent shape, and the tensors cut to it."""
        self._globals = 0
        self._insertion_op: Operation | None = None

    @contextmanager
    def nested_scope(self) -> Generator[None]:
        """Forget buffers created inside, which are not visible after a body."""
        known, rounded, padded = dict(self._buffers), dict(self.bf16_buffers), dict(self.padded_buffers)
        yield
        self._buffers, self.bf16_buffers, self.padded_buffers = known, rounded, padded

    def set_insertion_point(self, op: Operation) -> None:
        """Insert before `op` from now on."""
        self._insertion_op = op

    @contextmanager
    def insertion_after(self, value: SSAValue, buffer: SSAValue) -> Generator[None]:
        """Insert after the op that fills the buffer of a value."""
        before = self._insertion_op
        if isinstance(buffer.owner, UnrealizedConversionCastOp) and value not in self.materialized:
            self._insertion_op = buffer.owner.next_op
        elif isinstance(value.owner, Operation) and value in self.materialized:
            self._insertion_op = value.owner
        yield
        self._insertion_op = before

    def insert(self, op: Operation) -> SSAValue:
        """Insert an op into the model's function; return its result."""
        assert self._insertion_op is not None
        assert self._insertion_op.parent is not None
        op.location = self._insertion_op.location
        self._insertion_op.parent.insert_op_before(op, self._insertion_op)
        return op.results[0] if op.results else SSAValue.get(op.operands[0])

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """Return the static shape of a tensor."""
        sizes = self.sizes(value)
        assert are_static(sizes)
        return tuple(static_sizes(sizes))

    def is_computable(self, value: SSAValue) -> bool:
        """Whether a value is a tensor of known sizes, of a type that kernels compute with."""
        return is_computable(element_type(value.type)) and self.has_known_sizes(value)

    def is_movable(self, value: SSAValue) -> bool:
        """Whether a value is a tensor of known sizes, of a type that kernels can move."""
        return is_storable(element_type(value.type)) and self.has_known_sizes(value)

    def has_known_sizes(self, value: SSAValue) -> bool:
        """Whether all sizes are static, or expressions of the inputs' sizes."""
        return self.known_sizes(value) is not None

    def sizes(self, value: SSAValue) -> tuple[Size, ...]:
        """Return the sizes of a tensor, static or symbolic."""
        sizes = self.known_sizes(value)
        assert sizes is not None
        return sizes

    def known_sizes(self, value: SSAValue) -> tuple[Size, ...] | None:
        """Return the sizes of a value; None if one is unknown."""
        known = static_shape(value.type)
        return known if known is not None or self.dynamic_shapes is None else self.dynamic_shapes.of(value)

    def elements(self, value: SSAValue) -> Sequence[Size] | None:
        """
        Return the integers of a constant, or of a vector of sizes of inputs; None if one is unknown.

        An absent operand has none.
        """
        array = self.constant(value)
        if array is not None:
            return [int(number) for number in np.asarray(array, np.int64).reshape(-1)]
        return None if self.dynamic_shapes is None else self.dynamic_shapes.elements(value)

    def require_same_size(self, size: Size, full_size: Size) -> bool:
        """Whether two sizes are equal in every run that does not fail; emits a run-time check if needed."""
        return self.dynamic_shapes is not None and self.dynamic_shapes.is_cut(size, full_size)

    def require_same_volume(self, one: Sequence[Size], other: Sequence[Size], op: Operation) -> None:
        """Emit a run-time check that two shapes have the same number of elements, if they are dynamic."""
        if self.dynamic_shapes is not None:
            self.dynamic_shapes.same_volume(one, other, op)

    def require_at_most(self, size: Size, limit: Size, what: str) -> None:
        """Emit a run-time check of a dynamic size."""
        if self.dynamic_shapes is not None:
            self.dynamic_shapes.at_most(size, limit, what)

    def element(self, value: SSAValue) -> Attribute:
        """Return the element type of a tensor."""
        element = element_type(value.type)
        assert element is not None
        return element

    def constant(self, value: SSAValue) -> Array | None:
        """Return the elements of a constant, or None."""
        owner = value.owner
        if isinstance(owner, ConstantOp) and owner.value is not None:
            return elements_array(owner.value)
        return None

    def buffer(self, value: SSAValue) -> SSAValue:
        """Return the row-major buffer of a tensor."""
        if value not in self._buffers and value in self.written:
            self._buffers[value] = self._to_row_major(value, self)
        if value not in self._buffers:
            owner = value.owner
            type_ = _type_of(self.sizes(value), self.element(value))
            if isinstance(owner, ConstantOp) and owner.value is not None:
                made = self._global(owner.value, type_)
            else:
                cast = UnrealizedConversionCastOp.get([value], [type_])
                # Right after the producer, so that the cast dominates later readers in nested bodies too.
                if isinstance(owner, Operation):
                    assert owner.parent is not None
                    owner.parent.insert_op_after(cast, owner)
                else:
                    self.insert(cast)
                made = cast.results[0]
            self._buffers[value] = made
        found = self._buffers[value]
        self._contents.setdefault(found, (self.sizes(value), self.element(value)))
        return found

    def packed(self, weights: Array, form: str, sizes: Mapping[str, int], factor: float = 1.0) -> SSAValue:
        """Return a buffer of `factor` times constant weights, in the order of `krnl.pack`."""
        # A view will do: `prepack-weights` reads it once.
        source = self._global(
            self.pool.create(weights), buffer_type(weights.shape, element_type_of(weights.dtype))
        )
        return self.insert(PackOp.of(source, form, sizes, factor))

    def constant_buffer(self, array: Array) -> SSAValue:
        """Return a constant buffer with the elements of an array."""
        attribute = self.pool.create(np.ascontiguousarray(array))
        return self._global(attribute, buffer_type(array.shape, element_type_of(array.dtype)))

    def _global(self, value: Attribute, type_: MemRefType) -> SSAValue:
        self._globals += 1
        return self.insert(GlobalOp.of(f"constant_{self._globals}", value, type_))

    def allocate(self, shape: Sequence[Size], element: Attribute) -> SSAValue:
        """Allocate a buffer."""
        type_ = _type_of(shape, element)
        sizes = [self.extent(size) for size in shape if isinstance(size, SymbolicSize)]
        made = self.insert(memref.AllocOp(sizes, (), type_))
        self._contents[made] = shape, element
        return made

    def contents(self, buffer: SSAValue) -> tuple[Sequence[Size], Attribute]:
        """Return the shape of a buffer and the type of its elements."""
        type_ = buffer.type
        assert isinstance(type_, MemRefType)
        return self._contents.get(buffer) or (type_.get_shape(), element_of(buffer))

    def extent(self, size: SymbolicSize) -> SSAValue:
        """Return a symbolic size as an SSA value."""
        assert self.dynamic_shapes is not None
        return self.dynamic_shapes.of_size(size)

    def result(self, value: SSAValue) -> SSAValue:
        """Allocate the row-major buffer of a result."""
        made = self.allocate(self.sizes(value), self.element(value))
        self._buffers[value] = made
        self.materialized.add(value)
        return made

    def alias(self, value: SSAValue, source: SSAValue) -> None:
        """Let a result share the buffer of another value, in its own shape."""
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
        iterations: Size = 0,
    ) -> CallOp:
        """
        Insert a call of a kernel; equal kernels become one.

        `iterations` is their number in a kernel that takes a range of them.
        """
        symbol = self._shared_kernel(name, kernel).sym_name.data
        sizes = [self.extent(extent) for extent in kernel.extents]
        count = self.extent(iterations) if isinstance(iterations, SymbolicSize) else iterations
        if isinstance(count, SSAValue) and count not in sizes:
            raise AssertionError("the number of iterations is a size that the kernel does not take")
        call = CallOp.of(symbol, outputs, inputs, count, sizes)
        self.insert(call)
        return call

    def call_built(
        self,
        name: str,
        key: Hashable,
        build: Callable[[], KernelBuilder],
        outputs: Sequence[SSAValue],
        inputs: Sequence[SSAValue],
        iterations: int = 0,
    ) -> CallOp:
        """
        Insert a call of the kernel that `build` returns, as `call` does.

        Kernels of one name and key are equal, so that those without dynamic sizes are built once.
        """
        function = self._built.get((name, key))
        if function is None:
            kernel = build()
            if kernel.extents:
                return self.call(name, kernel, outputs, inputs, iterations)
            function = self._built[name, key] = self._shared_kernel(name, kernel)
        call = CallOp.of(function.sym_name.data, outputs, inputs, iterations, [])
        self.insert(call)
        return call

    def _shared_kernel(self, name: str, kernel: KernelBuilder) -> FuncOp:
        """Return the function of a kernel, the same one for equal kernels."""
        function = self._shared.shared(kernel.function(f"{name}_{self._shared.count}"))
        self.kernels[function.sym_name.data] = function
        return function

    def existing_buffer(self, value: SSAValue) -> SSAValue | None:
        """Return the buffer of a value if there is one, or None."""
        if value in self.written:
            return self.buffer(value)
        return self._buffers.get(value)


def _type_of(shape: Sequence[Size], element: Attribute) -> MemRefType:
    type_ = buffer_type(shape, element)
    return type_.type if isinstance(type_, DynamicBuffer) else type_
