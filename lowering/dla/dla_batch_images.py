"""
`dla-batch-images`: compute several images in one run, and load the weights of layers once for all of them.

A function with `dla.batch = 2 : i64` gets arguments and results of two images each: channels of one image
after those of the other, each image from a whole atom on (`dla.images`). Layers run for one image after the
other. Convolutions of which no window covers rows of two images may run once instead, on images one below the
other, which takes them once through the weights, as do the SDP passes after them:

```mlir
%a0 = "dla.slice"(%x) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x512x1x1xi8>) -> tensor<1x256x1x1xi8>
%a1 = "dla.slice"(%x) <{offsets = array<i64: 256, 0, 0>}> : (tensor<1x512x1x1xi8>) -> tensor<1x256x1x1xi8>
%rows = "dla.concat"(%a0, %a1) <{axis = 2 : i64}> : … -> tensor<1x256x2x1xi8>
%sums = "dla.conv"(%rows, %w) : … -> !dla.flow<tensor<1x64x2x1xi32>>
```

Pointwise convolutions can, and those whose kernel covers the whole height. Each does where that takes fewer
cycles by the model, copies included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.dla.attributes import OperandMode
from xonnc.dialects.dla.engines import CdpOp, ConvOp, PdpOp, SdpOp, integers
from xonnc.dialects.dla.images import BATCH_ATTRIBUTE, ImageCount, with_images
from xonnc.dialects.dla.storage import ConcatOp, ConstantOp, SliceOp
from xonnc.dialects.dla.types import (
    CubeShape,
    FlowType,
    ImageType,
    cube_of,
    flow_type,
    image_of,
    shape_of,
    tensor_of,
)
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.types import tensor_type
from xonnc.formats.nvdla.geometry import channels_per_atom, round_up
from xonnc.lowering.dla.convolution_plans import window_of
from xonnc.lowering.dla.fused_layers import FusedLayer
from xonnc.lowering.dla.network_checks import blocks
from xonnc.lowering.dla.pipelined_plans import cycles_of
from xonnc.lowering.dla.planned_layers import kind_of
from xonnc.lowering.dla_planning.feasibility import fits_buffer
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.rewriting.decision_limit import may_decide
from xonnc.targets import NvdlaTarget, limits, load_target


@dataclass(frozen=True)
class DlaBatchImages(ModulePass):
    """Compute several images in one run; load weights once for all of them where that pays."""

    name = "dla-batch-images"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        batch_images(op, load_target(self.target))


def batch_images(module: ModuleOp, target: NvdlaTarget) -> None:
    """Repeat every function of `module` that is asked for several images."""
    for block in blocks(module):
        function = block.parent_op()
        assert isinstance(function, FuncOp)
        count = function.attributes.pop(BATCH_ATTRIBUTE, None)
        if isinstance(count, IntegerAttr) and count.value.data > 1:
            _Images(block, count.value.data, target).run(function)


class _Images:
    """Repeats the operations of a block for several images, in program order."""

    def __init__(self, block: Block, count: int, target: NvdlaTarget):
        self._block, self._count, self._target = block, count, target
        self._known: dict[tuple[object, ...], bool] = {}
        self._shared: set[SSAValue] = set()
        self._separate: dict[SSAValue, list[SSAValue]] = {}
        self._stacked: dict[SSAValue, SSAValue] = {}
        self._written_at_once: set[SSAValue] = set()
        """Values whose producer writes all images, one below the other."""
        self._at: Operation | None = None

    def run(self, function: FuncOp) -> None:
        """Repeat all operations; set the type and the attributes of the function."""
        ops, old = list(self._block.ops), list(self._block.args)
        self._at = ops[0]
        for op in ops:
            if isinstance(op, ConstantOp) or (op.operands and self._shared.issuperset(op.operands)):
                self._shared.update(op.results)
        for value in old:
            self._repeat_argument(value)
        results = list[ImageCount]()
        for op in ops:
            self._at = op
            if isinstance(op, ReturnOp):
                results = [self._images_of(value) for value in op.operands]
                op.operands = [self._joined(value) for value in op.operands]
            elif not self._shared.issuperset(op.results):
                self._repeat(op)
        function.arg_attrs = with_images(function.arg_attrs, [self._images_of(value) for value in old])
        function.res_attrs = with_images(function.res_attrs, results)
        for op in reversed(ops):
            if not isinstance(op, ReturnOp) and not self._shared.issuperset(op.results):
                Rewriter.erase_op(op)
        for value in old:
            self._block.erase_arg(value)
        function.update_function_type()

    def _images_of(self, value: SSAValue) -> ImageCount:
        return ImageCount(self._count, cube_of(value.type).channels)

    def _repeat_argument(self, value: BlockArgument) -> None:
        """Add an argument of several images, and take each of them out of it."""
        cube, image = cube_of(value.type), image_of(value.type)
        if image is None:
            type_, step = self._side_by_side(value), (self._aligned(value), 0, 0)
        else:
            type_, step = ImageType(image.format, self._below_each_other(image.tensor)), (0, cube.height, 0)
        whole = self._block.insert_arg(type_, len(self._block.args))
        parts = [SliceOp(whole, [each * i for each in step], value.type) for i in range(self._count)]
        self._separate[value] = [self._insert(part) for part in parts]

    def _aligned(self, value: SSAValue) -> int:
        """Return the channels of one image with those that fill its last atom."""
        lanes = channels_per_atom(self._target, precision_of(value.type))
        return round_up(cube_of(value.type).channels, lanes)

    def _side_by_side(self, value: SSAValue) -> TensorType[Attribute]:
        """Return the type of all images in the channels of one cube."""
        cube, tensor = cube_of(value.type), tensor_of(value.type)
        channels = self._aligned(value) * (self._count - 1) + cube.channels
        return tensor_type((1, *cube._replace(channels=channels)), tensor.element_type)

    def _below_each_other(self, type_: TensorType[Attribute]) -> TensorType[Attribute]:
        """Return the type of all images in the rows of one cube."""
        cube = cube_of(type_)
        return tensor_type((1, *cube._replace(height=cube.height * self._count)), type_.element_type)

    def _joined(self, value: SSAValue) -> SSAValue:
        """Return a result of all images."""
        images = [self._image(value, i) for i in range(self._count)]
        type_, alignment = self._side_by_side(value), self._aligned(value)
        return self._insert(ConcatOp(images, 1, type_, alignment=alignment))

    def _image(self, value: SSAValue, index: int) -> SSAValue:
        """Return `value` for one image."""
        if value in self._shared:
            return value
        if value not in self._separate:
            height = cube_of(value.type).height
            rows = self._stacked[value]
            parts = [SliceOp(rows, (0, height * i, 0), value.type) for i in range(self._count)]
            self._separate[value] = [self._insert(part) for part in parts]
        return self._separate[value][index]

    def _rows(self, value: SSAValue) -> SSAValue:
        """Return `value` for all images, one below the other."""
        if value in self._shared:
            return value
        if value not in self._stacked:
            rows = ConcatOp(self._separate[value], 2, self._below_each_other(tensor_of(value.type)))
            self._stacked[value] = self._insert(rows)
        return self._stacked[value]

    def _repeat(self, op: Operation) -> None:
        """Compute `op` for all images at once, or for one after the other."""
        if self._runs_once(op):
            made = self._at_once(op, [self._rows(operand) for operand in op.operands])
            self._insert(made)
            self._stacked[op.results[0]] = made.results[0]
            self._written_at_once.add(op.results[0])
            return
        for index in range(self._count):
            operands = [self._image(operand, index) for operand in op.operands]
            copy = _copied(op, operands, [result.type for result in op.results])
            self._insert(copy)
            for result, repeated in zip(op.results, copy.results, strict=True):
                self._separate.setdefault(result, []).append(repeated)

    def _runs_once(self, op: Operation) -> bool:
        if isinstance(op, ConvOp):
            # Computed weights are those of one image.
            return (
                op.weights in self._shared
                and self._pays(op)
                and may_decide(DlaBatchImages.name, "weights loaded once", op)
            )
        return (
            isinstance(op, SdpOp)
            and op.source in self._written_at_once
            and (isinstance(op.source.type, FlowType) or self._may_run_once(op))
        )

    def _may_run_once(self, op: SdpOp) -> bool:
        """Whether no operand has the elements of a single image for all of them."""
        return not isinstance(op.result.type, FlowType) and not any(
            operand in self._shared
            for stage, operand in op.stages
            if operand is not None and stage.mode is OperandMode.PER_POINT
        )

    def _pays(self, op: ConvOp) -> bool:
        """Whether `op` can take all images at once, and takes fewer cycles then."""
        reader = next(iter(op.accumulator.uses)).operation
        assert isinstance(reader, SdpOp)
        last, readers = _passed_through(reader.result)
        # A pooling could take the result of a single image on the fly.
        if any(isinstance(one, PdpOp) for one in readers) or not self._may_run_once(reader):
            return False
        if not self._fits(op):
            return False
        cubes = [op.source, *(value for value in reader.operands[1:] if value not in self._shared)]
        moved = [value for value in cubes if self._has_to_move(value)]
        if any(_reads_copies(one, last) for one in readers):
            moved.append(last)
        gathered = [one for one in cubes if one in self._written_at_once and _is_position(one)]
        layer = FusedLayer((op, reader))
        key = kind_of(layer, op, self._target), *map(_cube, moved), None, *map(_cube, gathered)
        if key not in self._known:
            apart = self._cycles([layer] * self._count, gathered)
            self._known[key] = self._cycles_at_once(op, reader, cubes, moved) < apart
        return self._known[key]

    def _fits(self, op: ConvOp) -> bool:
        """Whether the core can take the rows of all images."""
        source, stride, window = cube_of(op.source.type), _stride_of_images(op), window_of(op)
        rows = source._replace(height=source.height * self._count)
        if stride is None or limits.DIMENSION.broken(rows.height) is not None:
            return False
        window = replace(window, strides=(stride, window.strides[1]))
        kernels = shape_of(op.weights.type)[0]
        return fits_buffer(self._target, precision_of(op.source.type), rows, kernels, window)

    def _cycles_at_once(
        self, op: ConvOp, reader: SdpOp, cubes: Sequence[SSAValue], moved: Sequence[SSAValue]
    ) -> float:
        """Return the cycles of `op` on all images, with copies of `moved` for each image."""
        scratch = Block(arg_types=[self._below_each_other(tensor_of(value.type)) for value in cubes])
        replaced = dict[SSAValue, SSAValue](zip(cubes, scratch.args, strict=True))
        conv = self._at_once(op, [scratch.args[0], op.weights])
        replaced[op.accumulator] = conv.results[0]
        sdp = self._at_once(reader, [replaced.get(one, one) for one in reader.operands])
        scratch.add_ops([conv, sdp, read := SdpOp(sdp.results[0], [], sdp.results[0].type)])
        cycles = self._cycles([FusedLayer((conv, sdp))], moved)
        for one in (read, sdp, conv):
            scratch.erase_op(one)
        return cycles

    def _cycles(self, layers: Sequence[FusedLayer], moved: Sequence[SSAValue]) -> float:
        """Return the cycles of layers, and of copies of `moved` for each image."""
        copies = [SdpOp(value, [], value.type) for value in moved]
        moves = [FusedLayer((copy,)) for copy in copies for _ in range(self._count)]
        cycles = cycles_of([*moves, *layers], self._target)
        for copy in copies:
            copy.erase()
        return cycles

    def _has_to_move(self, value: SSAValue) -> bool:
        """Whether `value` is copied if an operation reads all images below each other."""
        if value in self._stacked:
            return False
        return _is_position(value) or not isinstance(value.owner, ConvOp | SdpOp | PdpOp | CdpOp)

    def _at_once(self, op: Operation, operands: Sequence[SSAValue]) -> Operation:
        """Return `op` with the rows of all images."""
        type_ = op.results[0].type
        rows = self._below_each_other(tensor_of(type_))
        made = _copied(op, operands, [flow_type(rows) if isinstance(type_, FlowType) else rows])
        if isinstance(op, ConvOp):
            stride = _stride_of_images(op)
            assert stride is not None
            made.properties["strides"] = integers((stride, op.strides.get_values()[1]))
        return made

    def _insert(self, op: Operation) -> SSAValue:
        """Insert `op` at the operation that it repeats, or for it."""
        assert self._at is not None
        if isinstance(op, SliceOp | ConcatOp):
            op.location = derived(self._at.location)
        Builder(InsertPoint.before(self._at)).insert(op)
        return op.results[0]


def _copied(op: Operation, operands: Sequence[SSAValue], types: Sequence[Attribute]) -> Operation:
    return op.create(
        operands=operands,
        result_types=types,
        properties=op.properties.copy(),
        attributes=op.attributes.copy(),
        location=op.location,
    )


def _stride_of_images(op: ConvOp) -> int | None:
    """
    Return the vertical stride with which `op` takes images one below the other.

    `None` if a window would cover rows of two, or start between two.
    """
    top, _, bottom, _ = op.pads.get_values()
    if image_of(op.source.type) is not None or top or bottom:
        return None
    height, stride = cube_of(op.source.type).height, op.strides.get_values()[0]
    extent = (op.kernel[0] - 1) * op.dilations.get_values()[0] + 1
    if cube_of(op.accumulator.type).height == 1:
        return height if limits.CONV_STRIDE.broken(height) is None else None
    return stride if extent <= stride and height % stride == 0 else None


def _passed_through(value: SSAValue) -> tuple[SSAValue, list[Operation]]:
    """Follow `value` through SDP passes that alone read it; return what the last gives, and its readers."""
    readers = [use.operation for use in value.uses]
    if len(readers) == 1 and isinstance(readers[0], SdpOp) and readers[0].source is value:
        return _passed_through(readers[0].result)
    return value, readers


def _reads_copies(op: Operation, value: SSAValue) -> bool:
    """Whether `op` reads copies of the images of `value`, which are below each other."""
    if isinstance(op, ConcatOp | ReturnOp):
        return True
    is_repeated = isinstance(op, SdpOp) or (isinstance(op, ConvOp) and _stride_of_images(op) is not None)
    return _is_position(value) and not is_repeated


def _cube(value: SSAValue) -> CubeShape:
    return cube_of(value.type)


def _is_position(value: SSAValue) -> bool:
    """Whether `value` is a single position, which engines read without gaps."""
    return cube_of(value.type).positions == 1
