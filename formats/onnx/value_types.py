"""Conversion between `TypeProto` and MLIR types, and the names of dimensions in `ValueInfoProto`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import onnx
from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr, TensorType
from xdsl.ir import Attribute

from xonnc.dialects.onnx.types import (
    NONE,
    MapType,
    OptType,
    SeqType,
    is_ranked,
    is_tensor,
    tensor_type,
    unranked,
)
from xonnc.errors import XonncError
from xonnc.formats.onnx.tensors import DATA_TYPES, ELEMENT_TYPES, MAX_SIZE, check_rank

SPARSE = StringAttr("sparse")
"""The encoding attribute of sparse tensor types."""

ANONYMOUS_DIMS = ("", "?")
"""`dim_param` values of exporters for unknown dimensions; each such dimension is distinct."""

_DIM_PARAM = re.compile(r"(?:^|,)(\d+):")


def is_declared(proto: onnx.TypeProto) -> bool:
    """
    Whether a type says anything.

    Exporters declare results that they do not know, such as those of functions, as tensors of the element
    type UNDEFINED.
    """
    kind = proto.WhichOneof("value")
    return kind is not None and (kind != "tensor_type" or proto.tensor_type.elem_type != 0)


def to_type(proto: onnx.TypeProto, location: str) -> Attribute:
    """Convert to an MLIR type, `none` if nothing is declared; `XonncError` for opaque types."""
    if not is_declared(proto):
        return NONE
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        return _tensor(proto.tensor_type, location)
    if kind == "sequence_type":
        return SeqType(to_type(proto.sequence_type.elem_type, location))
    if kind == "optional_type":
        return OptType(to_type(proto.optional_type.elem_type, location))
    if kind == "map_type":
        return MapType(
            _element(proto.map_type.key_type, location), to_type(proto.map_type.value_type, location)
        )
    if kind == "sparse_tensor_type" and proto.sparse_tensor_type.HasField("shape"):
        dense = _tensor(proto.sparse_tensor_type, location)
        assert is_ranked(dense)
        return TensorType(dense.element_type, dense.get_shape(), SPARSE)
    raise XonncError(f"{location}: the type {kind} is opaque or has no shape, so it cannot be represented")


def to_proto(type_: Attribute, dim_params: Mapping[int, str] = {}) -> onnx.TypeProto | None:
    """Convert an MLIR type to a `TypeProto`, or `None`; `dim_params` names dynamic dimensions by axis."""
    proto = onnx.TypeProto()
    return proto if _write(proto, type_, dim_params) else None


def value_info(name: str, type_: Attribute, dim_params: Mapping[int, str] = {}) -> onnx.ValueInfoProto:
    """Return the `ValueInfoProto` that follows from a name and a type."""
    info = onnx.ValueInfoProto(name=name)
    if type_ != NONE:
        _write(info.type, type_, dim_params)
    return info


def dim_params_of(proto: onnx.TypeProto) -> dict[int, str]:
    """Return the names of a tensor type's dynamic dimensions by axis."""
    if proto.WhichOneof("value") != "tensor_type":
        return {}
    dims = proto.tensor_type.shape.dim
    return {
        axis: dim.dim_param for axis, dim in enumerate(dims) if dim.dim_param.strip() not in ANONYMOUS_DIMS
    }


def write_dim_params(names: Mapping[int, str]) -> str:
    """`{0: "batch", 1: "seq"}` as `0:batch,1:seq`, the spelling of onnx-mlir."""
    return ",".join(f"{axis}:{name}" for axis, name in names.items())


def read_dim_params(text: str) -> dict[int, str]:
    """The inverse of `write_dim_params`."""
    parts = _DIM_PARAM.split(text)
    return {int(axis): name for axis, name in zip(parts[1::2], parts[2::2], strict=True)}


def _tensor(proto: onnx.TypeProto.Tensor | onnx.TypeProto.SparseTensor, location: str) -> Attribute:
    element = _element(proto.elem_type, location)
    if not proto.HasField("shape"):
        return unranked(element)
    sizes = (static_size(dim) for dim in proto.shape.dim)
    shape = tuple(DYNAMIC_INDEX if size is None else size for size in sizes)
    check_rank(location, len(shape))
    size = 1
    for extent in shape:
        size *= extent if extent > 0 else 1
    if size * 16 > MAX_SIZE:
        raise XonncError(f"{location}: shape {_text(shape)} overflows: more elements than 64 bits can count")
    return tensor_type(shape, element)


def static_size(dim: onnx.TensorShapeProto.Dimension) -> int | None:
    """Return the size of a dimension; `None` if it has no value or a negative one, and so is dynamic."""
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None


def _text(shape: tuple[int, ...]) -> str:
    return "x".join("?" if extent == DYNAMIC_INDEX else str(extent) for extent in shape)


def _element(number: int, location: str) -> Attribute:
    element = ELEMENT_TYPES.get(number)
    if element is None:
        raise XonncError(f"{location}: element type {number} is not one of ONNX's 1 to {max(ELEMENT_TYPES)}")
    return element


def _write(proto: onnx.TypeProto, type_: Attribute, dim_params: Mapping[int, str]) -> bool:
    if is_tensor(type_):
        return _write_tensor(proto, type_, dim_params)
    match type_:
        case SeqType():
            return _write(proto.sequence_type.elem_type, type_.element_type, {})
        case OptType():
            return _write(proto.optional_type.elem_type, type_.element_type, {})
        case MapType():
            if type_.key_type not in DATA_TYPES:
                return False
            proto.map_type.key_type = DATA_TYPES[type_.key_type]
            return _write(proto.map_type.value_type, type_.value_type, {})
        case _:
            return False


def _write_tensor(proto: onnx.TypeProto, type_: Attribute, dim_params: Mapping[int, str]) -> bool:
    if not is_tensor(type_) or type_.element_type not in DATA_TYPES:
        return False
    ranked = is_ranked(type_)
    tensor = proto.sparse_tensor_type if ranked and type_.encoding == SPARSE else proto.tensor_type
    tensor.elem_type = DATA_TYPES[type_.element_type]
    if not ranked:
        return True
    tensor.shape.SetInParent()
    for axis, extent in enumerate(type_.get_shape()):
        dim = tensor.shape.dim.add()
        if extent != DYNAMIC_INDEX:
            dim.dim_value = extent
        elif axis in dim_params:
            dim.dim_param = dim_params[axis]
    return True
