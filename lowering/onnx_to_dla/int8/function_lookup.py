"""Unary functions by lookup tables of the CDP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.lowering.dla_planning.lookup_tables import Function
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.builders.unary_functions import FP16_FUNCTIONS, INT8_FUNCTIONS
from xonnc.lowering.onnx_to_dla.int8.quantized_builder import lowers_int8


@lowers(*FP16_FUNCTIONS)
def function(op: OnnxOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower a unary function as a lookup table: an approximation in FP16, exact for integers."""
    return builder.function(op.operands[0], INT8_FUNCTIONS[type(op)](op))


@lowers_int8(*(INT8_FUNCTIONS.keys() - FP16_FUNCTIONS.keys()))
def function_of_integers(op: OnnxOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower a unary function as a lookup table with an entry per integer, which is exact."""
    return builder.function(op.operands[0], INT8_FUNCTIONS[type(op)](op))


def add_unary_function(kind: type[OnnxOp], function_of: Callable[[Any], Function]) -> None:
    """
    Register the elementwise function of an operator from outside of the compiler, for FP16 and int8.

    In FP16 a function is refused that no lookup table approximates; int8 takes any.
    """
    FP16_FUNCTIONS[kind] = INT8_FUNCTIONS[kind] = function_of
    lowers(kind)(function)
