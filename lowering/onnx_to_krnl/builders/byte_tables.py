"""Functions of one byte as tables: 256 results, computed in each run, and an access for each element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import LookUpOp
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume

BYTES = 256

MIN_ELEMENTS = 8 * BYTES
"""Elements of a tensor for which a table is made."""


def takes_table(sizes: Sequence[Size]) -> bool:
    """Whether a function of one byte is computed by a table, for a tensor of so many elements."""
    count = volume(sizes)
    return not is_static(count) or count >= MIN_ELEMENTS


def byte_table(
    name: str, kernel: KernelBuilder, element: Attribute, others: Sequence[SSAValue], builder: LoweringBuilder
) -> SSAValue:
    """Call a kernel of a table, all bytes, and `others`, which computes the function; return the table."""
    table = builder.allocate([BYTES], element)
    all_bytes = builder.constant_buffer(np.arange(BYTES, dtype=np.uint8))
    builder.call(name, kernel, [table], [all_bytes, *others])
    return table


def found_in(kernel: KernelBuilder, table: SSAValue, byte: SSAValue, builder: LoweringBuilder) -> SSAValue:
    """Return the element of a table for a byte."""
    return kernel.add(LookUpOp(table, byte, builder.target.byte_shuffle))
