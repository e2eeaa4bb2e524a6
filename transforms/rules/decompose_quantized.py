"""
Decompose quantized operators to float operators between DequantizeLinear and QuantizeLinear (QDQ form).

Semantics: ONNX (QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger) and onnxruntime's contrib operators
(QLinearAdd, QLinearMul, QLinearConcat, QGemm, QLinearGlobalAveragePool, QLinearLeakyRelu, QLinearSigmoid).
A Clip of integers becomes one of floats, before their QuantizeLinear; inputs that are cast to 16 bits, as
in ModelOpt's mixed precision, are quantized from float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import NONE, element_type, static_shape, unranked
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import (
    ONNX,
    Add,
    Cast,
    Clip,
    Concat,
    Conv,
    ConvInteger,
    Custom,
    DequantizeLinear,
    Gemm,
    GlobalAveragePool,
    LeakyRelu,
    MatMul,
    MatMulInteger,
    Mul,
    QLinearConv,
    QLinearMatMul,
    QuantizeLinear,
    Sigmoid,
)
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    Literal,
    MatchFailure,
    RewriteResult,
    attr,
    const,
    maybe,
    one_use,
    rest,
    value,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.op_builder import OpBuilder

x, w, b = value.x, value.w, value.b
x_scale, w_scale, y_scale = value.x_scale, value.w_scale, value.y_scale
x_zero, w_zero, y_zero = value.x_zero, value.w_zero, value.y_zero

WINDOW = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
"""Properties common to float and integer convolutions."""

REAL = (f16, bf16, f32, f64)

MICROSOFT = "com.microsoft"


def window(root: Operation) -> dict[str, Attribute]:
    """Return the attributes of an integer convolution that its float form takes over."""
    return {name: root.properties[name] for name in WINDOW if name in root.properties}


def read(builder: OpBuilder, quantized: Sequence[SSAValue], axis: int = 1) -> SSAValue:
    """Dequantize; per-channel scales run along `axis`."""
    return builder(DequantizeLinear, *quantized, types=[unranked(f32)], axis=axis)


def product(builder: OpBuilder, first: SSAValue, second: SSAValue) -> SSAValue:
    """Return the product of two scales, folded if both are constant."""
    one, other = constant_of(ONNX, first), constant_of(ONNX, second)
    return (
        builder(Mul, first, second)
        if one is None or other is None
        else builder.constant(one.array * other.array)
    )


def ones_for(builder: OpBuilder, zero: SSAValue) -> SSAValue:
    """Return unit scales, one per zero point."""
    shape = () if zero.type == NONE else static_shape(zero.type)
    return builder.constant(np.ones(shape or (), np.float32))


@rule(QLinearConv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b))
def qlinear_conv(
    root: Operation,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue,
    w: SSAValue,
    w_scale: SSAValue,
    w_zero: SSAValue,
    y_scale: SSAValue,
    y_zero: SSAValue,
    b: SSAValue,
) -> RewriteResult:
    """qlinear_conv(x, w, b) = quantize(conv(x', w', b')), b has the scale x_scale w_scale"""

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        bias = b
        if b.type != NONE:
            bias = read(builder, (b, product(builder, x_scale, w_scale), builder.none()), axis=0)
        numbers = read(builder, (x, x_scale, x_zero)), read(builder, (w, w_scale, w_zero), axis=0)
        made = builder(Conv, *numbers, bias, types=[unranked(f32)], **window(op))
        return builder.last(QuantizeLinear, made, y_scale, y_zero)

    return ImperativeRewrite(write)


@rule(QLinearMatMul(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero))
def qlinear_matmul(
    root: Operation,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue,
    w: SSAValue,
    w_scale: SSAValue,
    w_zero: SSAValue,
    y_scale: SSAValue,
    y_zero: SSAValue,
) -> RewriteResult:
    """qlinear_matmul(x, w) = quantize(x' w')"""
    if static_shape(x_scale.type) not in ((), (1,)):
        return MatchFailure("the first factor has one scale per row, not one in all")

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        numbers = read(builder, (x, x_scale, x_zero)), read(builder, (w, w_scale, w_zero))
        made = builder(MatMul, *numbers, types=[unranked(f32)])
        return builder.last(QuantizeLinear, made, y_scale, y_zero)

    return ImperativeRewrite(write)


def becomes_real(root: Operation) -> str | None:
    """The int32 sums are cast to a float type."""
    return None if element_type(root.results[0].type) in REAL else "the sums stay integers"


@rule(Cast(one_use(ConvInteger(x, w, x_zero, w_zero).named("sums"))), where=becomes_real)
def conv_integer(
    root: Operation, sums: Operation, x: SSAValue, w: SSAValue, x_zero: SSAValue, w_zero: SSAValue
) -> RewriteResult:
    """float(conv_integer(x, w)) = conv(x', w') with unit scales"""

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        numbers = (
            read(builder, (x, ones_for(builder, x_zero), x_zero)),
            read(builder, (w, ones_for(builder, w_zero), w_zero), axis=0),
        )
        return builder.last(Conv, *numbers, builder.none(), **window(sums))

    return ImperativeRewrite(write)


@rule(Cast(one_use(MatMulInteger(x, w, x_zero, w_zero))), where=becomes_real)
def matmul_integer(
    root: Operation, x: SSAValue, w: SSAValue, x_zero: SSAValue, w_zero: SSAValue
) -> RewriteResult:
    """float(matmul_integer(x, w)) = x' w' with unit scales"""
    if x_zero.type != NONE and static_shape(x_zero.type) not in ((), (1,)):
        return MatchFailure("the first factor has one zero point per row, not one in all")

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        numbers = (
            read(builder, (x, ones_for(builder, x_zero), x_zero)),
            read(builder, (w, ones_for(builder, w_zero), w_zero)),
        )
        return builder.last(MatMul, *numbers)

    return ImperativeRewrite(write)


def given(root: Operation, name: str, default: float) -> Literal | Attribute:
    """Return an attribute of a custom op, or a default."""
    return root.attributes.get(name, default)


Operands = Sequence[SSAValue]


def added(builder: OpBuilder, root: Operation, operands: Operands) -> SSAValue:
    """Dequantize and add (QLinearAdd)."""
    return builder(Add, read(builder, operands[:3]), read(builder, operands[3:]), types=[unranked(f32)])


def multiplied(builder: OpBuilder, root: Operation, operands: Operands) -> SSAValue:
    """Dequantize and multiply (QLinearMul)."""
    return builder(Mul, read(builder, operands[:3]), read(builder, operands[3:]), types=[unranked(f32)])


def gemm(builder: OpBuilder, root: Operation, operands: Operands) -> SSAValue:
    """Dequantize and apply Gemm (QGemm); the int32 bias has the product of the operands' scales as scale."""
    first, second, bias = operands[:3], operands[3:6], operands[6]
    by_rows = root.attributes.get("transB")
    if bias.type != NONE:
        bias = read(builder, (bias, product(builder, first[1], second[1]), builder.none()), axis=0)
    numbers = read(builder, first), read(builder, second, axis=0 if decode(by_rows) else 1)
    properties = {name: root.attributes[name] for name in GEMM if name in root.attributes}
    return builder(Gemm, *numbers, bias, types=[unranked(f32)], **properties)


def global_average_pool(builder: OpBuilder, root: Operation, operands: Operands) -> SSAValue:
    """Dequantize and apply GlobalAveragePool."""
    return builder(GlobalAveragePool, read(builder, operands), types=[unranked(f32)])


def leaky_relu(builder: OpBuilder, root: Operation, operands: Operands) -> SSAValue:
    """Dequantize and apply LeakyRelu."""
    alpha = given(root, "alpha", 0.01)
    return builder(LeakyRelu, read(builder, operands), types=[unranked(f32)], alpha=alpha)


def sigmoid(builder: OpBuilder, root: Operation, operands: Operands) -> SSAValue:
    """Dequantize and apply Sigmoid."""
    return builder(Sigmoid, read(builder, operands), types=[unranked(f32)])


GEMM = ("alpha", "transA", "transB")

CUSTOM: Mapping[str, tuple[int, Callable[[OpBuilder, Operation, Operands], SSAValue]]] = {
    "QGemm": (7, gemm),
    "QLinearAdd": (6, added),
    "QLinearGlobalAveragePool": (3, global_average_pool),
    "QLinearLeakyRelu": (3, leaky_relu),
    "QLinearMul": (6, multiplied),
    "QLinearSigmoid": (3, sigmoid),
}
"""onnxruntime's operators: number of operands before the result's scale, and the float computation."""


def is_known(root: Operation, function: str) -> str | None:
    """The op is a supported operator of com.microsoft, channels-first, with all operands."""
    if decode(root.attributes.get("domain_name")) != MICROSOFT:
        return "it is not one of com.microsoft's"
    if function == "QLinearConcat":
        return None if len(root.operands) > 2 and len(root.operands) % 3 == 2 else "operands are missing"
    if function not in CUSTOM:
        return "no such operator on integers"
    if decode(root.attributes.get("channels_last")):
        return "channels come last"
    return None if len(root.operands) == CUSTOM[function][0] + 2 else "operands are missing"


@rule(Custom(rest.operands, function_name=attr.function), where=is_known)
def custom(root: Operation, function: str) -> RewriteResult:
    """q(a, b) = quantize(f(a', b'))"""

    def write(op: Operation) -> Sequence[SSAValue]:
        to, operands = OpBuilder(op), op.operands
        if function == "QLinearConcat":
            parts = [read(to, operands[index : index + 3]) for index in range(2, len(operands), 3)]
            made = to(Concat, *parts, types=[unranked(f32)], axis=given(op, "axis", 1))
            return to.last(QuantizeLinear, made, *operands[:2])
        count, compute = CUSTOM[function]
        return to.last(QuantizeLinear, compute(to, op, operands[:count]), *operands[count:])

    return ImperativeRewrite(write)


@rule(Clip(one_use(QuantizeLinear(x, const.scale, maybe.zero).named("quantized")), maybe.low, maybe.high))
def clip(
    root: Operation,
    quantized: Operation,
    x: SSAValue,
    scale: Constant,
    zero: Constant | None,
    low: Constant | None,
    high: Constant | None,
) -> RewriteResult:
    """
    clip(quantize(x), a, b) = quantize(clip(x, s (a - z), s (b - z))): rounding is monotonic

    Brevitas writes integers of fewer than 8 bits, or from -127 on, so.
    """
    if scale.array.size != 1 or scale.array.dtype != np.float32 or not scale.array.reshape(()) > 0:
        return MatchFailure("not one float32 scale for all")
    point = 0 if zero is None else int(zero.array.reshape(()))
    bounds = [
        None if each is None else np.float32(int(each.array.reshape(())) - point) * scale.array.reshape(())
        for each in (low, high)
    ]

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        operands = [builder.none() if each is None else builder.constant(np.asarray(each)) for each in bounds]
        clipped = builder(Clip, x, *operands, types=[x.type])
        return builder.last(QuantizeLinear, clipped, *quantized.operands[1:])

    return ImperativeRewrite(write)


def is_narrowed(root: Operation, x: SSAValue, scale: Constant) -> str | None:
    """A float32 is quantized in 16 bits."""
    narrow = scale.array.dtype.itemsize == 2
    return None if element_type(x.type) == f32 and narrow else "not from float32 to 16 bits"


@rule(QuantizeLinear(Cast(x), const.scale, maybe.zero), where=is_narrowed)
def narrow(root: Operation, x: SSAValue, scale: Constant, zero: Constant | None) -> RewriteResult:
    """quantize(float16(x)) = quantize(x), but for the rounding to 16 bits"""
    return QuantizeLinear(x, scale.array.astype(np.float32), *root.operands[2:], like=root)


RULES = rules(
    ClipOfQuantized=clip,
    QuantizeLinearOfCast=narrow,
    ConvIntegerOfRealNumbers=conv_integer,
    MatMulIntegerOfRealNumbers=matmul_integer,
    QLinearConvOfRealNumbers=qlinear_conv,
    QLinearCustomOfRealNumbers=custom,
    QLinearMatMulOfRealNumbers=qlinear_matmul,
)
