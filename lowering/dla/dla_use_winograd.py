"""
`dla-use-winograd`: compute 3x3 convolutions by Winograd's algorithm where that takes fewer cycles.

F(2x2, 3x3) takes 16 products for four results of a kernel and channel instead of 36: those of an input `d`
and kernels `g` that are transformed, `A^T [(G g G^T) * (B^T d B)] A`. The compiler transforms the kernels,
which then take 16/9 of the memory, and the core the input (docs/internals/nvdla-hardware.md §3.4, §4.1). The
core gives rows and columns in multiples of 4: the padding grows to that, and a slice of the result remains.

```mlir
%a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, is_winograd, pads = array<i64: 1, 1, 3, 3>, …}>
   : (tensor<1x256x14x14xf16>, tensor<256x256x3x3xf16>) -> !dla.flow<tensor<1x256x16x16xf32>>
%s = "dla.sdp"(%a) : … -> tensor<1x256x16x16xf16>
%y = "dla.slice"(%s) <{offsets = array<i64: 0, 0, 0>}> : … -> tensor<1x256x14x14xf16>
```

FP16 alone: transformed INT8 would have to fit 8 bits again (docs/nvdla.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.dla.attributes import ConstantLayout, OperandMode
from xonnc.dialects.dla.engines import WINOGRAD_KERNEL, WINOGRAD_TILE, CdpOp, ConvOp, PdpOp, SdpOp, integers
from xonnc.dialects.dla.storage import ConstantOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, FlowType, cube_of, flow_type, image_of, shape_of, tensor_of
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.types import tensor_type
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import winograd_extended
from xonnc.lowering.dla.convolution_plans import window_of
from xonnc.lowering.dla.fused_layers import FusedLayer, fused_layers
from xonnc.lowering.dla.network_checks import blocks
from xonnc.lowering.dla.packing import winograd_transformed
from xonnc.lowering.dla.pipelined_plans import SingleCycles, cycles_of
from xonnc.lowering.dla_planning.feasibility import conv_limits, fits_buffer
from xonnc.lowering.dla_planning.precision import MAX_FP16, precision_of
from xonnc.rewriting.decision_limit import may_decide
from xonnc.targets import NvdlaTarget, load_target

SLICE_READERS: Final = (ConvOp, SdpOp, PdpOp, CdpOp, SliceOp)
"""Operations that read a cube with gaps between its rows; others would take a copy."""


@dataclass(frozen=True)
class DlaUseWinograd(ModulePass):
    """Compute 3x3 convolutions by Winograd's algorithm where the target can and that takes fewer cycles."""

    name = "dla-use-winograd"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        use_winograd(op, load_target(self.target))


def use_winograd(module: ModuleOp, target: NvdlaTarget) -> None:
    """Give every convolution of `module` the faster of its two algorithms."""
    if not target.winograd:
        return
    for block in blocks(module):
        _choose(block, target)


def _choose(block: Block, target: NvdlaTarget) -> None:
    alone = SingleCycles(target)
    chosen = [found for found in _candidates(block, target) if _is_faster(found, alone)]
    if not chosen:
        return
    direct = cycles_of(fused_layers(block), target)
    for each in chosen:
        each.apply()
    if cycles_of(fused_layers(block), target) >= direct:
        for each in chosen:
            each.restore()


def _candidates(block: Block, target: NvdlaTarget) -> Iterator[_Convolution]:
    for layer in list(fused_layers(block)):
        conv, sdp = layer.ops[0], layer.ops[-1]
        if len(layer.ops) != 2 or not isinstance(conv, ConvOp) or not isinstance(sdp, SdpOp):
            # The PDP is not known to take the tiles on the fly.
            continue
        found = _Convolution(conv, sdp)
        if found.is_possible(target) and may_decide(DlaUseWinograd.name, "Winograd", conv):
            yield found


def _is_faster(found: _Convolution, alone: SingleCycles) -> bool:
    """Whether a convolution takes fewer cycles by itself with Winograd's algorithm."""
    direct = alone.of(found.layer)
    found.apply()
    winograd = alone.of(found.layer)
    found.restore()
    return winograd < direct


@dataclass
class _Convolution:
    """A convolution and the pass after it, either direct or by Winograd's algorithm."""

    conv: ConvOp
    sdp: SdpOp
    _slice: SliceOp | None = None

    @property
    def layer(self) -> FusedLayer:
        """The layer, which stays the same."""
        return FusedLayer((self.conv, self.sdp))

    def is_possible(self, target: NvdlaTarget) -> bool:
        """Whether the core can compute the convolution by Winograd's algorithm, and its readers read that."""
        window = window_of(self.conv)
        return (
            image_of(self.conv.source.type) is None
            and precision_of(self.conv.source.type) is Precision.FP16
            and window.kernel == (WINOGRAD_KERNEL, WINOGRAD_KERNEL)
            and {*window.strides, *window.dilations} == {1}
            # Conversions to integers and operands for each element were never seen beside Winograd's tiles.
            and precision_of(self.sdp.result.type) is Precision.FP16
            and not self._has_row_operands()
            and self._is_read_with_gaps()
            and self._fits(target)
            and self._has_finite_kernels()
        )

    def _has_row_operands(self) -> bool:
        """Whether the SDP reads an operand for each element."""
        return any(
            operand is not None and stage.mode is OperandMode.PER_POINT for stage, operand in self.sdp.stages
        )

    def _is_read_with_gaps(self) -> bool:
        """
        Whether all readers take a slice, if one is needed.

        The SDP reads no single position with gaps around it (docs/internals/nvdla-hardware.md §3.5).
        """
        if self._extra == (0, 0):
            return True
        result = self.sdp.result
        readers = [use.operation for use in result.uses]
        return cube_of(result.type).positions > 1 and all(
            isinstance(reader, SLICE_READERS) for reader in readers
        )

    def _fits(self, target: NvdlaTarget) -> bool:
        """Whether the core takes the extended sizes, and its buffer the smallest tile."""
        source, kernels = cube_of(self.conv.source.type), shape_of(self.conv.weights.type)[0]
        window = replace(window_of(self.conv), pads=self._grown_pads, is_winograd=True)
        extended = (winograd_extended(size) for size in window.output_size(source))
        return conv_limits(CubeShape(source.channels, *extended), kernels, window) is None and fits_buffer(
            target, Precision.FP16, source, kernels, window
        )

    def _has_finite_kernels(self) -> bool:
        """Whether the kernels are a constant of this convolution alone, and finite when transformed."""
        constant = self.conv.weights.owner
        if not isinstance(constant, ConstantOp) or not constant.result.has_one_use():
            return False
        array = elements_array(constant.value)
        assert array is not None, "the value of dla.constant holds elements"
        is_plain = constant.layout is ConstantLayout.KERNELS
        return is_plain and bool(np.abs(winograd_transformed(array)).max() <= MAX_FP16)

    @property
    def _extra(self) -> tuple[int, int]:
        """Rows and columns by which the result grows."""
        result = cube_of(self.conv.accumulator.type)
        return -result.height % WINOGRAD_TILE, -result.width % WINOGRAD_TILE

    @property
    def _grown_pads(self) -> tuple[int, int, int, int]:
        top, left, bottom, right = self.conv.pads.get_values()
        return top, left, bottom + self._extra[0], right + self._extra[1]

    def apply(self) -> None:
        """Use Winograd's algorithm."""
        rows, columns = self._extra
        self._set_algorithm(UnitAttr(), ConstantLayout.WINOGRAD_KERNELS)
        if (rows, columns) == (0, 0):
            return
        result = self.sdp.result
        self._slice = SliceOp(result, (0, 0, 0), result.type)
        self._slice.location = derived(self.sdp.location)
        Rewriter.insert_op(self._slice, InsertPoint.after(self.sdp))
        result.replace_uses_with_if(self._slice.result, lambda use: use.operation is not self._slice)
        self._grow(rows, columns)

    def restore(self) -> None:
        """Convolve directly again."""
        self._set_algorithm(None, ConstantLayout.KERNELS)
        if self._slice is None:
            return
        large, small = cube_of(self.sdp.result.type), cube_of(self._slice.result.type)
        self._slice.result.replace_all_uses_with(self.sdp.result)
        Rewriter.erase_op(self._slice)
        self._slice = None
        self._grow(small.height - large.height, small.width - large.width)

    def _set_algorithm(self, is_winograd: UnitAttr | None, layout: ConstantLayout) -> None:
        constant = self.conv.weights.owner
        assert isinstance(constant, ConstantOp)
        constant.set_layout(layout)
        self.conv.is_winograd = is_winograd

    def _grow(self, rows: int, columns: int) -> None:
        """Add rows and columns, of which fewer than 0 are removed, to the result by its padding."""
        top, left, bottom, right = self.conv.pads.get_values()
        self.conv.properties["pads"] = integers((top, left, bottom + rows, right + columns))
        for value in (self.conv.accumulator, self.sdp.result):
            cube, tensor = cube_of(value.type), tensor_of(value.type)
            shape = (1, cube.channels, cube.height + rows, cube.width + columns)
            grown = tensor_type(shape, tensor.element_type)
            is_flow = isinstance(value.type, FlowType)
            Rewriter.replace_value_with_new_type(value, flow_type(grown) if is_flow else grown)
