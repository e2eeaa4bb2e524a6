"""Types of values in IR as the plug-in API has them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xonnc.dialects.onnx.types import is_ranked, is_tensor, numpy_dtype
from xonnc.plugins.types import Dim, TensorType
from xonnc.transforms.dims.expressions import DimSymbols
from xonnc.transforms.shapes.inference_context import UNKNOWN


def tensor_type_of(ssa: SSAValue, symbols: DimSymbols) -> TensorType | None:
    """Return the type of a tensor with a symbol for each dynamic dimension; `None` for other values."""
    type_ = ssa.type
    if not is_tensor(type_):
        return None
    dtype = numpy_dtype(type_.element_type)
    if not is_ranked(type_):
        return TensorType(dtype, None)
    sizes = [
        Dim(symbols.symbol((ssa, axis)), symbols) if size == UNKNOWN else size
        for axis, size in enumerate(type_.get_shape())
    ]
    return TensorType(dtype, tuple(sizes))
