"""Loops whose iterations run in native code a strip at a time."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    prop_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class StripMinedLoopOp(IRDLOperation):
    """
    An ONNX Loop whose body runs up to `rows` iterations in native code; the runtime joins the scan outputs.

    Operands and results are those of `onnx.Loop`. The body takes the first iteration of a strip, the
    iteration before which it ends, and the carried values. It yields whether the loop goes on, the next
    iteration, the carried values, and `rows` rows of each scan output, of which as many are valid as there
    were iterations.

    ```mlir
    %y, %s = "krnl.strip_mined_loop"(%m, %c, %x) <{rows = 256 : i64}> ({
    ^bb0(%first: tensor<i64>, %end: tensor<i64>, %x0: tensor<3xf32>):
      …
      krnl.yield %go, %next, %y0, %rows : tensor<i1>, tensor<i64>, tensor<3xf32>, tensor<256x3xf32>
    }) : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32>)
    ```
    """

    name = "krnl.strip_mined_loop"

    inputs = var_operand_def()
    rows = prop_def(IntegerAttr.constr(i64))
    outputs = var_result_def()
    body = region_def("single_block")

    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, inputs: Sequence[SSAValue], rows: int, types: Sequence[Attribute], body: Region):
        super().__init__(
            operands=[inputs],
            properties={"rows": IntegerAttr(rows, i64)},
            result_types=[types],
            regions=[body],
        )

    def verify_(self) -> None:
        """At least one row; as many arguments as operands, two more yielded values than results."""
        if self.rows.value.data < 1:
            raise VerifyException(f"krnl.strip_mined_loop: rows is at least 1, found {self.rows.value.data}")
        if len(self.body.block.args) != len(self.inputs):
            raise VerifyException(
                f"krnl.strip_mined_loop: {len(self.inputs)} operands, but {len(self.body.block.args)} "
                "arguments of the body"
            )
        end = self.body.block.last_op
        found = 0 if end is None else len(end.operands)
        if found != len(self.outputs) + 2:
            raise VerifyException(
                f"krnl.strip_mined_loop: its body yields {len(self.outputs) + 2} values, found {found}"
            )
