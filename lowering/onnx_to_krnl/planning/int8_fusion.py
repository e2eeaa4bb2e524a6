"""
Selection of int8 fusion groups: quantized convolutions and matrix products with epilogues, and max pools.

Tensors are NHWC uint8; signed values are stored with an offset of 128, so that all activations are unsigned,
as `vpdpbusd` and `udot` need. i32 sums are exact and the epilogue is computed in f32. So results differ from
those of the operators one by one in at most one unit of the scale, and only where a value is halfway between
two integers.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionScope
from xonnc.lowering.onnx_to_krnl.planning.int8_patterns import (
    MATCHERS,
    VECTOR,
    WORD,
    KnownSizes,
    QuantizedMatmul,
    dequantized_source,
    image_shape,
    is_int8,
    quantization_params,
)
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import Halo, ImageBuffer
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, volume
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import (
    MAX_UNROLLED_WINDOW,
    WindowGeometry,
    has_pads,
    window_of,
)

MAX_NARROW_CHANNELS = 8
"""Images with at most so many channels are padded to a multiple of 4; others to whole vectors."""

EPILOGUE_OPS: tuple[type[Operation], ...] = (
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
"""Elementwise operators that can be fused into an int8 epilogue."""

FUNCTION_OPS: tuple[type[Operation], ...] = (
    *EPILOGUE_OPS,
    onnx.AbsOp,
    onnx.DivOp,
    onnx.EluOp,
    onnx.ErfOp,
    onnx.ExpOp,
    onnx.GeluOp,
    onnx.MaxOp,
    onnx.MinOp,
    onnx.MishOp,
    onnx.NegOp,
    onnx.ReciprocalOp,
    onnx.SoftplusOp,
    onnx.SoftsignOp,
    onnx.SqrtOp,
    DequantizeLinearOp,
    QuantizeLinearOp,
)
"""Operators of a function of one int8 tensor, of which there are 256 results."""


@dataclass(frozen=True)
class Int8Fusion:
    """An int8 product, if there is one, and the elementwise operators and QDQ that follow, in order."""

    product: QuantizedMatmul | None
    ops: Sequence[Operation]
    """The operators after the product."""
    images: Sequence[SSAValue]
    """int8 operands that are read elementwise."""
    channels: Sequence[SSAValue]
    """Constants with one value per channel."""

    @property
    def last(self) -> Operation:
        """The op whose result is stored."""
        if self.ops:
            return self.ops[-1]
        assert self.product is not None
        return self.product.op

    @property
    def result(self) -> SSAValue:
        """The value that is stored."""
        return self.last.results[0]

    @property
    def is_function(self) -> bool:
        """Whether the result is a function of one byte."""
        return self.product is None and len(self.images) == 1 and not self.channels

    @property
    def is_dense(self) -> bool:
        """Whether the product sums over channels (it is not depthwise)."""
        return self.product is not None and not self.product.is_depthwise


class NHWCShape(NamedTuple):
    """`[N][H][W][C]`, of which C is static."""

    images: Size
    rows: Size
    columns: Size
    channels: int


@dataclass(frozen=True)
class Int8Buffer(ImageBuffer):
    """An NHWC int8 buffer, its channels padded."""

    extents: NHWCShape


@dataclass
class Int8Plan:
    """int8 fusions and layouts of a function."""

    known_sizes: KnownSizes
    scope: FusionScope
    positions: Mapping[Operation, int] = field(default_factory=dict[Operation, int])
    """The index of each op in its block."""
    fusions: dict[Operation, Int8Fusion] = field(default_factory=dict[Operation, Int8Fusion])
    """By the last op."""
    heads: set[Operation] = field(default_factory=set[Operation])
    """QuantizeLinear ops whose results int8 fusions read."""
    pools: dict[Operation, WindowGeometry] = field(default_factory=dict[Operation, WindowGeometry])
    absorbed: set[Operation] = field(default_factory=set[Operation])
    """Ops that fusions compute, but their last ones."""
    made: set[SSAValue] = field(default_factory=set[SSAValue])
    """int8 results in NHWC."""
    wide: set[SSAValue] = field(default_factory=set[SSAValue])
    """int8 values that are read in whole vectors of channels."""
    functions: set[Operation] = field(default_factory=set[Operation])
    """Operators of functions of one byte."""
    halos: dict[SSAValue, Halo] = field(default_factory=dict[SSAValue, Halo])
    zeros: dict[SSAValue, int | SSAValue] = field(default_factory=dict[SSAValue, "int | SSAValue"])
    """The zero point in each halo, or the value that holds it at run time."""

    @property
    def planned(self) -> set[Operation]:
        """All ops that are computed in int8, or that quantize for those."""
        return self.absorbed | self.heads | set(self.fusions)

    def halo(self, value: SSAValue) -> Halo:
        """Return the halo of an int8 image."""
        return self.halos.get(value, Halo())

    def sizes_of(self, value: SSAValue) -> tuple[Size, int, Size, Size]:
        """Return images, channels, rows and columns; rows of a matrix are the columns of one image."""
        shape, sizes = image_shape(value), self.known_sizes(value)
        assert shape is not None
        assert sizes is not None
        if len(shape) == 4:
            return sizes[0], shape[1], sizes[2], sizes[3]
        return 1, shape[-1], 1, volume(sizes[:-1])

    def multiple(self, value: SSAValue) -> int:
        """Return the multiple that the channels are padded to."""
        is_narrow = self.sizes_of(value)[1] <= MAX_NARROW_CHANNELS
        return WORD if is_narrow and value not in self.made and value not in self.wide else VECTOR

    def shape(self, value: SSAValue) -> NHWCShape:
        """Return the shape of the buffer of a value: NHWC with the halo."""
        images, channels, rows, columns = self.sizes_of(value)
        halo, step = self.halo(value), self.multiple(value)
        height, width = halo.top + rows + halo.bottom, halo.left + columns + halo.right
        return NHWCShape(images, height, width, -(-channels // step) * step)


def plan_int8(
    ops: Sequence[Operation],
    known_sizes: KnownSizes,
    scope: FusionScope,
    images: Container[SSAValue] | None = None,
) -> Int8Plan:
    """
    Choose int8 fusions for the ops of a function in order.

    If `images` is given (after layouts were assigned), only fusions whose result is in it are chosen.
    """
    block = ops[0].parent if ops else None
    positions = {} if block is None else {op: index for index, op in enumerate(block.ops)}
    layouts = Int8Plan(known_sizes, scope, positions)
    claimed: set[Operation] = set()
    for op in ops:
        if any(value.type != NONE and known_sizes(value) is None for value in (*op.operands, *op.results)):
            continue
        if isinstance(op, nn.MaxPoolOp | MaxPoolSingleOutOp):
            if images is None or op.results[0] in images:
                _pool(op, layouts)
        elif op not in claimed and (fusion := _match_fusion(op, claimed, layouts)) is not None:
            if images is not None and fusion.result not in images:
                continue
            claimed |= {fusion.last, *fusion.ops}
            claimed |= set() if fusion.product is None else {fusion.product.op}
            _add(fusion, layouts)
    layouts.absorbed = claimed - set(layouts.fusions)
    # Also absorbed: DequantizeLinear of fused operands, and constant scales folded into the weights.
    for op in reversed(ops):
        users = [user for result in op.results for user in scope.users(result)]
        if isinstance(op, DequantizeLinearOp | onnx.MulOp) and users and op not in claimed:
            if (claimed | layouts.absorbed).issuperset(users):
                layouts.absorbed.add(op)
    for fusion in layouts.fusions.values():
        read = fusion.images if fusion.product is None else (fusion.product.x, *fusion.images)
        heads = [op for value in read if isinstance(op := value.owner, QuantizeLinearOp)]
        layouts.heads |= {
            op
            for op in heads
            if op not in claimed
            and quantization_params(op) is not None
            and (images is None or op.y in images)
        }
    return layouts


def bytes_of_functions(ops: Sequence[Operation], layouts: Int8Plan) -> set[SSAValue]:
    """Return the results of QuantizeLinear outside of int8 fusions that functions of one byte read."""
    planned = layouts.planned
    others = [op for op in ops if isinstance(op, QuantizeLinearOp) and op not in planned]
    rows = replace(layouts, made={op.y for op in others}, functions=set())
    found = (_match_function(op, planned, rows) for op in others)
    return {value for function in found if function is not None for value in function.images}


def _add(fusion: Int8Fusion, layouts: Int8Plan) -> None:
    """Add a fusion; a function of one byte replaces the shorter ones that it contains."""
    if fusion.is_function:
        layouts.functions |= set(fusion.ops)
        for op in layouts.fusions.keys() & set(fusion.ops):
            layouts.made.discard(layouts.fusions.pop(op).result)
    layouts.fusions[fusion.last] = fusion
    layouts.made.add(fusion.result)
    layouts.wide |= set(fusion.images)
    if fusion.product is not None and fusion.product.is_depthwise:
        layouts.wide.add(fusion.product.x)


def _match_fusion(op: Operation, claimed: set[Operation], layouts: Int8Plan) -> Int8Fusion | None:
    """Return the fusion rooted at a product, or ending with a QuantizeLinear."""
    if isinstance(op, QuantizeLinearOp):
        function = _match_function(op, claimed, layouts)
        return _match_elementwise(op, claimed, layouts) if function is None else function
    product = MATCHERS[type(op)](op, layouts.known_sizes) if type(op) in MATCHERS else None
    fusion = None if product is None else _extend_product(product, claimed, layouts)
    return fusion if fusion is not None and product is not None and _ask_halo(product, layouts) else None


def _ask_halo(product: QuantizedMatmul, layouts: Int8Plan) -> bool:
    """Request a halo of zero points for the pads of a product; whether it can be had."""
    window = product.window
    if not window.is_padded:
        return True
    zero = product.zero if product.runtime_zero_point is None else product.runtime_zero_point
    if not _is_made_before(zero, product.x) or layouts.zeros.setdefault(product.x, zero) != zero:
        return False
    # All readers of an image share its halo, so they must agree on the zero point (checked above).
    halo = Halo(*window.begins, *window.ends)
    layouts.halos[product.x] = layouts.halo(product.x).around(halo)
    return True


def _is_made_before(zero: int | SSAValue, value: SSAValue) -> bool:
    """Whether a run-time zero point is available where a value is produced."""
    if isinstance(zero, int) or not isinstance(zero.owner, Operation):
        return True
    owner = value.owner
    return (
        isinstance(owner, Operation)
        and owner.parent is zero.owner.parent
        and zero.owner.is_before_in_block(owner)
    )


def _extend_product(
    product: QuantizedMatmul, claimed: set[Operation], layouts: Int8Plan
) -> Int8Fusion | None:
    """Extend a product by its consumers up to the last QuantizeLinear; None if there is none."""
    if product.scales is None or product.quantization is not None:
        return Int8Fusion(product, [], [], [])
    known_sizes, scope = layouts.known_sizes, layouts.scope
    value, ops, read = product.result, list[Operation](), _FusedOperands(known_sizes)
    found: Int8Fusion | None = None
    while True:
        op = scope.only_user(value)
        if op is None or op in claimed or op.parent is not product.op.parent:
            return found
        if not scope.may_join(op, product.op):
            return found
        if isinstance(op, QuantizeLinearOp):
            quantization = quantization_params(op)
            if quantization is None:
                return found
            ops.append(op)
            found = Int8Fusion(product, list(ops), list(read.images), list(read.channels))
            back = scope.only_user(op.y)
            if not isinstance(back, DequantizeLinearOp) or quantization_params(back) != quantization:
                return found
            ops.append(back)
            value = back.y
            continue
        if not read.take(op, {value}) or not _are_alike(op.results[0], value, known_sizes):
            return found
        ops.append(op)
        value = op.results[0]


def _are_alike(one: SSAValue, other: SSAValue, known_sizes: KnownSizes) -> bool:
    """Whether two tensors have equal sizes in every run, and equal element types."""
    sizes = known_sizes(one)
    return one.type == other.type and sizes is not None and sizes == known_sizes(other)


@dataclass
class _FusedOperands:
    """The operands of fused elementwise operators, besides each other's results."""

    known_sizes: KnownSizes
    images: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    channels: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])

    def take(self, op: Operation, known: Container[SSAValue]) -> bool:
        """Record the operands of an op; whether it can be fused with them."""
        if not isinstance(op, EPILOGUE_OPS):
            return False
        images, channels = list[SSAValue](), list[SSAValue]()
        for operand in op.operands:
            if operand in known or operand.type == NONE:
                continue
            array, after = constant_elements(operand), dequantized_source(operand)
            if array is not None and element_type(operand.type) == f32:
                if array.size != 1 and not _is_of_channels(array.shape, op.results[0]):
                    return False
                channels += [operand] if array.size != 1 else []
            elif after is not None and _are_alike(operand, op.results[0], self.known_sizes):
                images.append(after[0])
            else:
                return False
        self.images |= dict.fromkeys(images)
        self.channels |= dict.fromkeys(channels)
        return True


def _is_of_channels(shape: Sequence[int], result: SSAValue) -> bool:
    """Whether a constant has one value per channel of a result."""
    result_shape = image_shape(result)
    if result_shape is None or len(shape) > len(result_shape):
        return False
    own = [1] * (len(result_shape) - len(shape)) + list(shape)
    axis = 1 if len(result_shape) == 4 else len(result_shape) - 1
    return own == [size if number == axis else 1 for number, size in enumerate(result_shape)]


def _match_elementwise(
    quantize: QuantizeLinearOp, claimed: set[Operation], layouts: Int8Plan
) -> Int8Fusion | None:
    """Return the fusion of elementwise operators on int8 NHWC values, ending with a QuantizeLinear."""
    block = quantize.parent
    if quantization_params(quantize) is None or block is None or not is_int8(quantize.y):
        return None
    found: dict[Operation, None] = {}
    waiting: list[SSAValue] = [quantize.x]
    while waiting:
        op = waiting.pop().owner
        if not isinstance(op, EPILOGUE_OPS) or op in claimed or op in found or op.parent is not block:
            continue
        is_alike = _are_alike(op.results[0], quantize.x, layouts.known_sizes)
        is_alone = layouts.scope.only_user(op.results[0]) in (quantize, *found)
        if is_alike and is_alone and layouts.scope.may_join(op, quantize):
            found[op] = None
            waiting += op.operands
    ops = sorted(found, key=layouts.positions.__getitem__)
    read, known = _FusedOperands(layouts.known_sizes), {op.results[0] for op in ops}
    if quantize.x not in known or not all(read.take(op, known) for op in ops):
        return None
    if not read.images or not layouts.made.issuperset(read.images):
        return None
    return Int8Fusion(None, [*ops, quantize], list(read.images), list(read.channels))


def _match_function(
    quantize: QuantizeLinearOp, claimed: set[Operation], layouts: Int8Plan
) -> Int8Fusion | None:
    """
    Return the longest function of one int8 NHWC value that ends with a QuantizeLinear.

    Pairs inside are part of it, and so are shorter functions that were chosen before.
    """
    block = quantize.parent
    if quantization_params(quantize) is None or block is None or not is_int8(quantize.y):
        return None
    found: dict[Operation, None] = {quantize: None}
    function: Int8Fusion | None = None
    while True:
        read = {value for op in found for value in _tensors(op) if value.owner not in found}
        images = {_image(value, layouts) for value in read}
        if len(images) == 1 and layouts.made.issuperset(images) and list(images) != _images(function):
            ops = sorted(found, key=layouts.positions.__getitem__)
            function = Int8Fusion(None, ops, list(images), [])
        owners = [owner for value in read if isinstance(owner := value.owner, Operation)]
        if len(owners) < len(read) or any(owner.parent is not block for owner in owners):
            return function
        # The latest first: all that read its result were found before.
        op = max(owners, key=layouts.positions.__getitem__)
        is_free = op not in claimed or op in layouts.functions
        is_alone = found.keys() >= set(layouts.scope.users(op.results[0]))
        if not (is_free and is_alone and _is_part(op, quantize, layouts)):
            return function
        found[op] = None


def _images(function: Int8Fusion | None) -> Sequence[SSAValue]:
    return [] if function is None else function.images


def _image(value: SSAValue, layouts: Int8Plan) -> SSAValue:
    """Return the int8 NHWC value that a value is dequantized from, or else the value."""
    source = dequantized_source(value)
    return value if source is None or source[0] not in layouts.made else source[0]


def _tensors(op: Operation) -> list[SSAValue]:
    """Return the operands of an operator of a function, but parameters and scalar constants."""
    if isinstance(op, QuantizeLinearOp | DequantizeLinearOp):
        return [op.operands[0]]
    return [operand for operand in op.operands if operand.type != NONE and not _is_scalar(operand)]


def _is_scalar(value: SSAValue) -> bool:
    array = constant_elements(value)
    return array is not None and array.size == 1 and element_type(value.type) == f32


def _is_part(op: Operation, quantize: QuantizeLinearOp, layouts: Int8Plan) -> bool:
    """Whether a function that ends with `quantize` may contain an operator."""
    if not isinstance(op, FUNCTION_OPS) or not layouts.scope.may_join(op, quantize):
        return False
    if not isinstance(op, QuantizeLinearOp | DequantizeLinearOp):
        return _are_alike(op.results[0], quantize.x, layouts.known_sizes)
    params = quantization_params(op)
    if isinstance(op, QuantizeLinearOp):
        return params is not None and _are_alike(op.x, quantize.x, layouts.known_sizes)
    before = op.x.owner
    is_pair = not isinstance(before, QuantizeLinearOp) or quantization_params(before) == params
    return params is not None and is_pair and _are_alike(op.y, quantize.x, layouts.known_sizes)


def _pool(op: nn.MaxPoolOp | MaxPoolSingleOutOp, layouts: Int8Plan) -> None:
    value, result = op.operands[0], op.results[0]
    if (
        value not in layouts.made
        or not is_int8(value)
        or (isinstance(op, nn.MaxPoolOp) and op.Indices.type != NONE)
    ):
        return
    shape, out = layouts.known_sizes(value), layouts.known_sizes(result)
    if shape is None or out is None or len(shape) != 4 or 0 in out or not has_pads(op, shape[2:]):
        return
    window = window_of(op, int_values(op.kernel_shape) or (), shape[2:], out[2:])
    # Padding is replaced by re-reading the edge, which is correct only if the window covers the edge: without
    # gaps (dilation), and not lying in the pads entirely.
    has_gaps = window.is_padded and max(window.dilations) > 1
    reaches = all(begin < size for begin, size in zip(window.begins, window.kernel, strict=True))
    if prod(window.kernel) <= MAX_UNROLLED_WINDOW and not has_gaps and reaches:
        layouts.pools[op] = window
        layouts.made.add(result)
