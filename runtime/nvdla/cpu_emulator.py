"""
The CPU emulator's operations, power and softmax, in its own float32 steps (docs/internals/nvdla-hardware.md
§2.5).
"""

from __future__ import annotations

import numpy as np

from xonnc.formats.nvdla.enumerations import EmuFormat, EmuOpType
from xonnc.formats.nvdla.records import DataCube, EmuBufferDesc, EmuOp
from xonnc.runtime.nvdla.array_types import F32, I8, U16, AnyArray
from xonnc.runtime.nvdla.cube import CubeLayout
from xonnc.runtime.nvdla.operation_context import OperationContext


def single_to_half_ties_away(x: F32) -> U16:
    """fp32 to fp16 bits as the emulator's half type has it: nearest, ties away from zero, overflow to Inf."""
    bits = np.ascontiguousarray(x).view(np.uint32).astype(np.int64)
    sign = (bits >> 16) & 0x8000
    magnitude = bits & 0x7FFFFFFF
    exponent = magnitude >> 23
    significand = (magnitude & 0x7FFFFF) | np.where(exponent > 0, 0x800000, 0)
    # Exponent 113 is 2**-14: below it fp16 is denormal and more bits go.
    shift = np.minimum(np.maximum(113 - exponent, 0) + 13, 40)
    rounded = ((significand >> (shift - 1)) + 1) >> 1
    normal = rounded + (np.maximum(exponent - 113, 0) << 10)
    half = np.where(normal >= 0x7C00, 0x7C00, normal)
    nan = magnitude > 0x7F800000
    return np.where(nan, sign | 0x7E00, sign | half).astype(np.uint16)


def name_of(op: EmuOp) -> str:
    """The name of the operation."""
    return EmuOpType(op.op_type).name


def run(op: EmuOp, src: EmuBufferDesc, dst: EmuBufferDesc, scope: OperationContext) -> AnyArray:
    """Run one operation and return what it wrote, `[height, width, lanes]`."""
    if src.format != dst.format:
        raise scope.refuse(f"source format {src.format} and destination format {dst.format} differ")
    if src.format not in (EmuFormat.INT8, EmuFormat.INT8_8, EmuFormat.FF16):
        raise scope.refuse(f"buffer format {src.format}: the emulator computes INT8, INT8_8 and FF16")
    if EmuOpType(op.op_type) is EmuOpType.POWER:
        return _power(op, src, dst, scope)
    return _softmax(op, src, dst, scope)


def _power(op: EmuOp, src: EmuBufferDesc, dst: EmuBufferDesc, scope: OperationContext) -> AnyArray:
    """`(shift + scale * x) ** power` in float32."""
    x = _singles(op, scope.read_pixels(_cube(src), _layout(src), _element(src), "src"))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        base = np.float32(op.shift) + np.float32(op.scale) * x
        # An array of exponents: numpy takes a square root for a lone 0.5, which has a NaN for -Inf.
        y = np.power(base, np.full_like(base, op.power))
    if src.format == EmuFormat.FF16:
        result: AnyArray = single_to_half_ties_away(y)
    else:
        result = _truncated(y, op.output_scale)
    scope.write_pixels(_cube(dst), _layout(dst), result, "dst")
    return result


def _softmax(op: EmuOp, src: EmuBufferDesc, dst: EmuBufferDesc, scope: OperationContext) -> AnyArray:
    """Over `channel` elements that lie one after another, whatever the surface stride."""
    if src.channel < 1:
        raise scope.refuse("channel 0: softmax takes at least one element")
    element = _element(src)
    size = src.channel * element.itemsize
    raw = scope.bytes_at(_cube(src), size, "src").view(element)
    location = scope.space.locate(dst.address_index, dst.address_index_offset, size, f"{scope.name} dst")
    is_half = src.format == EmuFormat.FF16
    x = _singles(op, raw)
    if not is_half:
        x = single_to_half_ties_away(x).view(np.float16).astype(np.float32)
    powers = np.exp(x - x.max())
    # The emulator adds one channel after the other in float32.
    total = np.cumsum(powers, dtype=np.float32)[-1]
    half = single_to_half_ties_away(powers / total)
    result = half if is_half else _truncated(half.view(np.float16).astype(np.float32), op.output_scale)
    location.read(size)[...] = result.view(np.uint8)
    location.memory.generation += 1
    return result.reshape(1, 1, -1)


def _singles(op: EmuOp, raw: AnyArray) -> F32:
    if raw.dtype == np.int8:
        return raw.view(np.int8).astype(np.float32) * np.float32(op.input_scale)
    return raw.view(np.float16).astype(np.float32)


def _truncated(x: F32, scale: float) -> I8:
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = x / np.float32(scale)
    return np.clip(np.trunc(np.nan_to_num(scaled)), -128, 127).astype(np.int8)


def _element(buffer: EmuBufferDesc) -> np.dtype[np.uint16] | np.dtype[np.int8]:
    return np.dtype(np.uint16) if buffer.format == EmuFormat.FF16 else np.dtype(np.int8)


def _layout(buffer: EmuBufferDesc) -> CubeLayout:
    atom = 8 if buffer.format == EmuFormat.INT8_8 else 32
    lanes = atom // _element(buffer).itemsize
    surfaces = -(-buffer.channel // lanes)
    return CubeLayout(buffer.width, buffer.height, surfaces, atom, buffer.line_stride, buffer.surf_stride)


def _cube(buffer: EmuBufferDesc) -> DataCube:
    """The part of a buffer descriptor that places it, as the other engines know it."""
    return DataCube(
        address=buffer.address_index,
        offset=buffer.address_index_offset,
        line_stride=buffer.line_stride,
        surf_stride=buffer.surf_stride,
    )
