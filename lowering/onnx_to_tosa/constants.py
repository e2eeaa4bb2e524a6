"""Constant tensors and shapes as ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import tosa
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IndexType, IntAttr, TensorType

from xonnc.dialects.onnx.elements.dense import stored_form
from xonnc.dialects.onnx.types import element_type_of, tensor_type
from xonnc.dialects.tosa.data_movement import ConstShapeOp
from xonnc.dialects.tosa.types import ShapeType


def constant(array: npt.NDArray[Any]) -> tosa.ConstOp:
    """Return a constant tensor of an array's shape and type."""
    type_ = tensor_type(array.shape, element_type_of(array.dtype))
    values = DenseIntOrFPElementsAttr.new((type_, BytesAttr(stored_form(array).tobytes())))
    return tosa.ConstOp.create(result_types=[type_], properties={"values": values})


def constant_sizes(sizes: Sequence[int]) -> ConstShapeOp:
    """Return a constant shape."""
    stored = BytesAttr(np.array(sizes, np.int64).tobytes())
    values = DenseIntOrFPElementsAttr.new((TensorType(IndexType(), [len(sizes)]), stored))
    return ConstShapeOp.create(result_types=[ShapeType(IntAttr(len(sizes)))], properties={"values": values})
