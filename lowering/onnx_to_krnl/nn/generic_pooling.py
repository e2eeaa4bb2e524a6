"""Pooling of any type and size: MaxPool with indices, AveragePool, LpPool, and MaxUnpool."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.checks import check_numbers
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type, integer_range, is_sub_byte
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import static_sizes
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import WindowGeometry, window_of


class _WindowElement:
    """An element of a window: its indices in the input, and whether they are inside."""

    def __init__(
        self,
        window: WindowGeometry,
        source: Buffer,
        out: Sequence[Scalar],
        at: Sequence[Scalar],
    ) -> None:
        self.source, self.channel = source, out[:2]
        self.indices: list[Scalar] = []
        self.inside: Scalar | None = None
        for axis, size in enumerate(static_sizes(source.shape[2:])):
            index = _position(window, axis, out[2 + axis], at[axis])
            if window.begins[axis] or window.ends[axis]:
                here = (index >= 0) & (index < size)
                self.inside = here if self.inside is None else self.inside & here
                index = index.clamp(0, size - 1)
            self.indices.append(index)

    def read_as(self, kind: Attribute) -> Scalar:
        """Return the element in a type."""
        return self.source.read_as(kind, *self.channel, *self.indices)

    def among(self, x: Scalar, otherwise: float) -> Scalar:
        """Return `x` inside the input, `otherwise` in the padding."""
        return x if self.inside is None else self.inside.select(x, otherwise)


def _position(window: WindowGeometry, axis: int, out: Scalar, at: Scalar) -> Scalar:
    """Return the index of an element of a window in the input, perhaps outside of it."""
    start = out.scaled_by(window.strides[axis]).offset_by(-window.begins[axis])
    return start + at.scaled_by(window.dilations[axis])


def generic_max_pool(op: nn.MaxPoolOp | MaxPoolSingleOutOp, builder: LoweringBuilder) -> str | None:
    """Maximum of each window, and the flat index of its first occurrence."""
    value, result = op.operands[0], op.results[0]
    outputs = [result, *([op.Indices] if isinstance(op, nn.MaxPoolOp) and op.Indices.type != NONE else [])]
    element, shape, out = builder.element(value), builder.shape(value), builder.shape(result)
    kind = _number(element)
    if kind is None:
        return "integers of 2 or 4 bits"
    window = window_of(op, int_values(op.kernel_shape) or (), shape[2:], out[2:])
    kernel = Kernel(builder, "maxpool", outputs, [value])
    target, *targets, source = kernel.buffers
    least = integer_range(element)[0] if is_integer(element) else -inf
    with kernel.loops(out) as at:
        starts = [kernel.constant(least, kind), kernel.constant(-1, i64)]
        with kernel.reducing(window.kernel, starts) as (inner, (best, found), results):
            position = _WindowElement(window, source, at, inner)
            x = position.read_as(kind)
            number = _flat(at, position, shape, bool(op.storage_order.value.data))
            is_better, is_first = x > best, found < 0
            if position.inside is not None:
                is_better, is_first = is_better & position.inside, is_first & position.inside
            results.append(is_better.select(x, best))
            results.append((is_better | is_first).select(number, found))
        target[*at] = results[0]
        for indices in targets:
            indices[*at] = results[1]
    kernel.call()
    return None


def _number(element: Attribute) -> Attribute | None:
    """Return the compute type of an element: signed integers of 32 or 64 bits, or floats."""
    if not is_integer(element):
        return compute_type(element)
    if is_sub_byte(element):
        return None
    return i64 if element.width.data >= 32 else i32


def _flat(at: Sequence[Scalar], position: _WindowElement, shape: Sequence[int], is_by_column: bool) -> Scalar:
    """Return the flat index of an element, row-major or (`storage_order = 1`) column-major."""
    total = at[0] * shape[1] + at[1]
    axes = list(enumerate(position.indices))
    total = total * prod(shape[2:])
    step = 1
    for axis, index in axes if is_by_column else reversed(axes):
        total = total + index * step
        step *= shape[2 + axis]
    return total.to(i64)


@lowers(nn.LpPoolOp)
def lp_pool(op: nn.LpPoolOp, builder: LoweringBuilder) -> str | None:
    """`(Σ |x|^p)^(1/p)` over each window."""
    shape, out = builder.shape(op.X), builder.shape(op.Y)
    window = window_of(op, int_values(op.kernel_shape) or (), shape[2:], out[2:])
    return _powers(op.X, op.Y, window, op.p.value.data, builder)


@lowers(nn.GlobalLpPoolOp)
def global_lp_pool(op: nn.GlobalLpPoolOp, builder: LoweringBuilder) -> str | None:
    """`(Σ |x|^p)^(1/p)` over each channel."""
    spatial = builder.shape(op.X)[2:]
    ones, zeros = (1,) * len(spatial), (0,) * len(spatial)
    window = WindowGeometry(tuple(spatial), ones, ones, zeros, zeros, tuple(spatial), zeros)
    return _powers(op.X, op.Y, window, op.p.value.data, builder)


def _powers(
    value: SSAValue, result: SSAValue, window: WindowGeometry, p: int, builder: LoweringBuilder
) -> str | None:
    kind = compute_type(builder.element(value))
    if kind not in (f32, f64):
        return "not of floats"
    kernel = Kernel(builder, "lppool", [result], [value])
    target, source = kernel.buffers
    with kernel.loops(builder.shape(result)) as at:
        start = kernel.constant(0.0, kind)
        with kernel.reducing(window.kernel, [start]) as (inner, (total,), results):
            position = _WindowElement(window, source, at, inner)
            x = position.read_as(kind).abs()
            x = x if p == 1 else x * x if p == 2 else x.power(float(p))
            results.append(total + position.among(x, 0.0))
        total = results[0]
        target[*at] = total if p == 1 else total.sqrt() if p == 2 else total.power(1 / p)
    kernel.call()
    return None


def generic_average_pool(
    op: nn.AveragePoolOp, window: WindowGeometry, builder: LoweringBuilder
) -> str | None:
    """Mean of each window. Pads count with `count_include_pad`; what `ceil_mode` adds does not."""
    shape, kind = builder.shape(op.X), compute_type(builder.element(op.X))
    if kind not in (f32, f64):
        return "not of floats"
    is_padded = bool(op.count_include_pad.value.data)
    rank = len(shape) - 2
    given = int_values(op.pads) or (0,) * (2 * rank)
    ends = given[rank:] if op.auto_pad.data == "NOTSET" else window.ends
    kernel = Kernel(builder, "averagepool", [op.Y], [op.X])
    target, source = kernel.buffers
    with kernel.loops(builder.shape(op.Y)) as at:
        starts = [kernel.constant(0.0, kind)] * 2
        with kernel.reducing(window.kernel, starts) as (inner, (total, count), results):
            position = _WindowElement(window, source, at, inner)
            x = position.among(position.read_as(kind), 0.0)
            share = position.among(x.like(1.0), 0.0)
            if is_padded:
                share = x.like(1.0)
                for axis in range(rank):
                    here = _position(window, axis, at[2 + axis], inner[axis])
                    share = (here < shape[2 + axis] + ends[axis]).select(share, 0.0)
            results += [total + x, count + share]
        target[*at] = results[0] / results[1].maximum(1.0)
    kernel.call()
    return None


@lowers(nn.MaxUnpoolOp)
def max_unpool(op: nn.MaxUnpoolOp, builder: LoweringBuilder) -> str | None:
    """
    Scatter elements to the indices of MaxPool, 0 elsewhere; a run with an index out of range fails.

    Where `output_shape` is larger than what the windows imply, the result has that in its first corner.
    """
    shape, out = builder.shape(op.X), builder.shape(op.output)
    kernel_shape = int_values(op.kernel_shape) or ()
    rank = len(kernel_shape)
    strides, pads = int_values(op.strides) or (1,) * rank, int_values(op.pads) or (0,) * (2 * rank)
    flat_shape = [*shape[:2]]
    for axis, size in enumerate(kernel_shape):
        flat_shape.append((shape[2 + axis] - 1) * strides[axis] - pads[axis] - pads[rank + axis] + size)
    if any(size > capacity for size, capacity in zip(flat_shape, out, strict=True)):
        return "an output_shape smaller than what the windows imply"
    check_numbers(op, op.I_in, 0, prod(flat_shape) - 1, "an index is", builder)
    target = builder.result(op.output)
    fill(target, prod(out), 0, builder)
    count = prod(shape)
    inputs = [(op.X, [count]), (op.I_in, [count])]
    kernel = Kernel(builder, "maxunpool", [target], inputs)
    made, source, positions = kernel.buffers
    with kernel.loops([count]) as (number,):
        flat = positions[number].to(INDEX)
        is_inside = (flat >= 0) & (flat < prod(flat_shape))
        rest = flat.clamp(0, prod(flat_shape) - 1)
        indices: list[Scalar] = []
        for size in reversed(flat_shape):
            indices.insert(0, rest % size)
            rest = rest // size
        before, x = made.load(*indices), source.load(number)
        made.store(is_inside.select(x, before), *indices)
    kernel.call()
    return None
