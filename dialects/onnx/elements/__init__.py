"""
Constants: compile-time tensors that share memory, are evaluated lazily and freed early.

`DisposablePool.of(ctx).create(array)` creates a constant, `elements_array(attr)` reads any. See
`pool` for how they are freed and `payload` for lazy evaluation.
"""

from xonnc.dialects.onnx.elements.attribute import DisposableElementsAttr, DisposedElementsError
from xonnc.dialects.onnx.elements.pool import (
    Collection,
    DisposablePool,
    ElementsAttr,
    PoolStatistics,
    elements_array,
    type_of_elements,
)
from xonnc.dialects.onnx.elements.roots import (
    constants_in,
    constants_of,
    drop_attributes,
    dropping_listener,
)

__all__ = [
    "Collection",
    "DisposableElementsAttr",
    "DisposablePool",
    "DisposedElementsError",
    "ElementsAttr",
    "PoolStatistics",
    "constants_in",
    "constants_of",
    "drop_attributes",
    "dropping_listener",
    "elements_array",
    "type_of_elements",
]
