"""Elementwise ops of TOSA that xDSL lacks."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType, i1, i8
from xdsl.dialects.tosa import NanMode, NanModeAttr, are_tosa_broadcastable
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Commutative, Pure
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.tosa.types import element_of, require_shape, shape_of


class UnaryOp(IRDLOperation, ABC):
    """An elementwise function of one tensor."""

    input1 = operand_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The result has the operand's type."""
        if self.output.type != self.input1.type:
            raise VerifyException(
                f"{self.name}: the result has the operand's type {self.input1.type}, found {self.output.type}"
            )


class BinaryOp(IRDLOperation, ABC):
    """An elementwise function of two tensors of one rank; sizes of 1 are broadcast."""

    input1 = operand_def(TensorType)
    input2 = operand_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Equal element types, shapes of one rank that are broadcast."""
        require_operands(self)
        if element_of(self.output) != element_of(self.input1):
            raise VerifyException(
                f"{self.name}: the result has elements {element_of(self.input1)}, "
                f"found {element_of(self.output)}"
            )


class ComparisonOp(IRDLOperation, ABC):
    """A comparison of two tensors of one rank; sizes of 1 are broadcast."""

    input1 = operand_def(TensorType)
    input2 = operand_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Equal element types, shapes of one rank that are broadcast, a result of `i1`."""
        require_operands(self)
        if element_of(self.output) != i1:
            raise VerifyException(f"{self.name}: the result has elements i1, found {element_of(self.output)}")


def require_operands(op: BinaryOp | ComparisonOp) -> None:
    """Raise `VerifyException` unless operands have one element type and are broadcast to the result."""
    if element_of(op.input1) != element_of(op.input2):
        raise VerifyException(
            f"{op.name}: operands have one element type, found {op.input1.type} and {op.input2.type}"
        )
    if not are_tosa_broadcastable(op.input1.type, op.input2.type, op.output.type):
        raise VerifyException(
            f"{op.name}: {op.input1.type} and {op.input2.type} are not broadcast to {op.output.type}"
        )


@irdl_op_definition
class AbsOp(UnaryOp):
    """`|x|`."""

    name = "tosa.abs"


@irdl_op_definition
class CeilOp(UnaryOp):
    """The least integer not below `x`."""

    name = "tosa.ceil"


@irdl_op_definition
class ErfOp(UnaryOp):
    """The Gauss error function."""

    name = "tosa.erf"


@irdl_op_definition
class ExpOp(UnaryOp):
    """`e^x`."""

    name = "tosa.exp"


@irdl_op_definition
class FloorOp(UnaryOp):
    """The greatest integer not above `x`."""

    name = "tosa.floor"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm."""

    name = "tosa.log"


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """The negation of booleans."""

    name = "tosa.logical_not"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """`1 / sqrt(x)`."""

    name = "tosa.rsqrt"


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """`1 / (1 + e^-x)`."""

    name = "tosa.sigmoid"


@irdl_op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent."""

    name = "tosa.tanh"


@irdl_op_definition
class EqualOp(ComparisonOp):
    """`x = y`."""

    name = "tosa.equal"

    traits = traits_def(Commutative())


@irdl_op_definition
class GreaterOp(ComparisonOp):
    """`x > y`."""

    name = "tosa.greater"


@irdl_op_definition
class GreaterEqualOp(ComparisonOp):
    """`x >= y`."""

    name = "tosa.greater_equal"


@irdl_op_definition
class IntDivOp(BinaryOp):
    """The quotient of integers, rounded towards zero."""

    name = "tosa.intdiv"


@irdl_op_definition
class LogicalAndOp(BinaryOp):
    """Whether both booleans are true."""

    name = "tosa.logical_and"

    traits = traits_def(Commutative())


@irdl_op_definition
class LogicalOrOp(BinaryOp):
    """Whether either boolean is true."""

    name = "tosa.logical_or"

    traits = traits_def(Commutative())


@irdl_op_definition
class LogicalXorOp(BinaryOp):
    """Whether one boolean is true, the other false."""

    name = "tosa.logical_xor"

    traits = traits_def(Commutative())


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The greater of two elements."""

    name = "tosa.maximum"

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))

    traits = traits_def(Commutative())
    irdl_options = (ParsePropInAttrDict(),)


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The lesser of two elements."""

    name = "tosa.minimum"

    nan_mode = opt_prop_def(NanModeAttr, default_value=NanModeAttr(NanMode.PROPAGATE))

    traits = traits_def(Commutative())
    irdl_options = (ParsePropInAttrDict(),)


@irdl_op_definition
class PowOp(BinaryOp):
    """`x^y`."""

    name = "tosa.pow"


@irdl_op_definition
class CastOp(IRDLOperation):
    """
    A conversion to another element type.

    A float becomes the nearest integer, of two the even one, and is clamped to the range of the type.
    """

    name = "tosa.cast"

    input = operand_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The result has the operand's shape."""
        require_shape(self.name, self.output, shape_of(self.input))


@irdl_op_definition
class SelectOp(IRDLOperation):
    """
    The elements of one tensor or another by a condition; sizes of 1 are broadcast.

    ```mlir
    %y = "tosa.select"(%c, %a, %b) : (tensor<1x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "tosa.select"

    input1 = operand_def(TensorType)
    input2 = operand_def(TensorType)
    input3 = operand_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """A condition of `i1`, equal element types of the others, shapes that are broadcast."""
        if element_of(self.input1) != i1:
            raise VerifyException(f"tosa.select: the condition has elements i1, found {self.input1.type}")
        if not element_of(self.input2) == element_of(self.input3) == element_of(self.output):
            raise VerifyException(
                f"tosa.select: both choices and the result have one element type, found {self.input2.type}, "
                f"{self.input3.type} and {self.output.type}"
            )
        if not all(
            len(shape_of(each)) == len(shape_of(self.output))
            and all(a in (1, b) for a, b in zip(shape_of(each), shape_of(self.output), strict=True))
            for each in self.operands
        ):
            raise VerifyException(f"tosa.select: the operands are not broadcast to {self.output.type}")


@irdl_op_definition
class TableOp(IRDLOperation):
    """
    The entry of a table for each element: `table[x + 128]`.

    ```mlir
    %y = "tosa.table"(%x, %t) : (tensor<1x8xi8>, tensor<256xi8>) -> tensor<1x8xi8>
    ```
    """

    name = "tosa.table"

    input1 = operand_def(TensorType)
    table = operand_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """256 entries for elements of 8 bits, 513 for those of 16 bits; the operand's shape."""
        entries = 256 if element_of(self.input1) == i8 else 513
        if shape_of(self.table) != (entries,):
            raise VerifyException(
                f"tosa.table: {element_of(self.input1)} takes {entries} entries, found {self.table.type}"
            )
        require_shape(self.name, self.output, shape_of(self.input1))


OPS = (
    AbsOp,
    CastOp,
    CeilOp,
    EqualOp,
    ErfOp,
    ExpOp,
    FloorOp,
    GreaterEqualOp,
    GreaterOp,
    IntDivOp,
    LogOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    LogicalXorOp,
    MaximumOp,
    MinimumOp,
    PowOp,
    RsqrtOp,
    SelectOp,
    SigmoidOp,
    TableOp,
    TanhOp,
)
"""Elementwise ops."""
