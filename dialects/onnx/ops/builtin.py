"""Structural ops: entry point, terminators, absent values, and custom operators."""

from __future__ import annotations

from xdsl.dialects.builtin import LocationAttr, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.attribute_builders import int_attr, is_array
from xonnc.dialects.onnx.constraints import INT64, INT_ARRAY_ATTR, INT_ATTR, STRING_ATTR, TENSOR, TYPE_ATTR
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import NONE, are_compatible, is_ranked


@irdl_op_definition
class NoValueOp(OnnxOp):
    """
    An optional operand that is not there.

    ```mlir
    %0 = "onnx.NoValue"() <{value}> : () -> none
    ```
    """

    name = "onnx.NoValue"

    none_val = result_def(NONE)

    value = opt_prop_def(UnitAttr)
    """Set by passes and import; text may lack it, and stays without."""

    traits = traits_def(Pure())

    def __init__(self, location: LocationAttr | None = None) -> None:
        super().__init__(properties={"value": UnitAttr()}, result_types=[NONE])
        if location is not None:
            self.location = location


@irdl_op_definition
class EntryPointOp(OnnxOp):
    """
    The function that is the model.

    ```mlir
    "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
    ```
    """

    name = "onnx.EntryPoint"

    func = prop_def(SymbolRefAttr)

    def __init__(self, func: str | SymbolRefAttr) -> None:
        super().__init__(properties={"func": SymbolRefAttr(func) if isinstance(func, str) else func})


@irdl_op_definition
class ReturnOp(OnnxOp):
    """
    The results of a function; their types may say more than the function's.

    ```mlir
    onnx.Return %0, %1 : tensor<2xf32>, tensor<i64>
    ```
    """

    name = "onnx.Return"

    arguments = var_operand_def()

    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    traits = traits_def(IsTerminator(), HasParent(FuncOp))

    def __init__(self, *arguments: SSAValue) -> None:
        super().__init__(operands=[arguments])

    def verify_(self) -> None:
        function = self.parent_op()
        if not isinstance(function, FuncOp):
            return
        name, results = function.sym_name.data, function.function_type.outputs.data
        if len(self.arguments) != len(results):
            raise VerifyException(
                f"'onnx.Return' op has {len(self.arguments)} operands, "
                f"but enclosing function (@{name}) returns {len(results)}"
            )
        for index, (argument, result) in enumerate(zip(self.arguments, results, strict=True)):
            if not are_compatible(argument.type, result):
                raise VerifyException(
                    f"type of return operand {index} ({argument.type}) is incompatible with "
                    f"function result type ({result}) in function @{name}"
                )


@irdl_op_definition
class YieldOp(OnnxOp):
    """
    The results of a region: of a branch, or of one iteration of a loop.

    ```mlir
    onnx.Yield %0 : tensor<2xf32>
    ```
    """

    name = "onnx.Yield"

    arguments = var_operand_def()

    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, *arguments: SSAValue) -> None:
        super().__init__(operands=[arguments])

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is not None and not (isinstance(parent, OnnxOp) and parent.regions):
            raise VerifyException(f"'onnx.Yield' op ends a region of an onnx op, not of '{parent.name}'")


@irdl_op_definition
class CustomOp(OnnxOp):
    """
    An operator that is not ONNX's; its attributes are the op's attributes.

    ```mlir
    %1 = "onnx.Custom"(%0) <{function_name = "Spline"}> {domain_name = "org.example", knots = 4 : si64}
      : (tensor<2xf32>) -> tensor<*xf32>
    ```
    """

    name = "onnx.Custom"

    inputs = var_operand_def()

    outputs = var_result_def()

    function_name = prop_def(STRING_ATTR)
    inputs_for_infer = opt_prop_def(INT_ARRAY_ATTR)
    output_element_type = opt_prop_def(TYPE_ATTR)
    shape_infer_pattern = opt_prop_def(STRING_ATTR)

    traits = traits_def(Pure())

    @property
    def domain(self) -> str:
        """The domain of the operator; empty for ONNX's own."""
        domain = self.attributes.get("domain_name")
        return domain.data if isinstance(domain, StringAttr) else ""

    def verify_(self) -> None:
        pattern = self.shape_infer_pattern
        if pattern is not None and pattern.data not in SHAPE_PATTERNS:
            raise VerifyException(
                f"'onnx.Custom' op has shape_infer_pattern \"{pattern.data}\"; "
                f"it is one of {', '.join(SHAPE_PATTERNS)}"
            )
        self._verify_captures()

    def _verify_captures(self) -> None:
        """Whether `onnx.captures` names last operands: what graphs among the attributes read by name."""
        captured = self.attributes.get("onnx.captures")
        names = captured.data if is_array(captured) else ()
        are_names = is_array(captured) and all(isinstance(name, StringAttr) for name in names)
        if captured is not None and (not are_names or len(names) > len(self.operands)):
            raise VerifyException(
                f"'onnx.Custom' op has onnx.captures {captured}; it is the names of some of the last of "
                f"its {len(self.operands)} operands"
            )


SHAPE_PATTERNS = ("SameAs", "MDBroadcast")
"""Rules by which the shape of a custom op's result follows from its operands' shapes."""


@irdl_op_definition
class DimOp(OnnxOp):
    """
    The size of one dimension.

    ```mlir
    %1 = "onnx.Dim"(%0) <{axis = 0 : si64}> : (tensor<?x3xf32>) -> tensor<1xi64>
    ```
    """

    name = "onnx.Dim"

    data = operand_def(TENSOR)

    dim = result_def(INT64)

    axis = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())

    def verify_(self) -> None:
        type_ = self.data.type
        if not is_ranked(type_):
            raise VerifyException("'onnx.Dim' op input must have shape and rank.")
        rank, axis = len(type_.get_shape()), self.axis.value.data
        if not 0 <= axis < rank:
            raise VerifyException(
                f"'onnx.Dim' op attribute \"axis\" value is {axis}, accepted range is [0, {rank - 1}]."
            )


@irdl_op_definition
class DimGroupOp(OnnxOp):
    """
    Says that a dimension belongs to a group of dimensions which are equal at run time.

    ```mlir
    "onnx.DimGroup"(%0) <{axis = 0 : si64, group_id = 1 : si64}> : (tensor<?x3xf32>) -> ()
    ```
    """

    name = "onnx.DimGroup"

    data = operand_def(TENSOR)

    axis = prop_def(INT_ATTR, int_attr(0))
    group_id = prop_def(INT_ATTR, int_attr(-1))


@irdl_op_definition
class PrintSignatureOp(OnnxOp):
    """
    Prints the types of its operands when the model runs, and their elements if `print_data` is not 0.

    ```mlir
    "onnx.PrintSignature"(%0) <{op_name = "conv1", print_data = 0 : si64}> : (tensor<2xf32>) -> ()
    ```
    """

    name = "onnx.PrintSignature"

    input = var_operand_def()

    op_name = prop_def(STRING_ATTR)
    print_data = prop_def(INT_ATTR)


OPS: tuple[type[OnnxOp], ...] = (
    CustomOp,
    DimGroupOp,
    DimOp,
    EntryPointOp,
    NoValueOp,
    PrintSignatureOp,
    ReturnOp,
    YieldOp,
)
