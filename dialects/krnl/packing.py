"""
Packed weights: constants in the order in which a kernel reads them.

The conversion to kernels decides the form (`krnl.pack`), `prepack-weights` evaluates it at compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    DictionaryAttr,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    f64,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from xonnc.aligned_arrays import aligned_array
from xonnc.dialects.krnl.quantized_tiles import WORD_BITS
from xonnc.dialects.krnl.tiles import BF16_TERMS
from xonnc.dialects.krnl.winograd import MAGNITUDES, WINDOW, transform_weights, transformed_size

Array: TypeAlias = npt.NDArray[Any]
Sizes: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class PackedForm:
    """An order of weights in memory."""

    rank: int | None
    """Rank of the source; None: any rank from 3."""
    parameters: Sequence[str]
    """Names of its sizes."""
    count: Callable[[Sequence[int], Sizes], int]
    """The number of packed elements, padding included, of a source of a shape."""
    pack: Callable[[Array, Sizes], Array]
    element: Callable[[Attribute, Sizes], Attribute] = lambda element, _: element
    """The element type, from that of the source."""
    options: Sequence[str] = ()
    """Names of further parameters, which may be 0."""
    even: int | None = None
    """The axis whose elements are packed in pairs; None: no axis."""


@irdl_op_definition
class PackOp(IRDLOperation):
    """
    Weights in the order in which a kernel reads them.

    `form` is one of `PACKED_FORMS`, with its `sizes`. Packed elements are multiplied by `factor`.

    ```mlir
    %p = krnl.pack %w {form = "gemm_panels", sizes = {width = 32 : i64}} : memref<8x10xf32> -> memref<256xf32>
    ```
    """

    name = "krnl.pack"

    source = operand_def(MemRefType)
    form = prop_def(StringAttr)
    sizes = prop_def(DictionaryAttr)
    factor = opt_prop_def(FloatAttr[Float64Type])
    result = result_def(MemRefType)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(NoMemoryEffect())

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    @classmethod
    def of(cls, source: SSAValue, form: str, sizes: Sizes, factor: float = 1.0) -> PackOp:
        """Create the op; its result type follows from the form."""
        assert isa(source.type, MemRefType)
        properties: dict[str, Attribute] = {
            "form": StringAttr(form),
            "sizes": DictionaryAttr({name: IntegerAttr(size, i64) for name, size in sizes.items()}),
        }
        if factor != 1.0:
            properties["factor"] = FloatAttr(factor, f64)
        return cls(
            operands=[source],
            properties=properties,
            result_types=[packed_type(PACKED_FORMS[form], source.type, sizes)],
        )

    def verify_(self) -> None:
        """The form is known, has all its sizes, and gives the result type."""
        form = PACKED_FORMS.get(self.form.data)
        if form is None:
            raise VerifyException(
                f"krnl.pack: no form '{self.form.data}'; there are {', '.join(PACKED_FORMS)}"
            )
        sizes = self.packed_sizes()
        names = (*form.parameters, *form.options)
        if set(sizes) != set(names) or any(sizes[name] < (name in form.parameters) for name in names):
            raise VerifyException(f"krnl.pack: {self.form.data} has the positive sizes {', '.join(names)}")
        source, result = self.source.type, self.result.type
        assert isa(source, MemRefType)
        rank = len(source.get_shape())
        if rank != form.rank if form.rank is not None else rank < 3:
            allowed = "at least 3" if form.rank is None else str(form.rank)
            raise VerifyException(f"krnl.pack: {self.form.data} packs weights of rank {allowed}, not {rank}")
        if form.even is not None and (size := source.get_shape()[form.even]) % BF16_TERMS:
            raise VerifyException(
                f"krnl.pack: {self.form.data} packs pairs along axis {form.even}, whose size is {size}"
            )
        groups, filters = sizes.get("groups", 1), source.get_shape()[0]
        if filters % groups:
            name = self.form.data
            raise VerifyException(
                f"krnl.pack: {name} packs {groups} equal groups along axis 0, whose size is {filters}"
            )
        if self.form.data == "winograd":
            _verify_winograd(source.get_shape(), sizes)
        expected = packed_type(form, source, sizes)
        if result != expected:
            raise VerifyException(f"krnl.pack: the result is {expected}, not {result}")

    def packed_sizes(self) -> Sizes:
        """Return the sizes by name."""
        return {
            name: size.value.data for name, size in self.sizes.data.items() if isinstance(size, IntegerAttr)
        }

    def evaluate(self, weights: Array) -> Array:
        """Return packed weights."""
        packed = PACKED_FORMS[self.form.data].pack(weights, self.packed_sizes())
        if self.factor is not None:
            packed *= packed.dtype.type(self.factor.value.data)
        return packed


def _verify_winograd(shape: Sequence[int], sizes: Sizes) -> None:
    """3x3 weights, and a tile that there are transformations for."""
    tile, window = sizes["tile"], tuple(shape[2:])
    if window != (WINDOW, WINDOW) or tile not in MAGNITUDES:
        raise VerifyException(
            f"krnl.pack: winograd packs weights of {WINDOW}x{WINDOW}, for tiles of "
            f"{' or '.join(map(str, MAGNITUDES))}, not {window[0]}x{window[1]} for tiles of {tile}"
        )


def packed_type(form: PackedForm, source: MemRefType, sizes: Sizes) -> MemRefType:
    """Return the type of packed weights."""
    return MemRefType(form.element(source.element_type, sizes), [form.count(source.get_shape(), sizes)])


def _joined(parts: Sequence[Array]) -> Array:
    """Concatenate arrays of one axis, from a cache line on."""
    out = aligned_array([sum(part.size for part in parts)], parts[0].dtype)
    return np.concatenate(parts, out=out)


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _pack_gemm_panels(matrix: Array, sizes: Sizes) -> Array:
    """Return a matrix in panels of `width` columns, `[N/width][K][width]`, zero-padded."""
    width = sizes["width"]
    k, n = matrix.shape
    packed = aligned_array((-(-n // width), k, width), matrix.dtype)
    # Panel by panel, without a temporary copy of the whole matrix, which may be large.
    for number, panel in enumerate(packed):
        columns = matrix[:, number * width : (number + 1) * width]
        panel[:, : columns.shape[1]] = columns
        panel[:, columns.shape[1] :] = 0
    return packed.reshape(-1)


def _pack_bf16_panels(matrix: Array, sizes: Sizes) -> Array:
    """Return a matrix rounded to bfloat16 in panels of pairs of rows, `[N/width][K/2][width][2]`."""
    width = sizes["width"]
    k, n = matrix.shape
    packed = aligned_array((-(-n // width), k // BF16_TERMS, width, BF16_TERMS), np.dtype(np.int16))
    packed[:] = 0
    for number, panel in enumerate(packed):
        columns = _bf16_bits(matrix[:, number * width : (number + 1) * width])
        pairs = columns.reshape(k // BF16_TERMS, BF16_TERMS, -1)
        panel[:, : pairs.shape[2]] = pairs.transpose(0, 2, 1)
    return packed.reshape(-1)


def _pack_bf16_conv(weights: Array, sizes: Sizes) -> Array:
    """
    Pack OIHW weights as bfloat16, `[panels][I/step][kernel][step/2][channels of a panel][2]`.

    The order is that of `conv` with pairs of input channels side by side; their number is even.
    """
    filters, depth = weights.shape[:2]
    window = weights.reshape(filters, depth // BF16_TERMS, BF16_TERMS, -1)
    pairs = {**sizes, "step": sizes["step"] // BF16_TERMS}
    # A pair is one 32-bit element for the packing of float32 weights.
    words = np.ascontiguousarray(_bf16_bits(window).swapaxes(2, 3)).view(np.int32)
    return _pack_conv(words.reshape(filters, depth // BF16_TERMS, *weights.shape[2:]), pairs).view(np.int16)


def _bf16_bits(numbers: Array) -> Array:
    """Round to bfloat16, to nearest even; return the bits."""
    return numbers.astype(ml_dtypes.bfloat16).view(np.int16)


def _pack_conv(weights: Array, sizes: Sizes) -> Array:
    """
    Pack OIHW weights as `[panels][I/step][kernel][step][channels of a panel]`.

    A panel has `width` blocks of `lanes` output channels, zero-padded; input channels are split by `step`.
    """
    lanes, width, step = (sizes[name] for name in ("lanes", "width", "step"))
    filters, depth = weights.shape[:2]
    blocks = -(-filters // lanes)
    padded = np.zeros((blocks * lanes, depth, prod(weights.shape[2:])), weights.dtype)
    padded[:filters] = weights.reshape(filters, depth, -1)
    parts: list[Array] = []
    for first in range(0, blocks, width):
        panel = padded[first * lanes : (first + width) * lanes]
        for channel in range(0, depth, step):
            # Order: window, input channels of the block, output channels of the panel.
            parts.append(panel[:, channel : channel + step].transpose(2, 1, 0).reshape(-1))
    return _joined(parts)


def _pack_grouped_conv(weights: Array, sizes: Sizes) -> Array:
    """Pack the weights of each group as `_pack_conv` does."""
    return _joined([_pack_conv(group, sizes) for group in np.split(weights, sizes["groups"])])


def _pack_depthwise(weights: Array, sizes: Sizes) -> Array:
    """Pack `[C][1][kernel]` as `[C/lanes][kernel][lanes]`, zero-padded."""
    channels, lanes = weights.shape[0], sizes["lanes"]
    blocks = -(-channels // lanes)
    padded = np.zeros((blocks * lanes, prod(weights.shape[1:])), weights.dtype)
    padded[:channels] = weights.reshape(channels, -1)
    return _joined([block.T.reshape(-1) for block in padded.reshape(blocks, lanes, -1)])


WINOGRAD_ROWS = 64
"""Input channels that are transformed at a time."""


def _pack_winograd(weights: Array, sizes: Sizes) -> Array:
    """
    Return the matrices of transformed OIHW weights, I x O, each as `gemm_panels` of `width` columns.

    Those of a point are in `groups` of equal numbers of columns, the last panel of each zero-padded.
    """
    tile, width, groups = sizes["tile"], sizes["width"], sizes["groups"]
    filters, channels = weights.shape[0] // sizes["groups"], weights.shape[1]
    points, panels = transformed_size(tile) ** 2, -(-filters // width)
    packed = aligned_array((points, groups * panels, channels, width), weights.dtype)
    packed[:, panels - 1 :: panels, :, filters % width or width :] = 0
    # In pieces whose intermediate values, in float64, a cache holds.
    for number in range(groups * panels):
        group, panel = divmod(number, panels)
        first, end = group * filters + panel * width, (group + 1) * filters
        columns = weights[first : min(first + width, end)]
        for row in range(0, channels, WINOGRAD_ROWS):
            piece = transform_weights(columns[:, row : row + WINOGRAD_ROWS], tile)
            packed[:, number, row : row + WINOGRAD_ROWS, : piece.shape[2]] = piece
    return packed.reshape(-1)


def _pack_int8_conv(weights: Array, sizes: Sizes) -> Array:
    """
    Pack `[O][I][kernel]` as `[panels][kernel][depth/terms][channels of a panel][terms]`.

    `channels` is O and `depth` is I, zero-padded; a panel has `width` channels. Four `terms` feed a
    dot-product instruction (VNNI `vpdpbusd`, Arm `udot`); with two, weights are 16 bits (`pmaddwd`).
    Each of `groups` of filters has panels of its own.
    """
    count, depth, width, terms = (sizes[name] for name in ("channels", "depth", "width", "terms"))
    filters, channels = weights.shape[:2]
    padded = np.zeros((count, depth, prod(weights.shape[2:])), np.int8 if terms == 4 else np.int16)
    padded[:filters, :channels] = weights.reshape(filters, channels, -1)
    parts: list[Array] = []
    for group in np.split(padded, sizes["groups"]):
        for first in range(0, len(group), width):
            part = group[first : first + width]
            split = part.reshape(len(part), depth // terms, terms, -1)
            parts.append(split.transpose(3, 1, 0, 2).reshape(-1))
    return _joined(parts)


def _pack_words(values: Array, sizes: Sizes) -> Array:
    """
    Return weights plus `offset` as words of fields along K, in panels: `[N/width][K/fields][width]`.

    A field has `bits`.
    """
    width, bits = sizes["width"], sizes["bits"]
    order = _word_order(bits, bool(sizes["for_bytes"]))
    k, n = values.shape
    count = len(order)
    packed = aligned_array((-(-n // width), k // count, width), np.dtype(np.uint32))
    packed[:] = 0
    for number, panel in enumerate(packed):
        columns = values[:, number * width : (number + 1) * width].astype(np.int16) + sizes["offset"]
        for field, index in enumerate(order):
            shift = np.uint32(bits * field)
            panel[:, : columns.shape[1]] |= columns[index::count].astype(np.uint32) << shift
    return packed.reshape(-1).view(np.int32)


def _word_order(bits: int, is_for_bytes: bool) -> Sequence[int]:
    """
    Return the index along K of each field of a word, lowest bits first.

    In words `for bytes` the lower four bits of all bytes come first.
    """
    count = WORD_BITS // bits
    if bits == 8 or not is_for_bytes:
        return range(count)
    return [index // 2 + index % 2 * (count // 2) for index in range(count)]


def _pack_zero_points(zero_points: Array, sizes: Sizes) -> Array:
    """Return zero points plus `offset` as unsigned bytes, in panels."""
    unsigned = (zero_points.astype(np.int16) + sizes["offset"]).astype(np.uint8)
    return _pack_gemm_panels(unsigned, sizes).view(np.int8)


PACKED_FORMS: Mapping[str, PackedForm] = {
    "gemm_panels": PackedForm(
        2, ("width",), lambda shape, sizes: shape[0] * _up(shape[1], sizes["width"]), _pack_gemm_panels
    ),
    "conv": PackedForm(
        None,
        ("lanes", "width", "step"),
        lambda shape, sizes: _up(shape[0], sizes["lanes"]) * prod(shape[1:]),
        _pack_conv,
    ),
    "grouped_conv": PackedForm(
        None,
        ("groups", "lanes", "width", "step"),
        lambda shape, sizes: (
            sizes["groups"] * _up(shape[0] // sizes["groups"], sizes["lanes"]) * prod(shape[1:])
        ),
        _pack_grouped_conv,
    ),
    "bf16_panels": PackedForm(
        2,
        ("width",),
        lambda shape, sizes: shape[0] * _up(shape[1], sizes["width"]),
        _pack_bf16_panels,
        lambda _element, _sizes: i16,
        even=0,
    ),
    "bf16_conv": PackedForm(
        None,
        ("lanes", "width", "step"),
        lambda shape, sizes: _up(shape[0], sizes["lanes"]) * prod(shape[1:]),
        _pack_bf16_conv,
        lambda _element, _sizes: i16,
        even=1,
    ),
    "depthwise": PackedForm(
        None,
        ("lanes",),
        lambda shape, sizes: _up(shape[0], sizes["lanes"]) * prod(shape[1:]),
        _pack_depthwise,
    ),
    "winograd": PackedForm(
        4,
        ("tile", "width", "groups"),
        lambda shape, sizes: (
            transformed_size(sizes["tile"]) ** 2
            * sizes["groups"]
            * _up(shape[0] // sizes["groups"], sizes["width"])
            * shape[1]
        ),
        _pack_winograd,
    ),
    "int8_conv": PackedForm(
        None,
        ("groups", "channels", "depth", "width", "terms"),
        lambda shape, sizes: sizes["channels"] * sizes["depth"] * prod(shape[2:]),
        _pack_int8_conv,
        lambda _, sizes: i8 if sizes["terms"] == 4 else i16,
    ),
    "words": PackedForm(
        2,
        ("width", "bits"),
        lambda shape, sizes: _up(shape[1], sizes["width"]) * shape[0] * sizes["bits"] // WORD_BITS,
        _pack_words,
        lambda _element, _sizes: i32,
        ("offset", "for_bytes"),
    ),
    "zero_points": PackedForm(
        2,
        ("width",),
        lambda shape, sizes: _up(shape[1], sizes["width"]) * shape[0],
        _pack_zero_points,
        lambda _element, _sizes: i8,
        ("offset",),
    ),
}
"""Packed forms by name."""
