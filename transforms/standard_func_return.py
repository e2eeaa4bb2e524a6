"""`standard-func-return`: replace `onnx.Return` by `func.return`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.onnx.ops.builtin import ReturnOp


@dataclass(frozen=True)
class StandardFuncReturn(ModulePass):
    """
    Replace `onnx.Return` by `func.return` and set the result types of functions to the returned types.

    `onnx.Return` accepts operands of more refined types than the function's results, `func.return` does not.
    """

    name = "standard-func-return"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace the terminator of every function in `op`."""
        for end in [inner for inner in op.walk() if isinstance(inner, ReturnOp)]:
            function = end.parent_op()
            if isinstance(function, func.FuncOp):
                returned = [operand.type for operand in end.operands]
                function.function_type = FunctionType.from_lists(function.function_type.inputs.data, returned)
            standard = func.ReturnOp(*end.operands)
            standard.location = end.location
            standard.attributes.update(end.attributes)
            Rewriter.replace_op(end, standard)
