"""Steps of training (ai.onnx.preview.training); written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.values import one_of
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, STRING_ARRAY_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AdagradOp(OnnxOp):
    """
    Compute one iteration of ADAGRAD, a stochastic gradient based optimization algorithm. This operator can
    conduct the optimization of multiple tensor variables.
    """

    name = "onnx.Adagrad"

    DOMAIN: ClassVar = "ai.onnx.preview.training"
    OP_TYPE: ClassVar = "Adagrad"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "f32 f64")
    T2: ClassVar = types("T2", "i64")
    T3: ClassVar = types("T3", "f32 f64")

    R = operand_def(T1)
    T = operand_def(T2)
    inputs = var_operand_def(T3.independent.one_or_more)

    outputs = var_result_def(T3.independent.one_or_more)

    decay_factor = prop_def(FLOAT_ATTR, float_attr(0.0))
    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-06))
    norm_coefficient = prop_def(FLOAT_ATTR, float_attr(0.0))

    traits = traits_def(Pure())


@irdl_op_definition
class AdamOp(OnnxOp):
    """
    Compute one iteration of Adam, a stochastic gradient based optimization algorithm. This operator can
    conduct the optimization of multiple tensor variables.
    """

    name = "onnx.Adam"

    DOMAIN: ClassVar = "ai.onnx.preview.training"
    OP_TYPE: ClassVar = "Adam"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "f32 f64")
    T2: ClassVar = types("T2", "i64")
    T3: ClassVar = types("T3", "f32 f64")

    R = operand_def(T1)
    T = operand_def(T2)
    inputs = var_operand_def(T3.independent.one_or_more)

    outputs = var_result_def(T3.independent.one_or_more)

    alpha = prop_def(FLOAT_ATTR, float_attr(0.9))
    beta = prop_def(FLOAT_ATTR, float_attr(0.999))
    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-06))
    norm_coefficient = prop_def(FLOAT_ATTR, float_attr(0.0))
    norm_coefficient_post = prop_def(FLOAT_ATTR, float_attr(0.0))

    traits = traits_def(Pure())


@irdl_op_definition
class GradientOp(OnnxOp):
    """Gradient operator computes the partial derivatives of a specific tensor w.r.t. some other tensors."""

    name = "onnx.Gradient"

    DOMAIN: ClassVar = "ai.onnx.preview.training"
    OP_TYPE: ClassVar = "Gradient"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "i1 ints uints floats complexes string")
    T2: ClassVar = types("T2", "floats")

    Inputs = var_operand_def(T1.independent.one_or_more)

    Outputs = var_result_def(T2.independent.one_or_more)

    xs = prop_def(STRING_ARRAY_ATTR)
    y = prop_def(STRING_ATTR)
    zs = opt_prop_def(STRING_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class MomentumOp(OnnxOp):
    """
    Compute one iteration of stochastic gradient update with momentum. This operator can conduct the
    optimization of multiple tensor variables.
    """

    name = "onnx.Momentum"

    DOMAIN: ClassVar = "ai.onnx.preview.training"
    OP_TYPE: ClassVar = "Momentum"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "f32 f64")
    T2: ClassVar = types("T2", "i64")
    T3: ClassVar = types("T3", "f32 f64")

    R = operand_def(T1)
    T = operand_def(T2)
    inputs = var_operand_def(T3.independent.one_or_more)

    outputs = var_result_def(T3.independent.one_or_more)

    alpha = prop_def(FLOAT_ATTR)
    beta = prop_def(FLOAT_ATTR)
    mode = prop_def(STRING_ATTR)
    norm_coefficient = prop_def(FLOAT_ATTR)

    traits = traits_def(Pure(), Checks(one_of("mode", "nesterov", "standard")))


OPS: tuple[type[OnnxOp], ...] = (
    AdagradOp,
    AdamOp,
    GradientOp,
    MomentumOp,
)
