"""The epilogue of int8 kernels: dequantize the i32 sum, apply fused operators, requantize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.int8.int8_layout import quantized
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ElementwiseBody
from xonnc.lowering.onnx_to_krnl.planning.int8_fusion import Int8Fusion
from xonnc.lowering.onnx_to_krnl.planning.int8_patterns import (
    QuantizationParams,
    dequantized_source,
    quantization_params,
)


def int8_epilogue(
    fusion: Int8Fusion, kernel: KernelBuilder, total: SSAValue | None, read: Sequence[SSAValue]
) -> SSAValue:
    """
    Return the element to store for an i32 sum.

    `read` holds, as far as the fusion has them: scale and bias of the product, constants per channel, and
    int8 operands at the same position.
    """
    product, rest = fusion.product, list(read)
    body = ElementwiseBody(kernel, {})
    if product is not None and total is not None:
        if product.scales is None:
            return total
        number = Scalar(kernel, kernel.add(arith.SIToFPOp(total, f32))) * Scalar(kernel, rest.pop(0))
        if product.bias is not None:
            number = number + Scalar(kernel, rest.pop(0))
        if product.quantization is not None:
            return _quantize(number, product.quantization, False)[1]
        body.define(product.result, number)
    scalars = (Scalar(kernel, each) for each in rest)
    known = dict(zip((*fusion.channels, *fusion.images), scalars, strict=True))
    steps: dict[SSAValue, Scalar] = {}
    made: SSAValue | None = None
    for op in fusion.ops:
        if isinstance(op, QuantizeLinearOp):
            _read_others(op.x, body, known)
            quantization = quantization_params(op)
            assert quantization is not None
            steps[op.y], made = _quantize(body(op.x), quantization, fusion.is_function)
        elif isinstance(op, DequantizeLinearOp) and op.x in steps:
            quantization = quantization_params(op)
            assert quantization is not None
            real = steps[op.x] * quantization.scale
            # Rounding keeps the sign of a small negative number as -0, which integers do not have.
            body.define(op.y, real + 0.0 if fusion.is_function else real)
        elif isinstance(op, DequantizeLinearOp):
            _read_others(op.y, body, known)
        else:
            for operand in op.operands:
                _read_others(operand, body, known)
            body.define(op.results[0], body.compute(op))
    assert made is not None
    return made


def _quantize(number: Scalar, quantization: QuantizationParams, is_exact: bool) -> tuple[Scalar, SSAValue]:
    """Quantize a real number; return it in units of the scale, rounded, and as int8."""
    if is_exact:
        steps = number / quantization.scale
    elif quantization.scale != 1:
        # Multiply by the reciprocal: it can differ from the division in the last bit, which only matters
        # halfway between two integers.
        steps = number * float(np.float32(1) / np.float32(quantization.scale))
    else:
        steps = number
    rounded, bits = quantized(steps, quantization)
    return rounded, bits.to(i8).value


def _read_others(operand: SSAValue, body: ElementwiseBody, known: Mapping[SSAValue, Scalar]) -> None:
    """Define the scalar of an operand that is a constant, a value per channel or dequantized int8."""
    if operand.type == NONE or body.is_defined(operand):
        return
    array, source = constant_elements(operand), dequantized_source(operand)
    if operand in known:
        body.define(operand, known[operand])
    elif array is not None:
        number = body.kernel.constant(float(array.reshape(-1)[0]), f32)
        body.define(operand, Scalar(body.kernel, number))
    elif source is not None:
        value, quantization = source
        byte = known[value].to(i32, unsigned=True)
        centred = byte - quantization.zero
        real = centred.made(arith.SIToFPOp(centred.value, f32))
        body.define(operand, real * quantization.scale)
