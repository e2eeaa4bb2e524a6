"""Verification rules for sliding windows: convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.checks.verifier import (
    DYNAMIC,
    Rule,
    constant_of,
    differ,
    integer_of,
    integers_of,
    is_absent,
    refuse,
    shape_of,
    shown,
    text_of,
)

_AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def convolution(image: str, weights: str, bias: str = "", bias_text: str = "first") -> Rule:
    """Weights `[M, C / group, …]` that match an image `[N, C, …]`, and a bias `[M]`."""

    def rule(op: Operation) -> None:
        group = _group(op)
        x, w = _image_and_weights(op, image, weights)
        if w is not None and w[0] != DYNAMIC and w[0] % group:
            refuse(op, "Channel Out (M) must be a multiple of the number of groups")
        if x is not None and x[1] != DYNAMIC:
            if x[1] % group:
                refuse(op, "Channel In (C) must be a multiple of the number of groups")
            if w is not None and w[1] != DYNAMIC and x[1] != w[1] * group:
                refuse(op, "Channel In (C) of input must be equal 2nd dim of weights times g")
        if bias:
            channels = DYNAMIC if w is None else w[0]
            _check_bias(op, bias, channels, f"{bias_text} dimension of weights")
        _check_window(op, x, w)

    return rule


def transposed_convolution(op: Operation) -> None:
    """Weights `[C, M / group, …]` that match an image `[N, C, …]`, and a bias `[M]`."""
    group = _group(op)
    x, w = _image_and_weights(op, "X", "W")
    if x is not None and w is not None and differ(x[1], w[0]):
        refuse(op, "Channel In (C) of input must be equal 1st dim of weights")
    channels = DYNAMIC if w is None or w[1] == DYNAMIC else w[1] * group
    _check_bias(op, "B", channels, "second dimension of weights times g")
    if x is not None and x[1] != DYNAMIC and x[1] % group:
        refuse(op, "Channel In (C) must be a multiple of the number of groups")
    padding = integers_of(op, "output_padding")
    if padding is not None:
        if x is not None and len(padding) != len(x) - 2:
            refuse(op, "output_padding length incompatible with spatial dimensions")
        _check_least(op, padding, 0, "Bad output_padding value: must be nonnegative")
    shape = integers_of(op, "output_shape")
    if shape is not None and x is not None and len(shape) not in (len(x) - 2, len(x)):
        refuse(op, "output shape length incompatible with spatial dimensions")
    _check_window(op, x, w)


def pooling(op: Operation) -> None:
    """Pooling: a valid window over an image `[N, C, …]`."""
    x = shape_of(op, "X")
    if x is not None and len(x) < 3:
        refuse(op, "Spatial rank must be strictly positive")
    kernel = integers_of(op, "kernel_shape")
    if x is not None and not kernel:
        refuse(op, "kernel_shape is a mandatory attribute")
    if x is not None and kernel and len(kernel) != len(x) - 2:
        refuse(op, "Input and kernel shape rank mismatch")
    _check_window(op, x, None)


def unfolding(op: Operation) -> None:
    """`Im2Col`: a valid window over an image `[N, C, …]`."""
    x, kernel = shape_of(op, "X"), _list(op, "kernel_shape")
    rank = len(kernel)
    if not kernel:
        refuse(op, "kernel_shape attribute is required and must not be empty")
    _check_least(op, kernel, 1, "Kernel shape values must be positive")
    if x is not None and len(x) < 3:
        refuse(op, "Im2Col input must have rank >= 3")
    if x is not None and len(x) != rank + 2:
        refuse(op, "Input rank must equal kernel_shape size + 2")
    for field, name in (("dilations", "Dilation"), ("strides", "Stride")):
        values = _list(op, field)
        _check_list(op, values, rank, 1, f"{name}s size must match spatial rank")
        _check_least(op, values, 1, f"{name} values must be >= 1")
    if text_of(op, "auto_pad") not in _AUTO_PADS:
        refuse(op, "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER, or VALID")
    pads = _list(op, "pads")
    _check_list(op, pads, rank, 2, "Pads size must be 2 * spatial rank")
    _check_least(op, pads, 0, "Pad values must be non-negative")


def _group(op: Operation) -> int:
    group = integer_of(op, "group")
    if group is None or group < 1:
        refuse(op, "group must be strictly positive")
    return group


def _image_and_weights(
    op: Operation, image: str, weights: str
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    x, w = shape_of(op, image), shape_of(op, weights)
    if w is not None and len(w) < 3:
        refuse(op, "Spatial rank must be strictly positive")
    if x is not None and len(x) < 3:
        refuse(op, "Spatial rank must be strictly positive")
    if x is not None and w is not None and len(x) != len(w):
        refuse(op, "Input and filter rank mismatch")
    return x, w


def _check_bias(op: Operation, field: str, channels: int, of: str) -> None:
    shape = None if is_absent(op, field) else shape_of(op, field)
    if shape is None:
        return
    if len(shape) != 1:
        refuse(op, "Bias should have a rank of one")
    if differ(shape[0], channels):
        refuse(op, f"Bias should have same dimension as {of}")


def _check_window(op: Operation, x: Sequence[int] | None, w: Sequence[int] | None) -> None:
    known = x if x is not None else w
    rank = None if known is None else len(known) - 2
    kernel = _list(op, "kernel_shape")
    _check_list(op, kernel, rank, 1, "kernel_shape length incompatible with spatial dimensions")
    _check_least(op, kernel, 1, "Bad kernel_shape value: must be strictly positive")
    if w is not None and 0 in w[2:]:
        refuse(op, "Bad spatial filter size: cannot be zero")
    if kernel and w is not None and any(differ(a, b) for a, b in zip(kernel, w[2:], strict=False)):
        raise VerifyException(f"{op.name}: Bad kernel_shape value: does not match filter sizes")
    for field, word in (("strides", "stride"), ("dilations", "dilation")):
        values = _list(op, field)
        _check_list(op, values, rank, 1, f"{field} length incompatible with spatial dimensions")
        _check_least(op, values, 1, f"Bad {word} value: must be strictly positive")
    _check_pads(op, rank)


def _check_pads(op: Operation, rank: int | None) -> None:
    auto_pad = text_of(op, "auto_pad") if hasattr(op, "auto_pad") else "NOTSET"
    if auto_pad not in _AUTO_PADS:
        refuse(op, f"Unknown auto pad option {auto_pad}; it is one of {', '.join(_AUTO_PADS)}")
    pads = _list(op, "pads")
    _check_list(op, pads, rank, 2, "pads length incompatible with spatial dimensions")
    _check_least(op, pads, 0, "Bad pad value: must be nonnegative")
    if auto_pad != "NOTSET" and pads and any(pads):
        refuse(op, "Bad pad value: nonzero pad value only allowed with NOTSET option")


def _list(op: Operation, field: str) -> tuple[int, ...]:
    return integers_of(op, field) or () if hasattr(op, field) else ()


def _check_list(op: Operation, values: Sequence[int], rank: int | None, each: int, text: str) -> None:
    if values and rank is not None and len(values) != each * rank:
        refuse(op, text)


def _check_least(op: Operation, values: Sequence[int], least: int, text: str) -> None:
    if any(value < least for value in values):
        refuse(op, text)


def unpooling(op: Operation) -> None:
    """`MaxUnpool`: one index per element, and a window over the spatial axes."""
    x, indices = shape_of(op, "X"), shape_of(op, "I_in")
    if x is not None and len(x) < 3:
        refuse(op, "Spatial rank must be strictly positive")
    if not integers_of(op, "kernel_shape"):
        refuse(op, "kernel_shape is a mandatory attribute")
    if x is not None and indices is not None:
        if len(x) != len(indices) or any(differ(a, b) for a, b in zip(x, indices, strict=True)):
            refuse(op, f"I has the shape {shown(indices)}, X has {shown(x)}; they must be the same")
    _check_window(op, x, None)


def deformation(op: Operation) -> None:
    """`DeformConv`: offsets `[N, groups kernel axes, …]` and masks `[N, groups kernel, …]`."""
    x, w = shape_of(op, "X"), shape_of(op, "W")
    groups = integer_of(op, "offset_group") or 0
    if groups < 1:
        refuse(op, f"offset_group is {groups}; it is at least 1")
    if x is not None and x[1] != DYNAMIC and x[1] % groups:
        refuse(op, f"{x[1]} channels are no multiple of {groups} groups of offsets")
    kernel = integers_of(op, "kernel_shape") or (None if w is None or DYNAMIC in w[2:] else w[2:])
    if kernel is None:
        return
    for field, each in (("offset", len(kernel)), ("mask", 1)):
        shape = None if is_absent(op, field) else shape_of(op, field)
        if shape is None:
            continue
        expected = groups * prod(kernel) * each
        if len(shape) != len(kernel) + 2 or differ(shape[1], expected):
            refuse(op, f"{field} has the shape {shown(shape)}; {expected} channels are needed")
        if x is not None and differ(shape[0], x[0]):
            refuse(op, f"{field} has {shape[0]} batches, X has {x[0]}")
        sizes = shape[2:] if x is None else _window_counts(op, x[2:], kernel)
        if any(differ(a, b) for a, b in zip(shape[2:], sizes, strict=True)):
            refuse(op, f"{field} is for {shown(shape[2:])} positions of the window, which has {shown(sizes)}")


def _window_counts(op: Operation, sizes: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...]:
    """Number of positions of a window along each axis, explicitly padded."""
    rank = len(sizes)
    strides, dilations = _list(op, "strides") or (1,) * rank, _list(op, "dilations") or (1,) * rank
    pads = _list(op, "pads") or (0,) * (2 * rank)
    return tuple(
        DYNAMIC
        if size == DYNAMIC
        else (size + pads[axis] + pads[rank + axis] - dilations[axis] * (kernel[axis] - 1) - 1)
        // strides[axis]
        + 1
        for axis, size in enumerate(sizes)
    )


def columns(op: Operation) -> None:
    """`Col2Im`: columns `[N, C block, L]`; strides, dilations and pads for the axes of the image."""
    x, image, block = (shape_of(op, name) for name in ("input", "image_shape", "block_shape"))
    if x is not None and len(x) != 3:
        refuse(op, f"input has rank {len(x)}; it has rank 3")
    for field, shape in (("image_shape", image), ("block_shape", block)):
        if shape is not None and len(shape) != 1:
            refuse(op, f"{field} has rank {len(shape)}; it has rank 1")
    known = [shape[0] for shape in (image, block) if shape is not None and shape[0] != DYNAMIC]
    if len(set(known)) > 1:
        refuse(op, f"image_shape has {known[0]} axes, block_shape has {known[1]}")
    rank = known[0] if known else None
    if rank == 0:
        refuse(op, "image_shape has no axes; it has at least 1")
    _check_blocks(op, x)
    for field, each, least in (("strides", 1, 1), ("dilations", 1, 1), ("pads", 2, 0)):
        values = _list(op, field)
        _check_list(op, values, rank, each, f"{field} length incompatible with spatial dimensions")
        _check_least(op, values, least, f"Bad {field} value: must be at least {least}")


def _check_blocks(op: Operation, x: Sequence[int] | None) -> None:
    """Check that the number of columns is the number of block positions, if both are constant."""
    image, block = constant_of(op, "image_shape"), constant_of(op, "block_shape")
    if x is None or image is None or block is None:
        return
    rank = len(image)
    strides, dilations = _list(op, "strides") or (1,) * rank, _list(op, "dilations") or (1,) * rank
    pads = _list(op, "pads") or (0,) * (2 * rank)
    if len(strides) != rank or len(dilations) != rank or len(pads) != 2 * rank or min(strides) < 1:
        return
    count = 1
    for axis, (size, span) in enumerate(zip(image.tolist(), block.tolist(), strict=True)):
        extent = size + pads[axis] + pads[rank + axis] - dilations[axis] * (span - 1) - 1
        count *= max(extent // strides[axis] + 1, 0)
    if differ(x[2], count):
        refuse(op, f"input has {x[2]} columns; the block has {count} positions in the image")
    if x[1] != DYNAMIC and x[1] % max(prod(block.tolist()), 1):
        refuse(op, f"input has {x[1]} rows, no multiple of the {prod(block.tolist())} numbers of a block")


def pooled_regions(op: Operation) -> None:
    """`MaxRoiPool`: images of rank 4, pooled to two sizes."""
    x, pooled = shape_of(op, "X"), integers_of(op, "pooled_shape") or ()
    if x is not None and len(x) != 4:
        refuse(op, f"X has rank {len(x)}; it has rank 4")
    if len(pooled) != 2 or min(pooled) < 1:
        refuse(op, f"pooled_shape is {list(pooled)}; two sizes of at least 1 are needed")
