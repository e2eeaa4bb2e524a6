"""
Which parts of a model are computed in bytes: products of bytes with what is done to their sums, and pools.

The bytes lie with all channels of a pixel side by side, those with a sign 128 above what they are, so that
all are without sign. Sums are exact; what follows is computed in f32. So results differ by a step from those
of the operators one by one where a number lies in the middle of two steps, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.attributes import values_of
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, static_shape
from xonnc.lowering.onnx_to_krnl.byte_products import (
    READS,
    Product,
    bytes_behind,
    is_bytes,
    rounding_of,
    sizes_of,
)
from xonnc.lowering.onnx_to_krnl.layouts import Halo, constant_of
from xonnc.lowering.onnx_to_krnl.window import MOST_PLACES, Window, window_of

FEW_CHANNELS = 8
"""Images with no more are as narrow as products need; others have whole vectors of channels."""

VECTOR = 16
"""Channels of images are a multiple of so many: of what a vector of sums holds on any processor."""

JOINED: tuple[type[Operation], ...] = (
    onnx.AddOp,
    onnx.ClipOp,
    onnx.HardSigmoidOp,
    onnx.HardSwishOp,
    onnx.LeakyReluOp,
    onnx.MulOp,
    onnx.ReluOp,
    onnx.SigmoidOp,
    onnx.SubOp,
    onnx.TanhOp,
)
"""Functions of numbers that are done to sums before they are stored."""


@dataclass(frozen=True)
class ByteChain:
    """A product and what is done to its sums, the last op last."""

    product: Product
    ops: Sequence[Operation]
    """Behind the product."""
    images: Sequence[SSAValue]
    """Bytes that are read at the same place."""

    @property
    def last(self) -> Operation:
        """The op whose result is stored."""
        return self.ops[-1] if self.ops else self.product.op

    @property
    def result(self) -> SSAValue:
        """What is stored."""
        return self.ops[-1].results[0] if self.ops else self.product.result


@dataclass(frozen=True)
class ByteImage:
    """A buffer `[N][H][W][C]` with a halo; channels behind the last are part of it."""

    buffer: SSAValue
    halo: Halo

    @property
    def shape(self) -> tuple[int, ...]:
        """The buffer's shape."""
        assert is_buffer(self.buffer.type)
        return self.buffer.type.get_shape()

    @property
    def start(self) -> tuple[int, int]:
        """Row and column of the first pixel."""
        return self.halo.top, self.halo.left


@dataclass
class ByteLayouts:
    """What was decided for a function."""

    chains: dict[Operation, ByteChain] = field(default_factory=dict[Operation, ByteChain])
    """Chains by their last op."""
    heads: set[Operation] = field(default_factory=set[Operation])
    """QuantizeLinear whose bytes chains read."""
    pools: dict[Operation, Window] = field(default_factory=dict[Operation, Window])
    absorbed: set[Operation] = field(default_factory=set[Operation])
    """Ops whose work chains do."""
    made: set[SSAValue] = field(default_factory=set[SSAValue])
    """Results that lie as images."""
    wide: set[SSAValue] = field(default_factory=set[SSAValue])
    """Images that are read by vectors of channels."""
    halos: dict[SSAValue, Halo] = field(default_factory=dict[SSAValue, Halo])
    zeros: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The byte in each halo."""

    @property
    def planned(self) -> set[Operation]:
        """All ops that chains do, or that give the bytes they read."""
        return self.absorbed | self.heads | set(self.chains)

    def halo(self, value: SSAValue) -> Halo:
        """The halo of an image."""
        return self.halos.get(value, Halo())

    def shape(self, value: SSAValue) -> list[int]:
        """The shape of the buffer of an image: `[N][H][W][C]` with the halo."""
        images, channels, rows, columns = sizes_of(value)
        halo = self.halo(value)
        is_narrow = channels <= FEW_CHANNELS and value not in self.made | self.wide
        step = 4 if is_narrow else VECTOR
        height, width = halo.top + rows + halo.bottom, halo.left + columns + halo.right
        return [images, height, width, -(-channels // step) * step]


def plan_bytes(ops: Sequence[Operation]) -> ByteLayouts:
    """Decides on the ops of a function in order."""
    layouts = ByteLayouts()
    claimed: set[Operation] = set()
    for op in ops:
        if type(op) in READS and op not in claimed:
            product = READS[type(op)](op)
            chain = None if product is None else _chain(product, claimed)
            if chain is not None and _ask_halo(chain.product, layouts):
                claimed |= {op, *chain.ops}
                layouts.chains[chain.last] = chain
                layouts.made.add(chain.result)
                layouts.wide |= set(chain.images)
        elif isinstance(op, nn.MaxPoolOp | MaxPoolSingleOutOp):
            _pool(op, layouts)
    layouts.absorbed = claimed - set(layouts.chains)
    for op in ops:
        users = [use.operation for result in op.results for use in result.uses]
        if isinstance(op, DequantizeLinearOp) and users and claimed.issuperset(users):
            layouts.absorbed.add(op)
    for chain in layouts.chains.values():
        for value in (chain.product.x, *chain.images):
            if isinstance(value.owner, QuantizeLinearOp) and value.owner not in claimed:
                layouts.heads.add(value.owner)
    return layouts


def _ask_halo(product: Product, layouts: ByteLayouts) -> bool:
    """Sees that there are pads around what a product reads; whether it can be so."""
    window = product.window
    if not window.is_padded:
        return True
    if layouts.zeros.setdefault(product.x, product.zero) != product.zero:
        return False
    halo = Halo(*window.begins, *window.ends)
    layouts.halos[product.x] = layouts.halo(product.x).around(halo)
    return True


def _chain(product: Product, claimed: set[Operation]) -> ByteChain | None:
    """The chain from a product to the last QuantizeLinear behind it; None if there is none."""
    if product.scales is None or product.rounding is not None:
        return ByteChain(product, [], [])
    value, ops, images = product.result, list[Operation](), list[SSAValue]()
    found: ByteChain | None = None
    while True:
        op = _only_user(value)
        if op is None or op in claimed or op.parent is not product.op.parent:
            return found
        if isinstance(op, QuantizeLinearOp):
            rounding = rounding_of(op)
            if rounding is None:
                return found
            ops.append(op)
            found = ByteChain(product, list(ops), list(images))
            back = _only_user(op.y)
            if not isinstance(back, DequantizeLinearOp) or rounding_of(back) != rounding:
                return found
            ops.append(back)
            value = back.y
            continue
        others = _others(op, value)
        if others is None:
            return found
        ops.append(op)
        images += [image for image in others if image not in images]
        value = op.results[0]


def _only_user(value: SSAValue) -> Operation | None:
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


def _others(op: Operation, value: SSAValue) -> list[SSAValue] | None:
    """The bytes that an op reads besides a value; None where it cannot be done to a sum."""
    if not isinstance(op, JOINED) or op.results[0].type != value.type:
        return None
    found: list[SSAValue] = []
    for operand in op.operands:
        if operand is value or operand.type == NONE:
            continue
        array, behind = constant_of(operand), bytes_behind(operand)
        if array is not None and array.size == 1 and element_type(operand.type) == f32:
            continue
        if behind is None or operand.type != value.type or static_shape(operand.type) is None:
            return None
        found.append(behind[0])
    return found


def _pool(op: nn.MaxPoolOp | MaxPoolSingleOutOp, layouts: ByteLayouts) -> None:
    value, result = op.operands[0], op.results[0]
    if (
        value not in layouts.made
        or not is_bytes(value)
        or (isinstance(op, nn.MaxPoolOp) and op.Indices.type != NONE)
    ):
        return
    shape, out = static_shape(value.type), static_shape(result.type)
    if shape is None or out is None or len(shape) != 4 or 0 in out:
        return
    window = window_of(op, values_of(op.kernel_shape) or (), shape[2:], out[2:])
    # What lies beyond the edge is taken from the edge, which is in the window if it has no gaps.
    has_gaps = window.is_padded and max(window.dilations) > 1
    reaches = all(begin < size for begin, size in zip(window.begins, window.kernel, strict=True))
    if prod(window.kernel) <= MOST_PLACES and not has_gaps and reaches:
        layouts.pools[op] = window
        layouts.made.add(result)
