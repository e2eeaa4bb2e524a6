"""ONNX types beyond MLIR's own, and how element types map to numpy's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias, TypeGuard

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import NoneType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def

AnyTensor: TypeAlias = TensorType[Attribute] | UnrankedTensorType[Attribute]

NONE = NoneType()
"""The type of an operand or result that is not there."""


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """Text of any length: `!onnx.String`; an element type, as in `tensor<2x!onnx.String>`."""

    name = "onnx.String"


@irdl_attr_definition
class SeqType(ParametrizedAttribute, TypeAttribute):
    """A sequence of values of one type: `!onnx.Seq<tensor<*xf32>>`."""

    name = "onnx.Seq"
    element_type: Attribute = param_def()


@irdl_attr_definition
class OptType(ParametrizedAttribute, TypeAttribute):
    """A value that may be absent at run time: `!onnx.Opt<tensor<2xf32>>`."""

    name = "onnx.Opt"
    element_type: Attribute = param_def()


@irdl_attr_definition
class MapType(ParametrizedAttribute, TypeAttribute):
    """A dictionary of ai.onnx.ml: `!onnx.Map<i64, tensor<f32>>`."""

    name = "onnx.Map"
    key_type: Attribute = param_def()
    value_type: Attribute = param_def()


ELEMENT_DTYPES: dict[Attribute, np.dtype[np.generic]] = {
    element: np.dtype(dtype)
    for element, dtype in (
        (builtin.i1, np.bool_),
        (builtin.IntegerType(2), ml_dtypes.int2),
        (builtin.IntegerType(4), ml_dtypes.int4),
        (builtin.i8, np.int8),
        (builtin.i16, np.int16),
        (builtin.i32, np.int32),
        (builtin.i64, np.int64),
        (builtin.IntegerType(2, builtin.Signedness.UNSIGNED), ml_dtypes.uint2),
        (builtin.IntegerType(4, builtin.Signedness.UNSIGNED), ml_dtypes.uint4),
        (builtin.IntegerType(8, builtin.Signedness.UNSIGNED), np.uint8),
        (builtin.IntegerType(16, builtin.Signedness.UNSIGNED), np.uint16),
        (builtin.IntegerType(32, builtin.Signedness.UNSIGNED), np.uint32),
        (builtin.IntegerType(64, builtin.Signedness.UNSIGNED), np.uint64),
        (builtin.f16, np.float16),
        (builtin.bf16, ml_dtypes.bfloat16),
        (builtin.f32, np.float32),
        (builtin.f64, np.float64),
        (builtin.f8E4M3FN, ml_dtypes.float8_e4m3fn),
        (builtin.f8E4M3FNUZ, ml_dtypes.float8_e4m3fnuz),
        (builtin.f8E5M2, ml_dtypes.float8_e5m2),
        (builtin.f8E5M2FNUZ, ml_dtypes.float8_e5m2fnuz),
        (builtin.f8E8M0FNU, ml_dtypes.float8_e8m0fnu),
        (builtin.f6E2M3FN, ml_dtypes.float6_e2m3fn),
        (builtin.f6E3M2FN, ml_dtypes.float6_e3m2fn),
        (builtin.f4E2M1FN, ml_dtypes.float4_e2m1fn),
        (builtin.ComplexType(builtin.f32), np.complex64),
        (builtin.ComplexType(builtin.f64), np.complex128),
        (StringType(), np.object_),
    )
}
"""Every element type an ONNX tensor can have, with the numpy type that holds one element."""

ELEMENT_TYPES_BY_CODE: dict[int, Attribute] = dict(
    enumerate(
        (
            builtin.f32,
            builtin.IntegerType(8, builtin.Signedness.UNSIGNED),
            builtin.i8,
            builtin.IntegerType(16, builtin.Signedness.UNSIGNED),
            builtin.i16,
            builtin.i32,
            builtin.i64,
            StringType(),
            builtin.i1,
            builtin.f16,
            builtin.f64,
            builtin.IntegerType(32, builtin.Signedness.UNSIGNED),
            builtin.IntegerType(64, builtin.Signedness.UNSIGNED),
            builtin.ComplexType(builtin.f32),
            builtin.ComplexType(builtin.f64),
            builtin.bf16,
            builtin.f8E4M3FN,
            builtin.f8E4M3FNUZ,
            builtin.f8E5M2,
            builtin.f8E5M2FNUZ,
            builtin.IntegerType(4, builtin.Signedness.UNSIGNED),
            builtin.IntegerType(4),
            builtin.f4E2M1FN,
            builtin.f8E8M0FNU,
            builtin.IntegerType(2, builtin.Signedness.UNSIGNED),
            builtin.IntegerType(2),
            builtin.f6E2M3FN,
            builtin.f6E3M2FN,
        ),
        start=1,
    )
)
"""Element types by the number that attributes such as `dtype` give them, `TensorProto.DataType`."""

_ELEMENTS_BY_DTYPE = {dtype: element for element, dtype in ELEMENT_DTYPES.items()}


def numpy_dtype(element_type: Attribute) -> np.dtype[np.generic]:
    """The numpy type of one element; `KeyError` for a type that is no ONNX element type."""
    return ELEMENT_DTYPES[element_type]


def element_type_of(dtype: np.dtype[np.generic]) -> Attribute:
    """The MLIR element type for a numpy type (`int8` is `i8`, `uint8` is `ui8`, `bool` is `i1`)."""
    return _ELEMENTS_BY_DTYPE[dtype]


@cache
def tensor_type(shape: Sequence[int], element_type: Attribute) -> TensorType[Attribute]:
    """A ranked tensor type, memoised (building one costs 10 us); a dynamic size is `DYNAMIC_INDEX`."""
    return TensorType(element_type, shape)


@cache
def unranked(element_type: Attribute) -> UnrankedTensorType[Attribute]:
    """`tensor<*xT>`, memoised."""
    return UnrankedTensorType(element_type)


def scalar_as(like: Attribute | None, element_type: Attribute) -> TensorType[Attribute]:
    """`tensor<T>`, or `tensor<1xT>` where `like` has one axis: both hold one element."""
    is_vector = like is not None and is_ranked(like) and len(like.get_shape()) == 1
    return tensor_type((1,) if is_vector else (), element_type)


def is_tensor(type_: Attribute) -> TypeGuard[AnyTensor]:
    """Whether `type_` is a tensor type, ranked or not."""
    return isinstance(type_, TensorType | UnrankedTensorType)


def is_ranked(type_: Attribute) -> TypeGuard[TensorType[Attribute]]:
    """Whether `type_` is a ranked tensor type."""
    return isinstance(type_, TensorType)


def element_type(type_: Attribute) -> Attribute | None:
    """The element type of a tensor type, `None` for any other type."""
    return type_.element_type if is_tensor(type_) else None


def with_element(
    type_: Attribute, element: Attribute
) -> TensorType[Attribute] | UnrankedTensorType[Attribute]:
    """Return the type of a tensor of the same shape with another element type."""
    return TensorType(element, type_.get_shape()) if is_ranked(type_) else unranked(element)


def static_shape(type_: Attribute) -> tuple[int, ...] | None:
    """The shape of a ranked tensor type without dynamic dimensions, else `None`."""
    if not is_ranked(type_):
        return None
    shape = type_.get_shape()
    return None if builtin.DYNAMIC_INDEX in shape else shape


def are_compatible(a: Attribute, b: Attribute) -> bool:
    """Whether a value may have both types: equal, or tensors (in sequences too) whose known sizes agree."""
    if a == b:
        return True
    if isinstance(a, SeqType | OptType) and isinstance(b, SeqType | OptType) and type(a) is type(b):
        return are_compatible(a.element_type, b.element_type)
    if not is_tensor(a) or not is_tensor(b) or a.element_type != b.element_type:
        return False
    if not is_ranked(a) or not is_ranked(b):
        return True
    dynamic = builtin.DYNAMIC_INDEX
    pairs = zip(a.get_shape(), b.get_shape(), strict=False)
    return len(a.get_shape()) == len(b.get_shape()) and all(x == y or dynamic in (x, y) for x, y in pairs)
