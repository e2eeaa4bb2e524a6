"""
Keys of tiled kernels by shape, such as `conv 3x3 64->64 56x56 f32`, for measured tiles.

A key has all that the best tile depends on. Epilogues are left out: they cost the same with any tile.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, f64
from xdsl.ir import Attribute

from xonnc.dialects.krnl.int8_tiles import Int8ConvOp
from xonnc.dialects.krnl.memory import element_of, shape_of
from xonnc.dialects.krnl.tiles import ConvOp, GemmOp
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static


def gemm_key(sizes: tuple[Size, Size, Size], element: Attribute) -> str:
    """`gemm 128x768x3072 f32`: M, K and N; `?` for dynamic sizes."""
    m, n, k = (str(size) if is_static(size) else "?" for size in sizes)
    return f"gemm {m}x{k}x{n} {'f64' if element == f64 else 'f32'}"


def conv_key(
    kind: str,
    channels: tuple[int, int],
    windows: Sequence[Sequence[int]],
    out: Sequence[Size],
) -> str:
    """
    `conv 3x3 64->128 28x28 stride 2x2 f32`: window, input and output channels, output rows and columns.

    `windows` are window sizes, strides and dilations.
    """
    kernel, strides, dilations = ("x".join(map(str, sizes)) for sizes in windows)
    pixels = "x".join(str(size) if is_static(size) and size != DYNAMIC_INDEX else "?" for size in out)
    name, _, element = kind.partition(" ")
    stepped = "" if set(windows[1]) == {1} else f" stride {strides}"
    spread = "" if set(windows[2]) == {1} else f" dilation {dilations}"
    return f"{name} {kernel} {channels[0]}->{channels[1]} {pixels}{stepped}{spread} {element}"


def key_of(op: GemmOp | ConvOp | Int8ConvOp) -> str:
    """Return the key of a tiled op."""
    if isinstance(op, GemmOp):
        m, n, k = op.sizes
        sizes = [-1 if size == DYNAMIC_INDEX else size for size in (m, n, k)]
        return gemm_key((sizes[0], sizes[1], sizes[2]), element_of(op.c)).replace("-1", "?")
    windows = [[int(size) for size in each.get_values()] for each in (op.kernel, op.strides, op.dilations)]
    out = [int(size) for size in op.out.get_values()]
    if isinstance(op, Int8ConvOp):
        kind = int8_conv_kind(op.group_count)
        return conv_key(kind, (shape_of(op.x)[3], shape_of(op.y)[3]), windows, out)
    _, blocks, _, _, lanes = shape_of(op.y)
    kind = conv_kind(op.depthwise is not None, op.group_count)
    return conv_key(kind, (op.depth.value.data, blocks * lanes), windows, out)


def conv_kind(is_depthwise: bool, groups: int) -> str:
    """Return the name of an f32 convolution."""
    if is_depthwise:
        return "depthwise f32"
    return "conv f32" if groups == 1 else f"conv:{groups} f32"


def int8_conv_kind(groups: int) -> str:
    """Return the name of an int8 convolution."""
    return "int8_conv i8" if groups == 1 else f"int8_conv:{groups} i8"
