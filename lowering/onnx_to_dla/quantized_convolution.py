"""Convolutions and products with constant matrices in integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.storage import ConcatOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.nvdla.geometry import channels_per_atom, round_up
from xonnc.formats.nvdla.quantization import LARGEST, LEAST
from xonnc.lowering.dla_planning.feasibility import conv_limits, kernels_at_once
from xonnc.lowering.dla_planning.groups import merged_groups
from xonnc.lowering.dla_planning.shapes import Window
from xonnc.lowering.onnx_to_dla.convolution import (
    across_rows,
    batch_of,
    channels_of,
    dense,
    rows_of,
    tiled,
)
from xonnc.lowering.onnx_to_dla.integers import Integers, Kernels, lowers
from xonnc.lowering.onnx_to_dla.lowering import Array, Cube
from xonnc.lowering.onnx_to_dla.quantized_pictures import pictured
from xonnc.lowering.onnx_to_dla.reals import Affine, Joined, Reals, Sum
from xonnc.lowering.onnx_to_dla.windows import counts, exact, window_of


@lowers(ConvOp)
def conv(op: ConvOp, to: Integers) -> Reals:
    """
    A convolution and its bias; with groups, one for every few groups that fill whole atoms. The images of a
    batch are groups as well.
    """
    if (picture := to.picture(op.X)) is not None:
        return pictured(op, picture, to)
    source, here = to.stored_image(op.X), to.stored_row(op.X)[1]
    kernels = to.kernels_of(op.W, 0, "the kernels")
    if kernels.array.ndim not in (3, 4):
        to.refuse(f"a convolution over {kernels.array.ndim - 2} dimensions (the core takes 1 or 2)")
    window = window_of(op, kernels.array.shape[2:], cube_of(source.value.type), to)
    if kernels.array.ndim == 3:
        kernels = Kernels(kernels.array[:, :, np.newaxis, :], kernels.scales)
    bias = None if op.B.type == NONE else to.real_constant(op.B)
    if bias is None and op.B.type != NONE:
        to.refuse("the bias must be constant, found a computed value")
    batch = batch_of(here, to)
    bias = None if bias is None else tiled(bias, batch)
    groups = op.group.value.data * batch
    return grouped(source, _tiled(kernels, batch), bias, window, groups, to.result_shape(op), to)


def _tiled(kernels: Kernels, times: int) -> Kernels:
    """Kernels once for each image of a batch."""
    return Kernels(tiled(kernels.array, times), _tiled_scales(kernels, times))


def _tiled_scales(kernels: Kernels, times: int) -> Array:
    return kernels.scales if kernels.scales.size == 1 else tiled(kernels.scales, times)


@lowers(GemmOp)
def gemm(op: GemmOp, to: Integers) -> Reals:
    """`alpha A B + beta C` with constant B and C: a convolution whose kernel covers the whole cube of A."""
    kernels = to.kernels_of(op.B, 0 if op.transB.value.data else 1, "B")
    shape = to.result_shape(op)
    bias = None if op.C.type == NONE else to.real_constant(op.C)
    if bias is None and op.C.type != NONE:
        to.refuse("C must be constant, found a computed value")
    if bias is not None:
        bias = np.broadcast_to(bias * np.float32(op.beta.value.data), shape).reshape(-1)
    kernels = Kernels(kernels.array, kernels.scales * op.alpha.value.data)
    if op.transA.value.data:
        source, here = to.stored_row(op.A)
        weights = across_rows(kernels.array, Cube(source.value, here), to)
        columns = weights.shape[0] // kernels.array.shape[0]
        return convolution(
            source, Kernels(weights, _tiled_scales(kernels, columns)), bias, Window((1, 1)), shape, to
        )
    return product(op.A, kernels, bias, shape, to)


@lowers(MatMulOp)
def matmul(op: MatMulOp, to: Integers) -> Reals:
    """Rows times a constant matrix; of several, each is a group of a convolution."""
    factor = to.real_constant(op.B)
    if factor is None:
        to.refuse(
            "a second factor that is computed (the core reads weights in an order in which no engine writes)"
        )
    if factor.ndim > 2:
        to.refuse(f"a second factor of rank {factor.ndim} (the core takes one matrix)")
    is_vector = factor.ndim == 1
    kernels = to.kernels_of(op.B, 0 if is_vector else 1, "the second factor")
    return product(op.A, _one_output(kernels) if is_vector else kernels, None, to.result_shape(op), to)


def _one_output(kernels: Kernels) -> Kernels:
    """A vector as a matrix with one output, whose numbers share a scale."""
    if kernels.scales.size == 1:
        return Kernels(kernels.array[np.newaxis], kernels.scales)
    numbers = kernels.array * kernels.scales
    scale = np.array([np.abs(numbers).max() or 1.0]) / LARGEST
    return Kernels(np.rint(numbers / scale).astype(np.int8)[np.newaxis], scale)


def product(
    factor: SSAValue, kernels: Kernels, bias: Array | None, shape: tuple[int, ...], to: Integers
) -> Reals:
    """A matrix (`NxK`) times rows of K numbers: a row's channels have its elements in order already."""
    source, here = to.stored_row(factor)
    cube = cube_of(source.value.type)
    rows = rows_of(Cube(source.value, here), kernels.array.shape[1], to)
    array = kernels.array.reshape(kernels.array.shape[0], cube.channels // rows, *cube[1:])
    weights = _tiled(Kernels(array, kernels.scales), rows)
    return grouped(source, weights, bias, Window((cube.height, cube.width)), rows, shape, to)


def convolution(
    source: Sum, kernels: Kernels, bias: Array | None, window: Window, shape: tuple[int, ...], to: Integers
) -> Affine:
    """
    Sums of products of stored integers. Those of the source lie `zero` above what they mean, padding as well:
    the bias takes away what that adds.
    """
    cube, weights = cube_of(source.value.type), kernels.array
    if weights.shape[1] != cube.channels:
        to.refuse(f"kernels for {weights.shape[1]} channels on an input of {cube.channels}")
    if weights.dtype != np.int8:
        source, weights = _in_parts(source, weights, to)
        cube = cube_of(source.value.type)
    rows, columns = counts(window, cube, to)
    window = exact(window, cube)
    to.check(conv_limits(cube, weights.shape[0], window))
    if kernels_at_once(to.target, to.precision, cube, weights.shape[0], window) is None:
        to.refuse(
            f"a {weights.shape[1]}x{weights.shape[2]}x{weights.shape[3]} kernel does not fit the convolution "
            f"buffer of {to.target.cbuf_bytes} bytes (parts of it would round their sums to 8 bits)"
        )
    zero, scale = source.grid.zero, source.grid.scale * kernels.scales
    shift = scale * (zero * weights.sum(axis=(1, 2, 3), dtype=np.int64))

    def make() -> SSAValue:
        return to.conv(source.value, to.kernels(weights), window, zero)

    given = np.zeros(1) if bias is None else bias.astype(np.float64).reshape(-1)
    return Affine(make, CubeShape(weights.shape[0], rows, columns), shape, scale, given - shift)


def _in_parts(source: Sum, weights: Array, to: Integers) -> tuple[Sum, Array]:
    """
    Weights of more than 8 bits as sums of such of 8, and the source once for each of them: all products meet
    in the same sums. Between whole atoms weights are 0, whatever lies there.
    """
    cube = cube_of(source.value.type)
    parts: list[Array] = []
    while np.any(weights):
        parts.append(np.clip(weights, LEAST, LARGEST))
        weights = weights - parts[-1]
    lanes = channels_per_atom(to.target, to.precision)
    step = round_up(cube.channels, lanes)
    spread = np.zeros((len(weights), step * (len(parts) - 1) + cube.channels, *weights.shape[2:]), np.int8)
    for index, part in enumerate(parts):
        spread[:, index * step : index * step + cube.channels] = part
    whole = to.cube_type(cube._replace(channels=spread.shape[1]))
    value = to(ConcatOp([source.value] * len(parts), 1, whole, alignment=lanes))
    return replace(source, value=value), spread


def grouped(
    source: Sum,
    kernels: Kernels,
    bias: Array | None,
    window: Window,
    groups: int,
    shape: tuple[int, ...],
    to: Integers,
) -> Reals:
    """A convolution of groups, one for every few groups that fill whole atoms."""
    if groups == 1:
        return convolution(source, kernels, bias, window, shape, to)
    weights = kernels.array
    inputs, outputs = cube_of(source.value.type).channels, weights.shape[0]
    if inputs % groups or outputs % groups:
        to.refuse(f"{groups} groups do not divide {inputs} and {outputs} channels")
    merged = merged_groups(to.target, to.precision, cube_of(source.value.type), outputs, window, groups)
    if merged == groups:
        whole = Kernels(dense(weights, groups), kernels.scales)
        return convolution(source, whole, bias, window, shape, to)
    step_in, step_out = merged * inputs // groups, merged * outputs // groups
    parts: list[Reals] = []
    for index in range(groups // merged):
        rows = slice(index * step_out, (index + 1) * step_out)
        part = channels_of(source.value, index * step_in, (index + 1) * step_in, to)
        scales = kernels.scales if kernels.scales.size == 1 else kernels.scales[rows]
        parts.append(
            convolution(
                Sum(part, source.grid),
                Kernels(dense(weights[rows], merged), scales),
                None if bias is None else bias[rows],
                window,
                shape,
                to,
            )
        )

    def join(values: list[SSAValue]) -> SSAValue:
        cube = cube_of(values[0].type)
        return to(ConcatOp(values, 1, to.cube_type(cube._replace(channels=outputs))))

    def beside(added: Sum) -> tuple[Sum, ...]:
        ends = range(step_out, outputs + 1, step_out)
        return tuple(Sum(channels_of(added.value, end - step_out, end, to), added.grid) for end in ends)

    return Joined(tuple(parts), shape, join, beside)
