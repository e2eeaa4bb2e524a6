"""Functions of numbers that MLIR's own dialects in xDSL lack."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloatConstr
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class ErfOp(IRDLOperation):
    """
    The error function of one number.

    ```mlir
    %y = "krnl.erf"(%x) : (f32) -> f32
    ```
    """

    name = "krnl.erf"

    x = operand_def(AnyFloatConstr)
    y = result_def(AnyFloatConstr)

    traits = traits_def(Pure())
