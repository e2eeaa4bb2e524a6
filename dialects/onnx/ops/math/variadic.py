"""Functions of any number of tensors; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Commutative, Pure

from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import broadcast_all
from xonnc.dialects.onnx.constraints import INT_ARRAY_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class MaxOp(OnnxOp):
    """
    The elementwise maximum; inputs broadcast as in NumPy.

    ```mlir
    %r = "onnx.Max"(%0, %1) : (tensor<4x1xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    ```
    """

    name = "onnx.Max"

    OP_TYPE: ClassVar = "Max"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "ints uints floats bf16")

    data_0 = var_operand_def(T.one_or_more)

    max = result_def(T)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast_all("data_0")))


@irdl_op_definition
class MaxV1Op(OnnxOp):
    """
    The elementwise maximum; inputs broadcast as in NumPy.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.MaxV1"

    OP_TYPE: ClassVar = "Max"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    data_0 = var_operand_def(T.one_or_more)

    max = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast_all("data_0")))


@irdl_op_definition
class MeanOp(OnnxOp):
    """The elementwise mean; inputs broadcast as in NumPy."""

    name = "onnx.Mean"

    OP_TYPE: ClassVar = "Mean"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    data_0 = var_operand_def(T.one_or_more)

    mean = result_def(T)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast_all("data_0")))


@irdl_op_definition
class MeanV1Op(OnnxOp):
    """
    The elementwise mean; inputs broadcast as in NumPy.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.MeanV1"

    OP_TYPE: ClassVar = "Mean"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    data_0 = var_operand_def(T.one_or_more)

    mean = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast_all("data_0")))


@irdl_op_definition
class MinOp(OnnxOp):
    """The elementwise minimum; inputs broadcast as in NumPy."""

    name = "onnx.Min"

    OP_TYPE: ClassVar = "Min"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "ints uints floats bf16")

    data_0 = var_operand_def(T.one_or_more)

    min = result_def(T)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast_all("data_0")))


@irdl_op_definition
class MinV1Op(OnnxOp):
    """
    The elementwise minimum; inputs broadcast as in NumPy.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.MinV1"

    OP_TYPE: ClassVar = "Min"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    data_0 = var_operand_def(T.one_or_more)

    min = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast_all("data_0")))


@irdl_op_definition
class SumOp(OnnxOp):
    """The elementwise sum; inputs broadcast as in NumPy."""

    name = "onnx.Sum"

    OP_TYPE: ClassVar = "Sum"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    data_0 = var_operand_def(T.one_or_more)

    sum = result_def(T)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast_all("data_0")))


@irdl_op_definition
class SumV1Op(OnnxOp):
    """
    The elementwise sum; inputs broadcast as in NumPy.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.SumV1"

    OP_TYPE: ClassVar = "Sum"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    data_0 = var_operand_def(T.one_or_more)

    sum = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast_all("data_0")))


OPS: tuple[type[OnnxOp], ...] = (
    MaxOp,
    MaxV1Op,
    MeanOp,
    MeanV1Op,
    MinOp,
    MinV1Op,
    SumOp,
    SumV1Op,
)
