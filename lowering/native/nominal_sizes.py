"""Nominal sizes of buffers of dynamic shape, by which memory plans for such shapes are compared."""

from __future__ import annotations

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.types import numpy_dtype
from xonnc.formats.native.program import aligned

NOMINAL_DIMENSIONS = (64, 1024)
"""Sizes assumed for a dynamic dimension of an input: sizes of buffers grow with it, or with its square."""


def nominal_bytes(buffer: SSAValue, dimension: int = NOMINAL_DIMENSIONS[0]) -> int:
    """
    Return the bytes of a buffer of dynamic shape if each dynamic dimension of the inputs is `dimension`.

    It is 0 for a buffer of static shape.
    """
    owner = buffer.owner
    if not isinstance(owner, memref.AllocOp) or not is_buffer(buffer.type) or not owner.dynamic_sizes:
        return 0
    sizes: dict[SSAValue, int] = {}
    count = 1
    for size in buffer.type.get_shape():
        count *= max(size, 1)
    for size in owner.dynamic_sizes:
        count *= max(1, _nominal(size, sizes, dimension))
    return aligned(count * numpy_dtype(buffer.type.element_type).itemsize)


def _nominal(size: SSAValue, sizes: dict[SSAValue, int], dimension: int) -> int:
    """Evaluate a dynamic dimension of a buffer; `sizes` holds those evaluated already."""
    if size in sizes:
        return sizes[size]
    owner = size.owner
    values = (
        [_nominal(operand, sizes, dimension) for operand in owner.operands]
        if isinstance(owner, SIZE_ARITHMETIC)
        else []
    )
    match owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            found = number.data
        case arith.AddiOp():
            found = values[0] + values[1]
        case arith.MuliOp():
            found = values[0] * values[1]
        case arith.FloorDivSIOp():
            found = values[0] // max(1, values[1])
        case arith.MinSIOp():
            found = min(values)
        case arith.MaxSIOp():
            found = max(values)
        case _:
            found = dimension
    sizes[size] = found
    return found


SIZE_ARITHMETIC = (arith.AddiOp, arith.FloorDivSIOp, arith.MaxSIOp, arith.MinSIOp, arith.MuliOp)
