"""
Memory layout of `dla.concat`, `dla.slice`, `dla.reshape` and `dla.kernels`: which cube is stored in which
other.

A *root* is a cube with memory of its own. Sources of a concatenation are stored in the root of its result;
slices and reshapes in that of their source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.dla.storage import ConcatOp, ConstantOp, KernelsOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import ImageType, cube_of, image_of
from xonnc.formats.nvdla.geometry import channels_per_atom
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.lowering.dla_planning.surface_sizes import dense_bytes, dense_strides, pixel_bytes
from xonnc.targets import NvdlaTarget


@dataclass(frozen=True)
class View:
    """Offset and strides in bytes of a cube in its root (docs/internals/nvdla-hardware.md §3.2)."""

    root: SSAValue
    offset: int
    line_stride: int
    surface_stride: int


class Views:
    """The views of all cubes of one block."""

    def __init__(self, block: Block, target: NvdlaTarget):
        self._atom = target.memory_atom_bytes
        self.target = target
        self._views: dict[SSAValue, View] = {}
        for op in block.ops:
            if isinstance(op, KernelsOp):
                self._views[op.source] = self._views[op.result] = self._as_weights(op)
        # In reverse order: a concatenation may be a source of a later one, which gives it its own view.
        for op in reversed(list(block.ops)):
            if isinstance(op, ConcatOp):
                self._place_sources(op)
        for op in block.ops:
            if isinstance(op, SliceOp):
                begin = op.offsets.get_values()
                self._views[op.result] = self._moved(op.source, self.of(op.source), begin)
            if isinstance(op, ReshapeOp):
                source = self.of(op.source)
                line = cube_of(op.result.type).width * self._atom
                self._views[op.result] = replace(source, line_stride=line)

    def of(self, value: SSAValue) -> View:
        """Return the view of `value`; a root is dense in itself."""
        if value not in self._views:
            line, surface = dense_strides(value.type, self.target)
            self._views[value] = View(value, 0, line, surface)
        return self._views[value]

    def _as_weights(self, op: KernelsOp) -> View:
        """Return the view of computed weights: the surfaces of a row of positions follow each other."""
        cube = cube_of(op.source.type)
        return View(op.source, 0, cube.width * cube.channels, cube.width * self._atom)

    def is_dense(self, value: SSAValue) -> bool:
        """Whether each row of a cube begins where the one before ends."""
        return self.of(value).line_stride == cube_of(value.type).width * self._atom

    def root(self, value: SSAValue) -> SSAValue:
        """Return the cube whose memory holds `value`."""
        return self.of(value).root

    def _place_sources(self, op: ConcatOp) -> None:
        result_view, axis = self.of(op.result), op.axis.value.data - 1
        if op.is_interleaved is not None:
            # Lines alternate between the sources: each begins one line further and skips those of the others.
            line, count = result_view.line_stride, len(op.sources)
            for index, source in enumerate(op.sources):
                offset = result_view.offset + index * line
                self._views[source] = replace(result_view, offset=offset, line_stride=count * line)
            return
        for source, position in zip(op.sources, op.begins, strict=False):
            begin = [0, 0, 0]
            begin[axis] = position
            self._views[source] = self._moved(source, result_view, (begin[0], begin[1], begin[2]))

    def _moved(self, value: SSAValue, view: View, begin: tuple[int, ...]) -> View:
        channel, row, column = begin
        if (image := image_of(value.type)) is not None:
            return replace(view, offset=view.offset + row * view.line_stride + column * pixel_bytes(image))
        lanes = channels_per_atom(self.target, precision_of(value.type))
        moved = channel // lanes * view.surface_stride + row * view.line_stride + column * self._atom
        return replace(view, offset=view.offset + moved)


def is_in_memory(value: SSAValue) -> bool:
    """Whether `value` is a cube or image that needs an address, neither on the fly nor a constant."""
    return isinstance(value.type, TensorType | ImageType) and not isinstance(value.owner, ConstantOp)


ON_CHIP = "cvsram"
"""Unit attribute of an operation whose result is stored in the on-chip memory (`dla-place-in-cvsram`)."""


def is_on_chip(root: SSAValue) -> bool:
    """Whether a root is stored in the on-chip memory."""
    return isinstance(root.owner, Operation) and ON_CHIP in root.owner.attributes


def root_bytes(value: SSAValue, target: NvdlaTarget) -> int:
    """Return the bytes of a cube or image without gaps."""
    return dense_bytes(value.type, target)
