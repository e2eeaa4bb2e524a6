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
from xonnc.lowering.onnx_to_krnl.checks import check_numbers
from xonnc.lowering.onnx_to_krnl.element_types import compute_type, integer_range, is_sub_byte
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.window_geometry import WindowGeometry, window_of


class _WindowElement:
    """An element of a window: its indices in the input, and whether they are inside."""

    def __init__(
        self,
        kernel: KernelBuilder,
        window: WindowGeometry,
        shape: Sequence[int],
        out: Sequence[SSAValue],
        at: Sequence[SSAValue],
    ) -> None:
        self.indices: list[Scalar] = []
        self.inside: Scalar | None = None
        for axis, size in enumerate(shape):
            start = kernel.affine(out[axis], window.strides[axis], -window.begins[axis])
            index = Scalar(kernel, kernel.plus(start, kernel.affine(at[axis], window.dilations[axis])))
            if window.begins[axis] or window.ends[axis]:
                here = (index >= 0) & (index < size)
                self.inside = here if self.inside is None else self.inside & here
                index = index.clamp(0, size - 1)
            self.indices.append(index)

    def among(self, x: Scalar, otherwise: float) -> Scalar:
        """Return `x` inside the input, `otherwise` in the padding."""
        return x if self.inside is None else self.inside.select(x, otherwise)


def generic_max_pool(op: nn.MaxPoolOp | MaxPoolSingleOutOp, builder: LoweringBuilder) -> str | None:
    """Maximum of each window, and the flat index of its first occurrence."""
    value, result = op.operands[0], op.results[0]
    indices = op.Indices if isinstance(op, nn.MaxPoolOp) and op.Indices.type != NONE else None
    element, shape, out = builder.element(value), builder.shape(value), builder.shape(result)
    kind = _number(element)
    if kind is None:
        return "integers of 2 or 4 bits"
    window = window_of(op, int_values(op.kernel_shape) or (), shape[2:], out[2:])
    types = [buffer_type(out, element)]
    if indices is not None:
        types.append(buffer_type(out, i64))
    kernel = KernelBuilder([*types, buffer_type(shape, element)])
    source = kernel.buffers[-1]
    least = integer_range(element)[0] if is_integer(element) else -inf
    with kernel.loops(out) as at:
        starts = [kernel.constant(least, kind), kernel.constant(-1, i64)]
        with kernel.reducing(window.kernel, starts) as (inner, accumulators, results):
            position = _WindowElement(kernel, window, shape[2:], at[2:], inner)
            x = read_as(
                kernel, source, [*at[:2], *(index.value for index in position.indices)], element, kind
            )
            number = _flat(kernel, at, position, shape, bool(op.storage_order.value.data))
            best, found = (Scalar(kernel, each) for each in accumulators)
            is_better, is_first = x > best, found < 0
            if position.inside is not None:
                is_better, is_first = is_better & position.inside, is_first & position.inside
            results.append(is_better.select(x, best).value)
            results.append((is_better | is_first).select(number, found).value)
        kernel.write(_stored(results[0], element, kernel), kernel.buffers[0], at, element)
        if indices is not None:
            kernel.store(results[1], kernel.buffers[1], at)
    made = [builder.result(each) for each in (result, indices) if each is not None]
    builder.call("maxpool", kernel, made, [builder.buffer(value)])
    return None


def _number(element: Attribute) -> Attribute | None:
    """Return the compute type of an element: signed integers of 32 or 64 bits, or floats."""
    if not is_integer(element):
        return compute_type(element)
    if is_sub_byte(element):
        return None
    return i64 if element.width.data >= 32 else i32


def _stored(number: SSAValue, element: Attribute, kernel: KernelBuilder) -> SSAValue:
    """Convert an accumulator back to the compute type of the element."""
    return Scalar(kernel, number).to(compute_type(element)).value


def _flat(
    kernel: KernelBuilder,
    at: Sequence[SSAValue],
    position: _WindowElement,
    shape: Sequence[int],
    is_by_column: bool,
) -> Scalar:
    """Return the flat index of an element, row-major or (`storage_order = 1`) column-major."""
    total = Scalar(kernel, at[0]) * shape[1] + Scalar(kernel, at[1])
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
    window = WindowGeometry(tuple(spatial), ones, ones, zeros, zeros, tuple(spatial))
    return _powers(op.X, op.Y, window, op.p.value.data, builder)


def _powers(
    value: SSAValue, result: SSAValue, window: WindowGeometry, p: int, builder: LoweringBuilder
) -> str | None:
    element, shape, out = builder.element(value), builder.shape(value), builder.shape(result)
    kind = compute_type(element)
    if kind not in (f32, f64):
        return "not of floats"
    kernel = KernelBuilder([buffer_type(out, element), buffer_type(shape, element)])
    with kernel.loops(out) as at:
        with kernel.reducing(window.kernel, [kernel.constant(0.0, kind)]) as (inner, accumulators, results):
            position = _WindowElement(kernel, window, shape[2:], at[2:], inner)
            where = [*at[:2], *(index.value for index in position.indices)]
            x = read_as(kernel, kernel.buffers[1], where, element, kind).abs()
            x = x if p == 1 else x * x if p == 2 else x.power(float(p))
            results.append((Scalar(kernel, accumulators[0]) + position.among(x, 0.0)).value)
        total = Scalar(kernel, results[0])
        total = total if p == 1 else total.sqrt() if p == 2 else total.power(1 / p)
        kernel.write(total.value, kernel.buffers[0], at, element)
    builder.call("lppool", kernel, [builder.result(result)], [builder.buffer(value)])
    return None


def generic_average_pool(
    op: nn.AveragePoolOp, window: WindowGeometry, builder: LoweringBuilder
) -> str | None:
    """Mean of each window. Pads count with `count_include_pad`; what `ceil_mode` adds does not."""
    element, shape, out = builder.element(op.X), builder.shape(op.X), builder.shape(op.Y)
    kind = compute_type(element)
    if kind not in (f32, f64):
        return "not of floats"
    is_padded = bool(op.count_include_pad.value.data)
    rank = len(shape) - 2
    given = int_values(op.pads) or (0,) * (2 * rank)
    ends = given[rank:] if op.auto_pad.data == "NOTSET" else window.ends
    kernel = KernelBuilder([buffer_type(out, element), buffer_type(shape, element)])
    with kernel.loops(out) as at:
        starts = [kernel.constant(0.0, kind)] * 2
        with kernel.reducing(window.kernel, starts) as (inner, accumulators, results):
            position = _WindowElement(kernel, window, shape[2:], at[2:], inner)
            where = [*at[:2], *(index.value for index in position.indices)]
            x = position.among(read_as(kernel, kernel.buffers[1], where, element, kind), 0.0)
            share = position.among(x.like(1.0), 0.0)
            if is_padded:
                share = x.like(1.0)
                for axis in range(rank):
                    last = kernel.affine(at[2 + axis], window.strides[axis], -window.begins[axis])
                    here = kernel.plus(last, kernel.affine(inner[axis], window.dilations[axis]))
                    share = (Scalar(kernel, here) < shape[2 + axis] + ends[axis]).select(share, 0.0)
            results += [
                (Scalar(kernel, accumulators[0]) + x).value,
                (Scalar(kernel, accumulators[1]) + share).value,
            ]
        mean = Scalar(kernel, results[0]) / Scalar(kernel, results[1]).maximum(1.0)
        kernel.write(mean.value, kernel.buffers[0], at, element)
    builder.call("averagepool", kernel, [builder.result(op.Y)], [builder.buffer(op.X)])
    return None


@lowers(nn.MaxUnpoolOp)
def max_unpool(op: nn.MaxUnpoolOp, builder: LoweringBuilder) -> str | None:
    """
    Scatter elements to the indices of MaxPool, 0 elsewhere; a run with an index out of range fails.

    Where `output_shape` is larger than what the windows imply, the result has that in its first corner.
    """
    element, shape, out = builder.element(op.X), builder.shape(op.X), builder.shape(op.output)
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
    kernel = KernelBuilder(
        [buffer_type(out, element), buffer_type([count], element), buffer_type([count], i64)]
    )
    with kernel.loops([count]) as (number,):
        flat = Scalar(kernel, kernel.load(kernel.buffers[2], [number])).to(INDEX)
        is_inside = (flat >= 0) & (flat < prod(flat_shape))
        rest = flat.clamp(0, prod(flat_shape) - 1)
        indices: list[SSAValue] = []
        for size in reversed(flat_shape):
            indices.insert(0, (rest % size).value)
            rest = rest // size
        before = Scalar(kernel, kernel.load(kernel.buffers[0], indices))
        x = Scalar(kernel, kernel.load(kernel.buffers[1], [number]))
        kernel.store(is_inside.select(x, before).value, kernel.buffers[0], indices)
    builder.call("maxunpool", kernel, [target], [builder.buffer(op.X), builder.buffer(op.I_in)])
    return None
