"""Kernels that compute the same become one function."""

from __future__ import annotations

import pytest
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, FunctionType, ModuleOp, f32, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from xonnc.dialects.krnl.loops import IterateOp
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.lowering.onnx_to_krnl.builders.halos import fill_halo
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.shared_kernels import SharedKernels
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import AffineAccess, copy, dim
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionScope
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import Halo, ImageBuffer
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import Tiles


def kernel(name: str, value: float, argument: Attribute = f32) -> FuncOp:
    block = Block(arg_types=[argument])
    block.add_ops([ConstantOp(FloatAttr(value, f32)), ReturnOp()])
    return FuncOp(name, FunctionType.from_lists([argument], []), Region(block), "private")


def test_equal_kernels_are_the_first_of_them():
    kernels = SharedKernels()
    first, other = kernel("a", 1), kernel("b", 2)
    assert kernels.shared(first) is first
    assert kernels.shared(other) is other
    assert kernels.shared(kernel("c", 2)) is other
    assert kernels.shared(kernel("d", 1)) is first
    assert kernels.count == 2


@pytest.mark.parametrize("other", [kernel("b", -0.0), kernel("b", float("nan")), kernel("b", 0.0, f64)])
def test_different_kernels_stay(other: FuncOp):
    kernels = SharedKernels()
    kernels.shared(kernel("a", 0.0))
    assert kernels.shared(other) is other
    assert kernels.count == 2


@pytest.fixture
def builder() -> LoweringBuilder:
    block = Block([ReturnOp()])
    tiles = Tiles.of("portable", False, ModuleOp([]))
    made = LoweringBuilder(tiles, DisposablePool(), lambda value, _: value, FusionScope())
    assert block.last_op is not None
    made.set_insertion_point(block.last_op)
    return made


def test_copies_alike_are_built_once(builder: LoweringBuilder, monkeypatch: pytest.MonkeyPatch):
    built: list[KernelBuilder] = []
    function = KernelBuilder.function

    def counted(self: KernelBuilder, name: str) -> FuncOp:
        built.append(self)
        return function(self, name)

    monkeypatch.setattr(KernelBuilder, "function", counted)
    target, source = (builder.allocate([3, 5], f32) for _ in range(2))
    others = [builder.allocate([5, 3], f32) for _ in range(2)]
    for _ in range(3):
        copy("copy", [3, 5], AffineAccess.whole(target, [3, 5]), AffineAccess.whole(source, [3, 5]), builder)
    assert (len(built), len(builder.kernels)) == (1, 1)
    whole = [AffineAccess.whole(other, [5, 3]) for other in others]
    copy("copy", [5, 3], whole[0], whole[1], builder)
    turned = AffineAccess(source, [3, 5], [dim(1), dim(0)])
    for _ in range(2):
        copy("copy", [5, 3], whole[0], turned, builder)
    assert len(built) == len(builder.kernels)


@pytest.mark.parametrize(
    ("sizes", "offset", "order", "ends"),
    [
        ([2, 3, 5, 7], 0, (0, 1, 2, 3), [2, 105]),  # two loops remain
        ([1, 3, 5, 7], 0, (0, 1, 2, 3), [3, 35]),
        ([2, 3, 5, 7], 4, (0, 1, 2, 3), [6, 35]),  # rows of a larger image
        ([2, 5, 7, 3], 0, (0, 3, 1, 2), [2, 35, 3]),  # transposed pixels
        ([2, 5, 7, 3], 0, (2, 1, 0, 3), [2, 5, 7, 3]),
    ],
)
def test_loops_over_contiguous_axes_are_one(
    sizes: list[int], offset: int, order: tuple[int, ...], ends: list[int], builder: LoweringBuilder
):
    shape = [sizes[number] for number in order]
    shape[2] += offset
    exprs = [dim(number, offset=offset * (axis == 2)) for axis, number in enumerate(order)]
    source = AffineAccess(builder.allocate(shape, f32), shape, exprs)
    copy("copy", sizes, AffineAccess.whole(builder.allocate(sizes, f32), sizes), source, builder)
    kernel = next(iter(builder.kernels.values()))
    loops = next(op for op in kernel.walk() if isinstance(op, IterateOp))
    assert [end for *_, end in loops.input_loops() if end != 1] == ends


def test_halos_of_zeros_have_their_sign(builder: LoweringBuilder):
    buffer = builder.allocate([2, 4, 5, 1], f32)
    images = ImageBuffer(buffer, Halo(1, 1, 1, 1))
    for number in (0.0, -0.0, 0.0, float("nan"), float("nan"), float("-inf")):
        fill_halo(images, [2, 4, 5, 1], f32, number, builder)
    assert len(builder.kernels) == 4
