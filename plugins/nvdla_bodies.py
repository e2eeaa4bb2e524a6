"""Operators of plug-ins that NVDLA runs by a body of their own, instead of decomposed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import is_quantized
from xonnc.plugins.op_class import PluginOp

BindOperands = Callable[[Operation, Sequence[Any]], Any]
"""A function that binds a node and its operands to the declaration: what a body gets as `op`."""


def lowered_by_nvdla(module: ModuleOp, is_calibrated: bool) -> Callable[[Operation], bool]:
    """
    Return which operators of a module NVDLA runs by a body of their own.

    In int8, as after calibration, those are the operators with a `lookup`; in float16 also those with
    `layers`.
    """
    return partial(_has_body, is_int8=is_calibrated or is_quantized(module))


def _has_body(op: Operation, is_int8: bool) -> bool:
    if not isinstance(op, PluginOp):
        return False
    has = op.DECLARATION.function
    return has("lookup") is not None or (has("layers") is not None and not is_int8)
