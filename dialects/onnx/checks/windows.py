"""Rules for what slides a window over an image: convolutions and poolings."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.checks.rules import (
    DYNAMIC,
    Rule,
    differ,
    integer_of,
    integers_of,
    is_absent,
    refuse,
    shape_of,
    text_of,
)

_AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def convolution(image: str, weights: str, bias: str = "", bias_text: str = "first") -> Rule:
    """Weights `[M, C / group, …]` that fit an image `[N, C, …]`, and a bias `[M]`."""

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
    """Weights `[C, M / group, …]` that fit an image `[N, C, …]`, and a bias `[M]`."""
    group = _group(op)
    x, w = _image_and_weights(op, "X", "W")
    if x is not None and w is not None and differ(x[1], w[0]):
        refuse(op, "Channel In (C) of input must be equal 1st dim of weights")
    channels = DYNAMIC if w is None or w[1] == DYNAMIC else w[1] * group
    _check_bias(op, "B", channels, "second dimension of weights times g")
    shape = integers_of(op, "output_shape")
    if shape is not None and x is not None and len(shape) not in (len(x) - 2, len(x)):
        refuse(op, "output shape length incompatible with spatial dimensions")
    _check_window(op, x, w)


def pooling(op: Operation) -> None:
    """A window over an image `[N, C, …]`."""
    x = shape_of(op, "X")
    if x is not None and len(x) < 3:
        refuse(op, "Spatial rank must be strictly positive")
    kernel = integers_of(op, "kernel_shape")
    if x is not None and not kernel:
        refuse(op, "kernel_shape is a mandatory attribute")
    if x is not None and kernel and len(kernel) != len(x) - 2:
        refuse(op, "Input and kernel shape rank mismatch")
    _check_window(op, x, None)


def window(image: str) -> Rule:
    """Window attributes that fit an image `[N, C, …]`."""

    def rule(op: Operation) -> None:
        _check_window(op, shape_of(op, image), None)

    return rule


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
