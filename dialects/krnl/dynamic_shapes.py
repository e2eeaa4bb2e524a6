"""Operations on buffers of dynamic shape, and run-time checks of sizes."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, StringAttr
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.krnl.memory import element_of, shape_of


@irdl_op_definition
class ShapedOp(IRDLOperation):
    """
    A reinterpretation of a contiguous buffer in the result's shape; one size per `?`.

    ```mlir
    %m = "krnl.shaped"(%b, %n, %s) : (memref<?xf32>, index, index) -> memref<?x?x64xf32>
    ```
    """

    name = "krnl.shaped"

    source = operand_def(MemRefType)
    sizes = var_operand_def(IndexType)
    result = result_def(MemRefType)

    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        """One size per dynamic dimension, the same element type."""
        count = shape_of(self.result).count(DYNAMIC_INDEX)
        if len(self.sizes) != count:
            raise VerifyException(
                f"krnl.shaped: {self.result.type} has {count} dynamic dimensions, "
                f"found {len(self.sizes)} sizes"
            )
        if element_of(self.source) != element_of(self.result):
            raise VerifyException("krnl.shaped: element type of the result matches that of the source")


@irdl_op_definition
class SubviewOp(IRDLOperation):
    """
    The slice of a buffer at an index of its first axis, without this axis, or consecutive slices from the
    index on, with it; one size per `?` of the result.

    ```mlir
    %p = "krnl.subview"(%m, %i, %n) : (memref<?x?x64xf32>, index, index) -> memref<?x64xf32>
    %r = "krnl.subview"(%p, %i, %k) : (memref<?x64xf32>, index, index) -> memref<?x64xf32>
    ```
    """

    name = "krnl.subview"

    source = operand_def(MemRefType)
    index = operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    result = result_def(MemRefType)

    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        """The source's shape but for its first axis, its element type, one size per dynamic dimension."""
        shape, inner = shape_of(self.result), shape_of(self.source)[1:]
        if shape != inner and shape[1:] != inner:
            raise VerifyException(f"krnl.subview: {self.result.type} is not a slice of {self.source.type}")
        if len(self.sizes) != shape_of(self.result).count(DYNAMIC_INDEX):
            raise VerifyException(
                f"krnl.subview: {self.result.type} has {shape_of(self.result).count(DYNAMIC_INDEX)} dynamic "
                f"dimensions, found {len(self.sizes)} sizes"
            )
        if element_of(self.source) != element_of(self.result):
            raise VerifyException("krnl.subview: element type of the result matches that of the source")


@irdl_op_definition
class RequireOp(IRDLOperation):
    """
    A run-time check that two sizes are equal; otherwise the run fails, and `what` names the size found.

    ```mlir
    "krnl.require"(%found, %expected) {what = "axis 0 of input 'mask'"} : (index, index) -> ()
    ```
    """

    name = "krnl.require"

    found = operand_def(IndexType)
    expected = operand_def(IndexType)
    what = prop_def(StringAttr)

    irdl_options = (ParsePropInAttrDict(),)
