"""A cache of convolution weights, decoded from memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from xonnc.formats.nvdla.enumerations import ConvMode, Precision, WeightFormat
from xonnc.formats.nvdla.geometry import round_up
from xonnc.formats.nvdla.records import ConvOp, ConvSurface
from xonnc.runtime.nvdla.array_types import AnyArray
from xonnc.runtime.nvdla.conv_weights import (
    WeightShape,
    decompress,
    unpack_direct,
    unpack_post_extended,
    unpack_winograd,
)
from xonnc.runtime.nvdla.element_types import element_type
from xonnc.runtime.nvdla.operation_context import OperationContext

# An image cut into row chunks uses one set of weights many times.
_KEPT_BYTES = 128 << 20
# Larger sets are decoded and multiplied in parts, to limit memory use.
_PART_BYTES = 64 << 20
# Inf counts as 65536 in convolutions.
_INFINITY = np.float32(65536.0)


@dataclass
class WeightStore:
    """An LRU cache of decoded weights by place and shape, and the weights resident in the buffer."""

    _kept: OrderedDict[tuple[object, ...], AnyArray] = field(
        default_factory=OrderedDict[tuple[object, ...], AnyArray]
    )
    _resident: tuple[WeightShape, AnyArray] | None = None

    def parts(
        self, op: ConvOp, surface: ConvSurface, shape: WeightShape, rows_at_once: int, scope: OperationContext
    ) -> Iterator[tuple[int, AnyArray]]:
        """First kernel and `[kernels, rows, columns, channels]`: int16, fp16 bits or float32."""
        resident = self._resident
        self._resident = None
        if op.weight_reuse:
            if resident is None or resident[0] != shape:
                raise scope.refuse(
                    "weight_reuse is set but no operation before it kept such weights (skip_weight_rls)"
                )
            weights = resident[1]
        elif op.weight_format == WeightFormat.UNCOMPRESSED and shape.elements * 4 > _PART_BYTES:
            yield from _large_parts(op, surface, shape, rows_at_once, scope)
            return
        else:
            weights = self._decoded(op, surface, shape, rows_at_once, scope)
        if op.skip_weight_rls:
            self._resident = shape, weights
        yield 0, weights

    def _decoded(
        self, op: ConvOp, surface: ConvSurface, shape: WeightShape, rows_at_once: int, scope: OperationContext
    ) -> AnyArray:
        cube = surface.weight_data
        location = scope.space.locate(cube.address, cube.offset, 0, f"{scope.name} weight_data")
        mask = _mask_key(op, surface, scope)
        key = (
            *location.key,
            op.weight_format,
            mask,
            op.conv_mode,
            op.in_precision,
            shape,
            rows_at_once,
            scope.exact,
        )
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        compressed = op.weight_format == WeightFormat.COMPRESSED
        stream = (
            _compressed_stream(op, surface, shape, scope)
            if compressed
            else _stream(op, surface, shape, scope)
        )
        weights = _unpack(op, stream, shape, rows_at_once, scope)
        self._kept[key] = weights
        while len(self._kept) > 1 and sum(entry.nbytes for entry in self._kept.values()) > _KEPT_BYTES:
            self._kept.popitem(last=False)
        return weights


def _large_parts(
    op: ConvOp, surface: ConvSurface, shape: WeightShape, rows_at_once: int, scope: OperationContext
) -> Iterator[tuple[int, AnyArray]]:
    stream = _stream(op, surface, shape, scope)
    groups = max(1, _PART_BYTES // (4 * shape.elements_per_kernel * shape.kernel_group))
    size = groups * shape.kernel_group
    for first in range(0, shape.kernels, size):
        part = replace(shape, kernels=min(size, shape.kernels - first))
        begin = first * shape.elements_per_kernel
        yield first, _unpack(op, stream[begin : begin + part.elements], part, rows_at_once, scope)


def _stream(op: ConvOp, surface: ConvSurface, shape: WeightShape, scope: OperationContext) -> AnyArray:
    precision = Precision(op.in_precision)
    size = shape.elements * precision.bytes
    expected = round_up(size, scope.target.cbuf_entry_bytes)
    if surface.weight_data.size != expected:
        raise scope.refuse(
            f"weight_data.size {surface.weight_data.size}: {size} bytes of weights take {expected}, "
            "whole buffer entries"
        )
    return scope.bytes_at(surface.weight_data, size, "weight_data").view(element_type(precision))


def _mask_key(op: ConvOp, surface: ConvSurface, scope: OperationContext) -> tuple[int, int, int] | None:
    if op.weight_format != WeightFormat.COMPRESSED:
        return None
    return scope.space.locate(surface.wmb_data.address, surface.wmb_data.offset, 0, scope.name).key


def _compressed_stream(
    op: ConvOp, surface: ConvSurface, shape: WeightShape, scope: OperationContext
) -> AnyArray:
    mask = scope.bytes_at(surface.wmb_data, -(-shape.elements // 8), "wmb_data")
    groups = -(-shape.kernels // shape.kernel_group)
    sizes = scope.bytes_at(surface.wgs_data, 4 * groups, "wgs_data")
    stored = scope.bytes_at(surface.weight_data, surface.weight_data.size, "weight_data")
    element = element_type(Precision(op.in_precision))
    return decompress(stored, mask, sizes, shape.elements, element, scope.name)


def _unpack(
    op: ConvOp, stream: AnyArray, shape: WeightShape, rows_at_once: int, scope: OperationContext
) -> AnyArray:
    is_half = op.in_precision == Precision.FP16
    if is_half and not scope.exact:
        dtype = np.dtype(np.float32)
        infinite = bool(((stream.view(np.uint16) & 0x7FFF) == 0x7C00).any())
        stream = stream.view(np.float16)
    else:
        dtype = np.dtype(np.uint16) if is_half else np.dtype(np.int16)
        infinite = False
    if op.conv_mode == ConvMode.WINOGRAD:
        weights = unpack_winograd(stream, shape, dtype)
    elif rows_at_once > 1:
        weights = unpack_post_extended(stream, shape, rows_at_once, dtype)
    else:
        weights = unpack_direct(stream, shape, dtype)
    return np.clip(weights.view(np.float32), -_INFINITY, _INFINITY) if infinite else weights
