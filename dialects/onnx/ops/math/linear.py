"""Products of matrices; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.quantization import parameter_of
from xonnc.dialects.onnx.checks.shapes import einsum, gemm, matrix_product, rank_at_least, square
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class DetOp(OnnxOp):
    """The determinant of each matrix in the last two dimensions."""

    name = "onnx.Det"

    OP_TYPE: ClassVar = "Det"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure(), Checks(rank_at_least("X", 2), square("X")))


@irdl_op_definition
class EinsumOp(OnnxOp):
    """Sums of products as an equation of subscripts says, such as `ij,jk->ik`."""

    name = "onnx.Einsum"

    OP_TYPE: ClassVar = "Einsum"
    SINCE: ClassVar = 12

    T: ClassVar = types("T", "ints uints floats bf16")

    Inputs = var_operand_def(T.one_or_more)

    Output = result_def(T)

    equation = prop_def(STRING_ATTR)

    traits = traits_def(Pure(), Checks(einsum))


@irdl_op_definition
class GemmOp(OnnxOp):
    """
    `Y = alpha A' B' + beta C`, where `'` transposes if `transA` or `transB` is not 0.

    ```mlir
    %r = "onnx.Gemm"(%0, %1, %2) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "onnx.Gemm"

    OP_TYPE: ClassVar = "Gemm"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")

    A = operand_def(T)
    B = operand_def(T)
    C = operand_def(T.optional)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1.0))
    beta = prop_def(FLOAT_ATTR, float_attr(1.0))
    transA = prop_def(INT_ATTR, int_attr(0))
    transB = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure(), Checks(gemm))


@irdl_op_definition
class GemmV6Op(OnnxOp):
    """
    `Y = alpha A' B' + beta C`, where `'` transposes if `transA` or `transB` is not 0.

    As of opsets 1 to 6. C is broadcast only if `broadcast` is 1.
    """

    name = "onnx.GemmV6"

    OP_TYPE: ClassVar = "Gemm"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")

    A = operand_def(T)
    B = operand_def(T)
    C = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1.0))
    beta = prop_def(FLOAT_ATTR, float_attr(1.0))
    broadcast = prop_def(INT_ATTR, int_attr(0))
    transA = prop_def(INT_ATTR, int_attr(0))
    transB = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure(), Checks(gemm))


@irdl_op_definition
class MatMulOp(OnnxOp):
    """
    `Y = A B` as `numpy.matmul` has it.

    ```mlir
    %r = "onnx.MatMul"(%0, %1) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "onnx.MatMul"

    OP_TYPE: ClassVar = "MatMul"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")

    A = operand_def(T)
    B = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure(), Checks(matrix_product("A", "B")))


@irdl_op_definition
class MatMulIntegerOp(OnnxOp):
    """`Y = (A - a_zero_point) (B - b_zero_point)` in 32-bit integers."""

    name = "onnx.MatMulInteger"

    OP_TYPE: ClassVar = "MatMulInteger"
    SINCE: ClassVar = 10

    T1: ClassVar = types("T1", "i8 ui8")
    T2: ClassVar = types("T2", "i8 ui8")
    T3: ClassVar = types("T3", "i32")

    A = operand_def(T1)
    B = operand_def(T2)
    a_zero_point = operand_def(T1.optional)
    b_zero_point = operand_def(T2.optional)

    Y = result_def(T3)

    traits = traits_def(
        Pure(),
        Checks(
            matrix_product("A", "B"),
            parameter_of("a_zero_point", "A", -2),
            parameter_of("b_zero_point", "B", -1),
        ),
    )


@irdl_op_definition
class QLinearMatMulOp(OnnxOp):
    """The product of quantized matrices, quantized again."""

    name = "onnx.QLinearMatMul"

    OP_TYPE: ClassVar = "QLinearMatMul"
    SINCE: ClassVar = 10

    T1: ClassVar = types("T1", "i8 ui8 float8s")
    TS: ClassVar = types("TS", "f16 f32 bf16")
    T2: ClassVar = types("T2", "i8 ui8 float8s")
    T3: ClassVar = types("T3", "i8 ui8 float8s")

    a = operand_def(T1)
    a_scale = operand_def(TS)
    a_zero_point = operand_def(T1)
    b = operand_def(T2)
    b_scale = operand_def(TS)
    b_zero_point = operand_def(T2)
    y_scale = operand_def(TS)
    y_zero_point = operand_def(T3)

    y = result_def(T3)

    traits = traits_def(
        Pure(),
        Checks(
            matrix_product("a", "b"),
            parameter_of("a_scale", "a", -2),
            parameter_of("a_zero_point", "a", -2),
            parameter_of("b_scale", "b", -1),
            parameter_of("b_zero_point", "b", -1),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    DetOp,
    EinsumOp,
    GemmOp,
    GemmV6Op,
    MatMulOp,
    MatMulIntegerOp,
    QLinearMatMulOp,
)
