"""Tiles by the numbers of a core."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.dlti import DataLayoutEntryAttr, TargetDeviceSpecAttr, TargetSystemSpecAttr
from xdsl.ir import Attribute

from xonnc.errors import XonncError
from xonnc.lowering.onnx_to_krnl.planning.krnl_attach_core import SPEC, attach_core, attached_core, on_core
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import SymbolicSize
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import (
    TILES,
    Tiles,
    conv_tiles,
    depthwise_tiles,
    gemm_tiles,
    set_tiles,
)
from xonnc.targets.cores import RANGES, load_core
from xonnc.targets.cpu import load_cpu
from xonnc.transforms.dims.expressions import ONE, DimSymbols

ZEN4 = replace(load_cpu("avx512vnni"), core=load_core("znver4"))
AVX2 = load_cpu("avx2")


@pytest.mark.parametrize(
    ("columns", "blocks", "name"),
    [(56, 4, "avx512"), (7, 32, "avx512"), (13, 3, "aarch64"), (1, 63, "avx512"), (28, 17, "avx2")],
)
def test_tiles_fit_the_registers(columns: int, blocks: int, name: str):
    target = load_cpu(name)
    for pixels, width in conv_tiles(columns, blocks, 9, target):
        assert pixels * width + width + 1 <= target.registers
        assert pixels <= columns
        assert width <= blocks


@pytest.mark.parametrize(
    ("columns", "blocks", "tile"),
    # As measured on Zen 4: a pixel less or a block more is slower.
    [(56, 4, (14, 2)), (28, 8, (14, 2)), (14, 16, (14, 2)), (7, 32, (7, 3))],
)
def test_tiles_of_zen4(columns: int, blocks: int, tile: tuple[int, int]):
    assert Tiles(ZEN4).conv("", columns, blocks, 9) == tile


@pytest.mark.parametrize(
    ("columns", "blocks", "tile"),
    # Not 14 pixels of one vector, which load more often than they multiply.
    [(56, 8, (4, 3)), (28, 16, (6, 2)), (14, 32, (5, 2)), (7, 64, (4, 3))],
)
def test_tiles_of_16_registers(columns: int, blocks: int, tile: tuple[int, int]):
    target = replace(AVX2, core=load_core("znver4"))
    assert Tiles(target).conv("", columns, blocks, 9) == tile


def test_few_accumulators_are_bound_by_latency():
    slow = replace(AVX2, core=replace(AVX2.core, fma_latency=16))
    # One block of eight channels: as many pixels as there are registers, whatever is left of the row.
    pixels, width = Tiles(slow).conv("", 16, 1, 9)
    assert pixels * width >= 8


def test_squares_take_half_of_the_registers():
    assert [Tiles(load_cpu(name)).square(4) for name in ("avx512", "avx2", "portable")] == [16, 8, 4]
    assert [Tiles(load_cpu(name)).square(1) for name in ("avx512", "avx2", "portable")] == [16, 8, 8]


def test_weights_read_once_from_beyond_the_first_cache_are_prefetched():
    target = load_cpu("avx512")
    tiles = Tiles(target)
    assert tiles.prefetch(4, (1, 64, 512), (1, 64)) == 2048
    # They fit.
    assert tiles.prefetch(4, (1, 64, 511), (1, 64)) == 0
    large = replace(target, core=replace(target.core, l1_bytes=1 << 16))
    assert Tiles(large).prefetch(4, (1, 64, 512), (1, 64)) == 0
    # Hardware is faster alone.
    assert Tiles(ZEN4).prefetch(4, (1, 2048, 512), (1, 192)) == 0


OPEN = SymbolicSize(ONE, DimSymbols())


def test_panels_read_by_several_tiles_from_the_second_cache_are_prefetched():
    tiles = Tiles(replace(ZEN4, core=load_core("skylake-avx512")))
    assert tiles.prefetch(4, (128, 768, 768), (8, 48)) == 2048
    assert tiles.prefetch(4, (OPEN, OPEN, 768), (8, 48)) == 2048
    # L1 holds the panel; the number of its rows is unknown.
    assert tiles.prefetch(4, (3136, 256, 170), (8, 48)) == 0
    assert tiles.prefetch(4, (3136, 256, 171), (8, 48)) == 2048
    assert tiles.prefetch(4, (128, 768, OPEN), (8, 48)) == 0
    # Hardware is faster alone.
    for core in ("znver4", "znver5"):
        assert Tiles(replace(ZEN4, core=load_core(core))).prefetch(4, (128, 768, 768), (8, 48)) == 0


def test_lines_of_results_beyond_the_second_cache_are_prefetched():
    tiles = Tiles(replace(ZEN4, core=load_core("skylake-avx512")))
    assert tiles.write_prefetch(4, (1024, 256, 64))
    assert not tiles.write_prefetch(4, (1023, 256, 64))
    assert not tiles.write_prefetch(4, (OPEN, 256, 64))
    assert not tiles.write_prefetch(4, (1024, OPEN, 64))
    assert not Tiles(ZEN4).write_prefetch(4, (1 << 20, 256, 64))


def test_large_results_of_a_small_depth_are_written_row_by_row():
    tiles = Tiles(ZEN4)
    half = ZEN4.core.l2_bytes // 2
    assert tiles.rows_first(4, (1500, 1500, 64)) == (1500 * 64 * 4 <= half)
    assert tiles.rows_first(4, (1024, half // 256, 64))
    assert not tiles.rows_first(4, (1024, half // 256 + 1, 64))
    # The result is in a cache; L2 holds the panels for 4096 columns; the depth is unknown.
    assert not tiles.rows_first(4, (64, 64, 64))
    assert tiles.rows_first(4, (OPEN, OPEN, 16)) == (4096 * 16 * 4 <= half)
    assert not tiles.rows_first(4, (OPEN, OPEN, 768))
    assert not tiles.rows_first(4, (1024, 1024, OPEN))


def test_weights_of_convolutions_read_by_several_tiles_from_the_second_cache_are_prefetched():
    tiles = Tiles(replace(ZEN4, core=load_core("skylake-avx512")))
    # 32 output channels and 14 pixels of 64 and of 16 channels, in windows of 3x3.
    assert tiles.weight_prefetch(4 * 64 * 9, (14, 2)) == 2048
    assert tiles.weight_prefetch(4 * 16 * 9, (14, 2)) == 0
    # The weights alone fill L1; the pixels share it; both fit.
    assert tiles.weight_prefetch(4 * 256, (14, 2)) == 2048
    assert tiles.weight_prefetch(4 * 180, (14, 2)) == 2048
    assert tiles.weight_prefetch(4 * 178, (14, 2)) == 0
    # Hardware is faster alone.
    for core in ("znver4", "znver5"):
        assert Tiles(replace(ZEN4, core=load_core(core))).weight_prefetch(4 * 512 * 9, (7, 3)) == 0


SAPPHIRE_RAPIDS = replace(ZEN4, core=load_core("sapphirerapids"))


def test_tiles_of_a_panel_share_the_lines_of_the_next_one():
    tiles = Tiles(SAPPHIRE_RAPIDS)
    # 16 tiles of rows, three vectors a step: 12 bytes each, rounded up for 7 tiles.
    assert tiles.next_panel_prefetch(768, 192, 3, 16) == 12
    assert tiles.next_panel_prefetch(768, 192, 3, 7) == 28
    # A dynamic number of rows.
    assert tiles.next_panel_prefetch(768, 192, 3, None) == DYNAMIC_INDEX
    assert tiles.next_panel_prefetch(768, 2, 2, None) == 0
    # One tile reads each panel once.
    assert tiles.next_panel_prefetch(768, 192, 3, 1) == 0
    # L2 of 2 MiB holds weights of half its size; of 1.5 MiB for two panels.
    assert tiles.next_panel_prefetch(1024, 16, 2, 4) == 0
    assert tiles.next_panel_prefetch(1024, 17, 2, 4) == 32
    assert tiles.next_panel_prefetch(6144, 16, 2, 4) == 32
    assert tiles.next_panel_prefetch(6145, 16, 2, 4) == 0
    # Not measured there.
    assert Tiles(ZEN4).next_panel_prefetch(768, 192, 3, 16) == 0


def test_weights_beyond_their_part_of_the_second_cache_are_multiplied_in_pieces():
    tiles = Tiles(SAPPHIRE_RAPIDS)
    # A quarter of 2 MiB is 2,048 steps of four vectors: 227 channels of 3x3 windows, in whole blocks of 16.
    assert tiles.depth_piece(9 * 2048, 2048, 4) == 208
    assert tiles.depth_piece(9 * 2048, 2048, 2) == 416
    assert tiles.depth_piece(9 * 240, 240, 4) == 128
    assert tiles.depth_piece(2048, 2048, 4) == 0
    assert tiles.depth_piece(2049, 2049, 4) == 1040
    # Pairs of bfloat16.
    assert tiles.depth_piece(9 * 1024, 2048, 4) == 416
    # A window of 33x33 has no block of channels that fits.
    assert tiles.depth_piece(33 * 33 * 64, 64, 4) == 0
    # A piece has 256 KB at least: 1,024 steps.
    small = replace(SAPPHIRE_RAPIDS, core=replace(SAPPHIRE_RAPIDS.core, l2_bytes=1 << 16))
    assert Tiles(small).depth_piece(8192, 8192, 4) == 1024
    # Two panels of a piece fit the cache, where two whole ones do not.
    assert tiles.next_panel_prefetch(9 * 2048, 32, 4, 16) == 0
    assert tiles.next_panel_prefetch(9 * 2048, 32, 4, 16, 9 * 208) == 16


def test_convolutions_have_panels_of_which_two_fit_the_second_cache():
    # 3x3 windows of 512 channels: 590 KB of weights for two vectors of channels.
    assert Tiles(SAPPHIRE_RAPIDS).conv("", 7, 32, 512 * 9) == (7, 2)
    assert Tiles(SAPPHIRE_RAPIDS).conv("", 7, 32, 128) == (7, 3)
    without = replace(SAPPHIRE_RAPIDS, core=replace(SAPPHIRE_RAPIDS.core, next_panel_bytes=0))
    assert Tiles(without).conv("", 7, 32, 512 * 9) == (7, 3)


def test_blocks_of_channels_beyond_the_first_cache_are_prefetched():
    tiles = Tiles(ZEN4)
    assert tiles.prefetched_line((1, 1), (1, 4, 56, 56, 16)) == 64
    # A larger window, an image in rows, an image that the first-level cache holds.
    assert tiles.prefetched_line((3, 3), (1, 4, 56, 56, 16)) == 0
    assert tiles.prefetched_line((1, 1), (1, 3, 224, 224)) == 0
    assert tiles.prefetched_line((1, 1), (1, 4, 8, 16, 16)) == 0
    assert tiles.prefetched_line((1, 1), (8, 5, 8, 16, 16)) == 64


def test_a_core_is_attached_to_a_module_and_read_back():
    module = ModuleOp([])
    assert on_core(AVX2, module) == AVX2
    attach_core(module, ZEN4.core)
    found = attached_core(module)
    assert found is not None
    assert {key: getattr(found, key) for key in RANGES} == {key: getattr(ZEN4.core, key) for key in RANGES}
    assert on_core(AVX2, module).core == found
    module.verify()


def test_a_core_without_a_number():
    device = TargetDeviceSpecAttr.new([ArrayAttr([DataLayoutEntryAttr("name", StringAttr("mine"))])])
    spec = TargetSystemSpecAttr.new([ArrayAttr([DataLayoutEntryAttr("CPU", device)])])
    with pytest.raises(XonncError) as caught:
        attached_core(ModuleOp([], {SPEC: spec}))
    assert str(caught.value) == f"{SPEC}: fma_bytes is an integer attribute, found none"


def test_properties_that_older_ir_lacks_are_0():
    later = {"panel_prefetch_bytes", "write_prefetch_bytes", "next_panel_bytes"}
    older = set(RANGES) - later
    core = load_core("skylake-avx512")
    entries = [DataLayoutEntryAttr(key, IntegerAttr(getattr(core, key), i64)) for key in sorted(older)]
    device = TargetDeviceSpecAttr.new([ArrayAttr(entries)])
    spec = TargetSystemSpecAttr.new([ArrayAttr([DataLayoutEntryAttr("CPU", device)])])
    found = attached_core(ModuleOp([], {SPEC: spec}))
    assert found is not None
    assert {key: getattr(found, key) for key in older} == {key: getattr(core, key) for key in older}
    assert {getattr(found, key) for key in later} == {0}


def test_a_system_without_a_processor_says_nothing():
    assert attached_core(ModuleOp([], {SPEC: TargetSystemSpecAttr.new([ArrayAttr([])])})) is None
    assert attached_core(ModuleOp([], {SPEC: StringAttr("CPU")})) is None


def test_measured_tiles_replace_computed_ones():
    module = ModuleOp([])
    set_tiles(module, {"conv 1x1 64->64 56x56 f32": (6, 4)})
    attach_core(module, ZEN4.core)
    tiles = Tiles.of("avx512vnni", False, module)
    assert tiles.target.core.name == "znver4"
    assert tiles.conv("conv 1x1 64->64 56x56 f32", 56, 4, 64) == (6, 4)
    assert tiles.conv("conv 1x1 64->64 28x28 f32", 56, 4, 64) == (14, 2)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        (StringAttr("all"), 'krnl.tiles: a dictionary of tiles by kernel is expected, found "all"'),
        (
            DictionaryAttr({"conv": StringAttr("6x4")}),
            "krnl.tiles: the tile of 'conv' is two integers above 0, found \"6x4\"",
        ),
    ],
)
def test_wrong_tiles(attribute: Attribute, message: str):
    with pytest.raises(XonncError) as caught:
        Tiles.of("avx512", False, ModuleOp([], {TILES: attribute}))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("sizes", "zen4", "avx2"),
    # Rows, columns and terms; 16 vectors of columns are whole tiles of two, and five of three leave one.
    [
        ((128, 768, 768), (8, 48), (4, 24)),
        ((3136, 256, 64), (8, 32), (6, 16)),
        ((64, 64, 64), (8, 32), (6, 16)),
        ((64, 2048, 512), (8, 48), (4, 24)),
        ((1, 768, 768), (1, 192), (1, 64)),
    ],
)
def test_tiles_of_products(sizes: tuple[int, int, int], zen4: tuple[int, int], avx2: tuple[int, int]):
    assert Tiles(ZEN4).gemm("", 4, sizes) == zen4
    assert Tiles(AVX2).gemm("", 4, sizes) == avx2


@pytest.mark.parametrize("name", ["avx2", "avx512", "avx512vnni", "aarch64", "portable"])
@pytest.mark.parametrize("size", [4, 8])
def test_accumulators_of_products_fit_the_registers(name: str, size: int):
    """Each row of a tile has an accumulator for each of its vectors, and an element of A is broadcast."""
    target = load_cpu(name)
    lanes = target.vector_bytes // size
    columns = (1, 3, 8, 15, 16, 17, 31, 32, 33, 48, 64, 100, 1000)
    for m, n, k in product((1, 2, 3, 4, 5, 7, 8, 16, 100), columns, (1, 16, 1000)):
        for rows, width in gemm_tiles(size, (m, n, k), target):
            assert min(rows, width) >= 1
            assert width % lanes == 0
            assert rows * (width // lanes) + 1 <= target.registers, (m, n, k)


def test_tiles_that_are_measured_fit_the_registers_and_begin_with_the_computed_one():
    for target in (ZEN4, AVX2):
        lanes = target.vector_bytes // 4
        first, *others = gemm_tiles(4, (100, 200, 300), target)
        assert first == Tiles(target).gemm("", 4, (100, 200, 300))
        assert first not in others
        for rows, columns in others:
            assert rows * columns // lanes + columns // lanes + 1 <= target.registers
        pixels = [pixels for pixels, width in depthwise_tiles(56, target) if width == 1]
        assert pixels[0] == 8
        assert sorted(pixels) == list(range(1, target.registers // 2 + 1))
        assert depthwise_tiles(5, target)[0] == (5, 1)
