"""Scalar functions that the dialects of MLIR in xDSL lack."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    AnySignlessIntegerType,
    BoolAttr,
    Float64Type,
    StringAttr,
    f32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class ErfOp(IRDLOperation):
    """
    The error function.

    ```mlir
    %y = "krnl.erf"(%x) : (f32) -> f32
    ```
    """

    name = "krnl.erf"

    x = operand_def(AnyFloatConstr)
    y = result_def(AnyFloatConstr)

    traits = traits_def(Pure())


@irdl_op_definition
class DecodeOp(IRDLOperation):
    """
    Conversion of the bits of a narrow float to f32.

    ```mlir
    %y = "krnl.decode"(%bits) {format = f8E4M3FN} : (i8) -> f32
    ```
    """

    name = "krnl.decode"

    bits = operand_def(AnySignlessIntegerType)
    format = prop_def(Attribute)
    y = result_def(f32)

    traits = traits_def(Pure())

    def __init__(self, bits: SSAValue, format: Attribute):
        super().__init__(operands=[bits], properties={"format": format}, result_types=[f32])


@irdl_op_definition
class EncodeOp(IRDLOperation):
    """
    Conversion of an f32 to the bits of the nearest narrow float.

    Out of range, the largest finite with `saturate`, else infinity or NaN, as the format has. `round_mode` is
    for powers of two (f8E8M0FNU): `up`, `down` or `nearest`.

    ```mlir
    %bits = "krnl.encode"(%x) {format = bf16, saturate = true, round_mode = "up"} : (f32) -> i16
    ```
    """

    name = "krnl.encode"

    x = operand_def(f32)
    format = prop_def(Attribute)
    saturate = prop_def(BoolAttr)
    round_mode = prop_def(StringAttr)
    bits = result_def(AnySignlessIntegerType)

    traits = traits_def(Pure())

    def __init__(
        self, x: SSAValue, format: Attribute, bits: Attribute, saturate: bool = True, round_mode: str = "up"
    ):
        properties = {
            "format": format,
            "saturate": BoolAttr.from_bool(saturate),
            "round_mode": StringAttr(round_mode),
        }
        super().__init__(operands=[x], properties=properties, result_types=[bits])


@irdl_op_definition
class RemainderOp(IRDLOperation):
    """
    The remainder of a division truncated towards 0, as `fmod` of C: exact, with the dividend's sign.

    ```mlir
    %r = "krnl.remainder"(%x, %y) : (f32, f32) -> f32
    ```
    """

    name = "krnl.remainder"

    x = operand_def(AnyFloatConstr)
    y = operand_def(AnyFloatConstr)
    r = result_def(AnyFloatConstr)

    traits = traits_def(Pure())

    def __init__(self, x: SSAValue, y: SSAValue):
        super().__init__(operands=[x, y], result_types=[x.type])


@irdl_op_definition
class ToOddOp(IRDLOperation):
    """
    Conversion of f64 to f32, rounded to odd, so that rounding again does not round twice.

    ```mlir
    %y = "krnl.to_odd"(%x) : (f64) -> f32
    ```
    """

    name = "krnl.to_odd"

    x = operand_def(Float64Type)
    y = result_def(f32)

    traits = traits_def(Pure())

    def __init__(self, x: SSAValue):
        super().__init__(operands=[x], result_types=[f32])
