"""
Legalise operator versions of opsets before 11 for native kernels.

Only for ops with static shapes, which are lowered to kernels at once: ops that remain must still belong to
the opset of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import NONE, static_shape
from xonnc.rewriting import onnx
from xonnc.rewriting.onnx import (
    Add,
    AddV1,
    AddV6,
    And,
    AndV1,
    BatchNormalizationInferenceMode,
    BatchNormalizationV6,
    ClipV6,
    ClipV11,
    Concat,
    ConcatV1,
    ConvTranspose,
    ConvTransposeV1,
    Div,
    DivV1,
    DivV6,
    Equal,
    EqualV1,
    Gemm,
    GemmV6,
    Greater,
    GreaterV1,
    Less,
    LessV1,
    Mul,
    MulV1,
    MulV6,
    OneHot,
    OneHotV9,
    Or,
    OrV1,
    Pow,
    PowV1,
    PRelu,
    PReluV1,
    PReluV6,
    Reshape,
    ReshapeV1,
    Slice,
    SliceV1,
    Sub,
    SubV1,
    SubV6,
    TopK,
    TopKV1,
    Upsample,
    UpsampleV7,
    Xor,
    XorV1,
)
from xonnc.rewriting.patterns import (
    MatchFailure,
    OperandSpec,
    RewriteResult,
    Template,
    absent,
    attr,
    rest,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.decompose_versions import like_data, listed

x, y = value.x, value.y

UNKNOWN = MatchFailure("a shape is not known")


def is_known(root: Operation) -> bool:
    """Return whether all operands have static shapes."""
    return all(static_shape(each.type) is not None for each in root.operands if each.type != NONE)


def known(root: Operation) -> str | None:
    """All operands have static shapes."""
    return None if is_known(root) else "a shape is not known"


def aligned(part: SSAValue, target: SSAValue, axis: int | None) -> OperandSpec | None:
    """Reshape an operand that is broadcast from `axis` on, so that NumPy broadcasting applies."""
    shape, size = static_shape(target.type), static_shape(part.type)
    if shape is None or size is None:
        return None
    if axis is None or not size:
        return part
    # NumPy aligns trailing axes: y needs an axis of size 1 for each axis of x after those that it matches.
    trailing = len(shape) - axis % len(shape) - len(size)
    return Reshape(part, listed([*size, *[1] * trailing])) if trailing > 0 else part


def with_axis(old: Template, new: Template) -> Rule:
    """f(x, y) with y broadcast from `axis` on = f(x, y'), y' with trailing axes of size 1 appended"""

    @rule(old(x, y, axis=attr.axis))
    def broadcast(root: Operation, x: SSAValue, y: SSAValue, axis: int | None) -> RewriteResult:
        """f(x, y) with y broadcast from `axis` on = f(x, y'), y' with trailing axes of size 1 appended"""
        part = aligned(y, x, axis)
        return UNKNOWN if part is None or not is_known(root) else new(x, part)

    return broadcast


def of_channels(old: Template) -> Rule:
    """prelu(x, slope) with a slope per channel (axis 1) = prelu(x, slope with trailing axes of size 1)"""

    @rule(old(x, y))
    def prelu(root: Operation, x: SSAValue, y: SSAValue) -> RewriteResult:
        """prelu(x, slope) with a slope per channel (axis 1) = prelu(x, slope with trailing axes of size 1)"""
        shape = static_shape(y.type)
        part = aligned(y, x, None if shape is None or shape == (1,) else 1)
        return UNKNOWN if part is None or not is_known(root) else PRelu(x, part)

    return prelu


def renamed(old: Template, new: Template, *operands: OperandSpec) -> Rule:
    """Return the rule that replaces an op by its newer version; attributes removed since have no effect."""
    pattern = old(*operands)
    return rule(pattern, new(*operands, like=pattern), where=known)


@rule(ClipV6(x, max=attr.high, min=attr.low))
def clip_6(root: Operation, x: SSAValue, high: float, low: float) -> RewriteResult:
    """clip(x) with bounds as attributes = clip(x, low, high), with bounds in the element type of x"""
    return ClipV11(x, like_data(root, low), like_data(root, high)) if is_known(root) else UNKNOWN


@rule(SliceV1(x, axes=attr.axes, ends=attr.ends, starts=attr.starts))
def slice_1(
    root: Operation, x: SSAValue, axes: Sequence[int] | None, ends: Sequence[int], starts: Sequence[int]
) -> RewriteResult:
    """slice(x) with bounds as attributes = slice(x, starts, ends, axes)"""
    axes_operand = absent if axes is None else listed(axes)
    return Slice(x, listed(starts), listed(ends), axes_operand, absent) if is_known(root) else UNKNOWN


@rule(TopKV1(x, axis=attr.axis, k=attr.k))
def top_k_1(root: Operation, x: SSAValue, axis: int, k: int) -> RewriteResult:
    """top_k(x) with k as attribute = top_k(x, [k]), the largest in descending order"""
    return TopK(x, listed([k]), axis=axis, largest=1, sorted=1) if is_known(root) else UNKNOWN


@rule(UpsampleV7(x, mode=attr.mode, scales=attr.scales))
def upsample_7(root: Operation, x: SSAValue, mode: str, scales: Sequence[float]) -> RewriteResult:
    """upsample(x) with scales as attribute = upsample(x, scales)"""
    return Upsample(x, np.array(scales, np.float32), mode=mode) if is_known(root) else UNKNOWN


@rule(ReshapeV1(x))
def reshape_1(root: Operation, x: SSAValue) -> RewriteResult:
    """reshape(x) with the shape as attribute = reshape(x, shape of the result)"""
    shape = static_shape(root.results[0].type)
    return UNKNOWN if shape is None or not is_known(root) else Reshape(x, listed(shape))


@rule(
    BatchNormalizationV6(
        x, value.scale, value.bias, value.mean, value.variance, epsilon=attr.epsilon, is_test=attr.test
    )
)
def batch_normalization_6(
    root: Operation,
    x: SSAValue,
    scale: SSAValue,
    bias: SSAValue,
    mean: SSAValue,
    variance: SSAValue,
    epsilon: float,
    test: int,
) -> RewriteResult:
    """BatchNormalization with `is_test` 1 is the inference mode, with one result"""
    if not test or any(result.type != NONE for result in root.results[1:]):
        return MatchFailure("it is in training")
    if not is_known(root):
        return UNKNOWN
    made = BatchNormalizationInferenceMode(x, scale, bias, mean, variance, epsilon=epsilon)
    return [made, *[absent] * (len(root.results) - 1)]


UNARY = (
    *("Abs", "Ceil", "Elu", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Neg", "Reciprocal", "Relu"),
    *("Selu", "Sigmoid", "Sqrt", "Tanh"),
)
"""Elementwise operators that had the `consumed_inputs` attribute."""

VARIADIC = ("Max", "Mean", "Min", "Sum")

PAIRS: dict[str, tuple[Template, Template]] = {
    "AddV1": (AddV1, Add),
    "AddV6": (AddV6, Add),
    "AndV1": (AndV1, And),
    "DivV1": (DivV1, Div),
    "DivV6": (DivV6, Div),
    "EqualV1": (EqualV1, Equal),
    "GreaterV1": (GreaterV1, Greater),
    "LessV1": (LessV1, Less),
    "MulV1": (MulV1, Mul),
    "MulV6": (MulV6, Mul),
    "OrV1": (OrV1, Or),
    "PowV1": (PowV1, Pow),
    "SubV1": (SubV1, Sub),
    "SubV6": (SubV6, Sub),
    "XorV1": (XorV1, Xor),
}
"""Binary operators that had the `axis` and `broadcast` attributes."""


def template(name: str) -> Template:
    """Return the template of an op by its name."""
    found: object = getattr(onnx, name)
    assert isinstance(found, Template)
    return found


RULES = rules(
    **{name: with_axis(old, new) for name, (old, new) in PAIRS.items()},
    **{f"{name}V1": renamed(template(f"{name}V1"), template(name), x) for name in UNARY},
    **{f"{name}V1": renamed(template(f"{name}V1"), template(name), rest.parts) for name in VARIADIC},
    BatchNormalizationV6=batch_normalization_6,
    ClipV6=clip_6,
    ConcatV1=renamed(ConcatV1, Concat, rest.parts),
    ConvTransposeV1=renamed(ConvTransposeV1, ConvTranspose, x, value.w, value.b),
    GemmV6=renamed(GemmV6, Gemm, x, y, value.c),
    OneHotV9=renamed(OneHotV9, OneHot, x, y, value.numbers),
    PReluV1=of_channels(PReluV1),
    PReluV6=of_channels(PReluV6),
    ReshapeV1=reshape_1,
    SliceV1=slice_1,
    TopKV1=top_k_1,
    UpsampleV7=upsample_7,
)
