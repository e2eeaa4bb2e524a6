"""
`dla-skip-rows`: do not load rows that a strided convolution with kernels of one row never reads.

With a vertical stride of 2 every other row is read. Two rows of the dense source seen as one of twice the
width, of which the first half is kept, leave the rows that are:

```mlir
%r = "dla.reshape"(%x) : (tensor<1x64x28x28xi8>) -> tensor<1x64x14x56xi8>
%p = "dla.slice"(%r) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x64x14x56xi8>) -> tensor<1x64x14x28xi8>
%a = "dla.conv"(%p, %w) <{strides = array<i64: 1, 2>}>
```

Of a concatenation of single rows those that are read are concatenated, and the layers of the others go: what
a layer writes has to be read.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.dla.engines import ConvOp, integers
from xonnc.dialects.dla.storage import ConcatOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of, image_of, tensor_of
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.types import tensor_type
from xonnc.lowering.dla.dla_bubble_up_slices import erase_dead
from xonnc.lowering.dla.network_checks import blocks
from xonnc.lowering.dla.views import Views
from xonnc.rewriting.decision_limit import may_decide
from xonnc.targets import NvdlaTarget, limits, load_target


@dataclass(frozen=True)
class DlaSkipRows(ModulePass):
    """Read only the rows that strided convolutions with kernels of one row need."""

    name = "dla-skip-rows"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        skip_rows(op, load_target(self.target))


def skip_rows(module: ModuleOp, target: NvdlaTarget) -> None:
    """Give every convolution of `module` that skips rows a source without them."""
    for block in blocks(module):
        views = Views(block, target)
        for op in [op for op in block.ops if isinstance(op, ConvOp)]:
            if (concat := _concatenated_rows(op)) is not None:
                _take_rows(op, concat)
                continue
            if not _skips_rows(op) or not views.is_dense(op.source):
                continue
            if may_decide(DlaSkipRows.name, "rows that are not read", op):
                _skip(op)


def _concatenated_rows(op: ConvOp) -> ConcatOp | None:
    """Return the concatenation of single rows that only a convolution reads, which skips some of them."""
    concat, stride = op.source.owner, op.strides.get_values()[0]
    top, bottom = op.pads.get_values()[0], op.pads.get_values()[2]
    if not isinstance(concat, ConcatOp) or not concat.result.has_one_use() or top or bottom:
        return None
    if concat.axis.value.data != 2 or concat.is_interleaved is not None or concat.alignment is not None:
        return None
    are_single = all(cube_of(source.type).height == 1 for source in concat.sources)
    return concat if are_single and op.kernel[0] == 1 < stride else None


def _take_rows(op: ConvOp, concat: ConcatOp) -> None:
    """Concatenate the rows that a convolution reads."""
    stride_y, stride_x = op.strides.get_values()
    rows = concat.sources[: cube_of(op.accumulator.type).height * stride_y : stride_y]
    source = cube_of(op.source.type)._replace(height=len(rows))
    narrow = ConcatOp(rows, 2, tensor_type((1, *source), tensor_of(op.source.type).element_type))
    narrow.location = concat.location
    Rewriter.insert_op(narrow, InsertPoint.before(concat))
    op.operands[0] = narrow.result
    op.properties["strides"] = integers((1, stride_x))
    erase_dead(concat)


def _skips_rows(op: ConvOp) -> bool:
    stride, source = op.strides.get_values()[0], cube_of(op.source.type)
    top, bottom = op.pads.get_values()[0], op.pads.get_values()[2]
    return (
        image_of(op.source.type) is None
        and op.kernel[0] == 1 < stride
        and top == bottom == 0
        and source.height % stride == 0
        and source.height * source.width > stride
        and limits.DIMENSION.broken(source.width * stride) is None
    )


def _skip(op: ConvOp) -> None:
    stride_y, stride_x = op.strides.get_values()
    source, element = cube_of(op.source.type), tensor_of(op.source.type).element_type
    rows = source.height // stride_y
    joined = CubeShape(source.channels, rows, source.width * stride_y)
    resized = joined._replace(width=source.width)
    reshape = ReshapeOp(op.source, tensor_type((1, *joined), element))
    part = SliceOp(reshape.result, (0, 0, 0), tensor_type((1, *resized), element))
    _insert(reshape, op)
    _insert(part, op)
    op.operands[0] = part.result
    op.properties["strides"] = integers((1, stride_x))


def _insert(op: Operation, before: Operation) -> None:
    op.location = derived(before.location)
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(op, before)
