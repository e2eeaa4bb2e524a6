"""Refuse tensors larger than the address space before anything of that size is allocated."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import element_type, numpy_dtype, static_shape
from xonnc.errors import XonncError
from xonnc.formats.native.program import MAX_BYTES


def check_tensor_sizes(module: ModuleOp) -> None:
    """Raise `XonncError` for a result with a negative dimension or more than `MAX_BYTES` bytes."""
    for op in module.walk():
        if isinstance(op, OnnxOp):
            for result in op.results:
                if (problem := _problem(result)) is not None:
                    raise XonncError(f"{describe(op)}: {problem}")


def _problem(value: SSAValue) -> str | None:
    shape, element = static_shape(value.type), element_type(value.type)
    if shape is None or element is None:
        return None
    if min(shape, default=0) < 0:
        return f"a result of shape {list(shape)} is requested; sizes must be 0 or more"
    if prod(shape) * numpy_dtype(element).itemsize > MAX_BYTES:
        return f"a result of shape {list(shape)} is requested, which takes more than {MAX_BYTES >> 40} TiB"
    return None
