"""Conversion between tensors of a model and constants of the IR, dense and sparse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from xonnc.dialects.onnx.builtin_attributes import SparseElementsAttr, StringElementsAttr
from xonnc.dialects.onnx.elements import DisposablePool, ElementsAttr, elements_array
from xonnc.dialects.onnx.elements.dense import stored_form
from xonnc.dialects.onnx.types import element_type_of, tensor_type
from xonnc.errors import XonncError
from xonnc.formats.onnx.message_codec import text_or_bytes
from xonnc.formats.onnx.tensors import AnyArray, TensorReader, element_count, encode, proto


@dataclass
class ConstantReader:
    """Reads constants of one model as views of its file, owned by the context's constant pool."""

    reader: TensorReader
    pool: DisposablePool

    def dense(self, tensor: onnx.TensorProto) -> ElementsAttr:
        """The elements of `tensor`."""
        array = self.reader.array(tensor)
        return self.pool.create(array, tensor_type(array.shape, element_type_of(array.dtype)))

    def sparse(self, tensor: onnx.SparseTensorProto) -> SparseElementsAttr:
        """The elements of a sparse tensor; linear indices become coordinates."""
        name = tensor.values.name
        shape = tuple(tensor.dims)
        element_count(f"sparse tensor '{name}'", shape)
        values, indices = self.reader.array(tensor.values), self.reader.array(tensor.indices)
        if values.ndim != 1 or indices.dtype != np.int64:
            raise XonncError(f"sparse tensor '{name}': values must be a list and indices of type INT64")
        where = coordinates(name, indices, shape)
        if len(where) != len(values):
            raise XonncError(f"sparse tensor '{name}': {len(values)} values and {len(where)} indices")
        element_type = element_type_of(values.dtype)
        elements = _strings(values) if values.dtype == np.object_ else _plain(values)
        return SparseElementsAttr(tensor_type(shape, element_type), _plain(where), elements)


def array_of(attr: Attribute) -> AnyArray:
    """The elements of any constant; `XonncError` for an attribute that is none."""
    if isinstance(attr, StringElementsAttr):
        return attr.array()
    array = elements_array(attr)
    if array is None:
        raise XonncError(f"{attr}: not a constant tensor")
    return array


def sparse_proto(attr: SparseElementsAttr, name: str = "") -> onnx.SparseTensorProto:
    """The inverse of `ConstantReader.sparse`; indices are coordinates."""
    return onnx.SparseTensorProto(
        dims=attr.type.get_shape(),
        values=proto(array_of(attr.values), name),
        indices=proto(array_of(attr.indices)),
    )


def coordinates(name: str, indices: AnyArray, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Indices of a sparse tensor, one row of coordinates for each value."""
    if indices.ndim == 2 and indices.shape[1] == len(shape):
        inside = bool(((indices >= 0) & (indices < np.array(shape, np.int64))).all())
        where = indices
    elif indices.ndim == 1:
        inside = bool(((indices >= 0) & (indices < element_count(name, shape))).all())
        where = np.stack(np.unravel_index(indices, shape), axis=-1) if inside and indices.size else indices
    else:
        raise XonncError(
            f"sparse tensor '{name}': indices of shape {list(indices.shape)} for rank {len(shape)}"
        )
    if not inside:
        raise XonncError(f"sparse tensor '{name}': an index lies outside of shape {list(shape)}")
    return np.ascontiguousarray(where, np.int64).reshape(len(indices), len(shape))


def _plain(array: AnyArray) -> DenseIntOrFPElementsAttr:
    type_ = tensor_type(array.shape, element_type_of(array.dtype))
    return DenseIntOrFPElementsAttr.new((type_, BytesAttr(stored_form(array).tobytes())))


def _strings(array: AnyArray) -> StringElementsAttr:
    type_ = tensor_type(array.shape, element_type_of(array.dtype))
    return StringElementsAttr(
        type_, ArrayAttr([text_or_bytes(encode(text)) for text in array.reshape(-1).tolist()])
    )
