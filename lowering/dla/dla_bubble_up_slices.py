"""
`dla-bubble-up-slices`: do not compute trailing rows and columns that no operation reads.

A slice of what the SDP makes for it alone becomes slices of what the SDP reads, and of what the convolution
before it reads:

```mlir
%a = "dla.conv"(%x, %w)                                  %p = "dla.slice"(%x)
%s = "dla.sdp"(%a)                                       %a = "dla.conv"(%p, %w)
%y = "dla.slice"(%s) <{offsets = array<i64: 0, 0, 0>}>   %y = "dla.sdp"(%a)
```

Poolings whose windows leave rows over read such slices (docs/internals/nvdla-hardware.md §9.2). This way they
can take their input on the fly all the same.

A slice of a concatenation drops the sources of which it reads nothing, and the layers that compute them: no
layer may write what none reads. So does a slice of the columns that transposed convolutions interleave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from xonnc.dialects.dla.attributes import OperandMode
from xonnc.dialects.dla.engines import ConvOp, SdpOp
from xonnc.dialects.dla.storage import ConcatOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, FlowType, ImageType, cube_of, flow_type, image_of, tensor_of
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.types import tensor_type
from xonnc.lowering.dla.convolution_plans import window_of
from xonnc.lowering.dla.network_checks import blocks
from xonnc.rewriting.decision_limit import may_decide


@dataclass(frozen=True)
class DlaBubbleUpSlices(ModulePass):
    """Move slices before the layers whose result they cut."""

    name = "dla-bubble-up-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bubble_up_slices(op)


def bubble_up_slices(module: ModuleOp) -> None:
    """Move every slice of `module` up as far as possible."""
    for block in blocks(module):
        worklist = [op for op in block.ops if isinstance(op, SliceOp)]
        while worklist:
            while worklist:
                op = worklist.pop()
                # Slices of a layer that nothing reads any more have gone with it.
                worklist += _bubble_up(op) if op.parent is not None else []
            concats = [op for op in block.ops if isinstance(op, ConcatOp)]
            worklist = [op for concat in concats for op in drop_unread_sources(concat)]


def _bubble_up(op: SliceOp) -> list[SliceOp]:
    """Shrink the layer before `op`; return the new slices of its inputs."""
    layer, part = op.source.owner, cube_of(op.result.type)
    if isinstance(layer, SliceOp):
        offsets = zip(layer.offsets.get_values(), op.offsets.get_values(), strict=True)
        return _slice_instead(op, layer.source, [sum(pair) for pair in offsets])
    if isinstance(layer, ConcatOp):
        return _slice_source(op, layer)
    if isinstance(layer, ReshapeOp):
        return _take_columns(op, layer)
    if not isinstance(layer, SdpOp) or not op.source.has_one_use() or not _keeps_the_begin(op):
        return []
    conv = layer.source.owner if isinstance(layer.source.type, FlowType) else None
    read = _read_for(conv, part) if isinstance(conv, ConvOp) else None
    if (conv is not None and read is None) or not may_decide(DlaBubbleUpSlices.name, "slice", op):
        return []
    if isinstance(conv, ConvOp) and read is not None:
        cut = _Cut(conv, [])
        source = _cut_convolution(conv, part, read, cut)
    else:
        cut = _Cut(layer, [])
        source = cut(layer.source, part)
    cut.before = layer
    stages = [
        (
            stage,
            cut(operand, part) if operand is not None and stage.mode is OperandMode.PER_POINT else operand,
        )
        for stage, operand in layer.stages
    ]
    narrow = layer.clone_with(source, stages, op.result.type)
    narrow.location = layer.location
    Rewriter.replace_op(op, [], [layer.result])
    Rewriter.replace_op(layer, narrow)
    if isinstance(layer.source.owner, ConvOp):
        Rewriter.erase_op(layer.source.owner)
    return cut.slices


def _slice_instead(op: SliceOp, source: SSAValue, offsets: Sequence[int]) -> list[SliceOp]:
    """Replace `op` by a slice of `source`, or by `source` itself if that has its shape."""
    before = op.source.owner
    if cube_of(source.type) == cube_of(op.result.type):
        new = []
        Rewriter.replace_op(op, [], [source])
    else:
        new = [SliceOp(source, offsets, op.result.type)]
        new[0].location = op.location
        Rewriter.replace_op(op, new)
    if isinstance(before, Operation):
        erase_dead(before)
    return new


def _slice_source(op: SliceOp, concat: ConcatOp) -> list[SliceOp]:
    """Slice the source of `concat` that has all of `op`, if there is one."""
    axis, part = concat.axis.value.data - 1, cube_of(op.result.type)
    offsets = list(op.offsets.get_values())
    if concat.is_interleaved is None:
        for source, begin in zip(concat.sources, concat.begins[:-1], strict=True):
            end = begin + cube_of(source.type)[axis]
            if begin <= offsets[axis] and offsets[axis] + part[axis] <= end:
                if not may_decide(DlaBubbleUpSlices.name, "source", op):
                    return []
                offsets[axis] -= begin
                return _slice_instead(op, source, offsets)
    return []


def drop_unread_sources(concat: ConcatOp) -> list[SliceOp]:
    """Drop the sources of `concat` of which its slices read nothing; return the slices that replace these."""
    slices = [use.operation for use in concat.result.uses if isinstance(use.operation, SliceOp)]
    if not slices or len(slices) < concat.result.uses.get_length() or concat.alignment is not None:
        return []
    if concat.is_interleaved is not None:
        return _take_rows(slices[0], concat) if len(slices) == 1 else []
    axis = concat.axis.value.data - 1
    begins = [op.offsets.get_values()[axis] for op in slices]
    ends = [begin + cube_of(op.result.type)[axis] for begin, op in zip(begins, slices, strict=True)]
    read: list[SSAValue] = []
    moved = list(begins)
    for source, start in zip(concat.sources, concat.begins[:-1], strict=True):
        size = cube_of(source.type)[axis]
        if any(begin < start + size and start < end for begin, end in zip(begins, ends, strict=True)):
            read.append(source)
        else:
            moved = [at - size * (start < begin) for at, begin in zip(moved, begins, strict=True)]
    if len(read) == len(concat.sources):
        return _cut_across(concat, slices)
    if not may_decide(DlaBubbleUpSlices.name, "sources", concat):
        return []
    result = _concatenated(concat, read)
    new: list[SliceOp] = []
    for op, begin in zip(slices, moved, strict=True):
        offsets = list(op.offsets.get_values())
        offsets[axis] = begin
        new += _slice_instead(op, result, offsets)
    return new


def _cut_across(concat: ConcatOp, slices: Sequence[SliceOp]) -> list[SliceOp]:
    """
    Cut the sources of `concat` along another axis where its slices end, if one of them is a concatenation of
    which a source begins there; return the new slices.

    Pads at all sides of an image are rows above and below it, and columns beside all of these.
    """
    for axis in {1, 2} - {concat.axis.value.data - 1}:
        end = max(op.offsets.get_values()[axis] + cube_of(op.result.type)[axis] for op in slices)
        if not any(_begins_a_source(source, axis, end) for source in concat.sources):
            continue
        if not may_decide(DlaBubbleUpSlices.name, "across", concat):
            return []
        cut, sources = _Cut(concat, []), list[SSAValue]()
        for source in concat.sources:
            part = list(cube_of(source.type))
            part[axis] = end
            sources.append(cut(source, CubeShape(*part)))
        result = _concatenated(concat, sources)
        new = [slice_ for op in slices for slice_ in _slice_instead(op, result, op.offsets.get_values())]
        return [*cut.slices, *new]
    return []


def _begins_a_source(value: SSAValue, axis: int, end: int) -> bool:
    """Return whether a value is a concatenation along `axis`, read once, with a source beyond `end`."""
    maker = value.owner
    if not isinstance(maker, ConcatOp) or maker.axis.value.data - 1 != axis or not value.has_one_use():
        return False
    return maker.is_interleaved is None and maker.alignment is None and maker.begins[-2] >= end


def _take_rows(op: SliceOp, concat: ConcatOp) -> list[SliceOp]:
    """Take single rows of the sources that `op` reads, if it has fewer rows than `concat` interleaves."""
    count, rows = len(concat.sources), cube_of(op.result.type).height
    if rows >= count or not may_decide(DlaBubbleUpSlices.name, "sources", concat):
        return []
    offsets = list(op.offsets.get_values())
    new: list[SliceOp] = []
    taken: list[SSAValue] = []
    for row in range(offsets[1], offsets[1] + rows):
        source = concat.sources[row % count]
        channels, height, width = cube_of(source.type)
        if height > 1:
            type_ = tensor_type((1, channels, 1, width), tensor_of(source.type).element_type)
            new.append(SliceOp(source, (0, row // count, 0), type_))
            new[-1].location = derived(op.location)
            Rewriter.insert_op(new[-1], InsertPoint.before(concat))
            source = new[-1].result
        taken.append(source)
    offsets[1] = 0
    return [*new, *_slice_instead(op, _concatenated(concat, taken), offsets)]


def _take_columns(op: SliceOp, reshape: ReshapeOp) -> list[SliceOp]:
    """
    Interleave only the columns that `op`, and other slices of `reshape`, read: those of some of the sources,
    seen as rows of one position.

    A column of the reshape is a row of one source, if the sources divide the columns.
    """
    concat, columns = reshape.source.owner, cube_of(reshape.result.type).width
    readers = [use.operation for use in reshape.result.uses]
    slices = [reader for reader in readers if isinstance(reader, SliceOp)]
    if not isinstance(concat, ConcatOp) or concat.is_interleaved is None or len(slices) < len(readers):
        return []
    count, (channels, height, width) = len(concat.sources), cube_of(concat.sources[0].type)
    if not concat.result.has_one_use() or width != 1 or columns % count:
        return []
    # In their order, the kept columns of a group and of the next one follow each other.
    kept = sorted({column % count for each in slices for column in _columns_of(each)})
    taken = len(kept)
    if taken == count or not may_decide(DlaBubbleUpSlices.name, "columns", op):
        return []
    element, location = tensor_of(concat.result.type).element_type, concat.location
    source = concat.sources[kept[0]]
    if taken > 1:
        rows = tensor_type((1, channels, height * taken, 1), element)
        narrow = ConcatOp([concat.sources[each] for each in kept], 2, rows, is_interleaved=True)
        narrow.location = location
        Rewriter.insert_op(narrow, InsertPoint.before(concat))
        source = narrow.result
    shape = (1, channels, cube_of(reshape.result.type).height, columns // count * taken)
    view = ReshapeOp(source, tensor_type(shape, element))
    view.location = reshape.location
    Rewriter.insert_op(view, InsertPoint.before(reshape))
    new: list[SliceOp] = []
    for each in slices:
        channel, row, column = each.offsets.get_values()
        moved = column // count * taken + kept.index(column % count)
        new += _slice_instead(each, view.result, [channel, row, moved])
    return new


def _columns_of(op: SliceOp) -> range:
    """Return the columns that a slice reads."""
    begin = op.offsets.get_values()[2]
    return range(begin, begin + cube_of(op.result.type).width)


def _concatenated(concat: ConcatOp, sources: Sequence[SSAValue]) -> SSAValue:
    """Return the concatenation of `sources`, one after another, before `concat`."""
    if len(sources) == 1:
        return sources[0]
    axis = concat.axis.value.data
    shape = [1, *cube_of(sources[0].type)]
    shape[axis] = sum(cube_of(source.type)[axis - 1] for source in sources)
    type_ = tensor_type(tuple(shape), tensor_of(concat.result.type).element_type)
    narrow = ConcatOp(sources, axis, type_)
    narrow.location = concat.location
    Rewriter.insert_op(narrow, InsertPoint.before(concat))
    return narrow.result


def erase_dead(op: Operation) -> None:
    """Erase `op` and what it alone reads, if nothing reads its results."""
    if is_trivially_dead(op):
        owners = [operand.owner for operand in op.operands]
        Rewriter.erase_op(op)
        for owner in owners:
            # An operation that is read twice has gone the first time.
            if isinstance(owner, Operation) and owner.parent is not None:
                erase_dead(owner)


def _keeps_the_begin(op: SliceOp) -> bool:
    """
    Whether a slice removes only trailing rows and columns. A slice of a single position stays, because the
    SDP cannot read one with gaps (docs/internals/nvdla-hardware.md §3.5).
    """
    source_cube, part = cube_of(op.source.type), cube_of(op.result.type)
    return part.channels == source_cube.channels and not any(op.offsets.get_values()) and part.positions > 1


def _read_for(op: ConvOp, part: CubeShape) -> CubeShape | None:
    """
    Return the region of its source that a convolution reads for `part` of its result, `None` for one
    position.
    """
    window, source = window_of(op), cube_of(op.source.type)
    sizes = [
        min(max((outputs - 1) * stride + reach - pad, 1), size)
        for outputs, stride, reach, pad, size in zip(
            part[1:], window.strides, window.dilated_kernel, window.pads[:2], source[1:], strict=True
        )
    ]
    read = CubeShape(source.channels, sizes[0], sizes[1])
    return None if read.positions == 1 < source.positions else read


def _cut_convolution(op: ConvOp, part: CubeShape, read: CubeShape, cut: _Cut) -> SSAValue:
    window = window_of(op)
    top, left = window.pads[:2]
    # All that the last windows see beyond the input is padding, and no more of it is needed.
    bottom, right = (
        max((outputs - 1) * stride + reach - pad - size, 0)
        for outputs, stride, reach, pad, size in zip(
            part[1:], window.strides, window.dilated_kernel, (top, left), read[1:], strict=True
        )
    )
    sums = flow_type(tensor_type((1, *part), tensor_of(op.accumulator.type).element_type))
    source = cut(op.source, read)
    narrow = op.clone_with(source, op.weights, sums, (top, left, bottom, right), op.banks)
    narrow.location = op.location
    cut.insert(narrow)
    return narrow.accumulator


@dataclass
class _Cut:
    """Inserts slices before an operation, and collects them."""

    before: Operation
    slices: list[SliceOp]

    def __call__(self, value: SSAValue, part: CubeShape) -> SSAValue:
        """Return the leading part of `value` with the shape `part`."""
        source_cube = cube_of(value.type)
        if source_cube == part:
            return value
        element = tensor_of(value.type).element_type
        result: TensorType[Attribute] | ImageType = tensor_type((1, *part), element)
        if (image := image_of(value.type)) is not None:
            result = ImageType(image.format, result)
        found = SliceOp(value, (0, 0, 0), result)
        found.location = derived(self.before.location)
        self.insert(found)
        self.slices.append(found)
        return found.result

    def insert(self, op: Operation) -> None:
        """Add `op`."""
        block = self.before.parent_block()
        assert block is not None
        block.insert_op_before(op, self.before)
