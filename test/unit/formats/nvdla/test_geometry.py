"""Sizes the hardware derives: the specification's examples, and what the golden vectors carry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.enumerations import ConvMode, PixelFormat, Precision, WeightFormat
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.formats.nvdla.records import ConvOp, ConvSurface
from xonnc.formats.nvdla.tasks import DlaTask, decode_tasks
from xonnc.targets import NvdlaTarget, load_target

INT8, INT16, FP16 = Precision.INT8, Precision.INT16, Precision.FP16
TARGETS = ["nv_full", "nv_large", "nv_small"]


@pytest.mark.parametrize(("value", "by", "result"), [(0, 8, 0), (1, 8, 1), (8, 8, 1), (9, 8, 2), (64, 8, 8)])
def test_ceil_div(value: int, by: int, result: int):
    assert geometry.ceil_div(value, by) == result
    assert geometry.round_up(value, by) == result * by


@pytest.mark.parametrize(
    ("name", "precision", "per_atom", "group"),
    [
        ("nv_full", INT8, 32, 32),
        ("nv_full", INT16, 16, 16),
        ("nv_full", FP16, 16, 16),
        ("nv_large", INT8, 32, 32),
        ("nv_small", INT8, 8, 8),
    ],
)
def test_atoms_and_kernel_groups(name: str, precision: Precision, per_atom: int, group: int):
    target = load_target(name)
    assert geometry.channels_per_atom(target, precision) == per_atom
    assert geometry.kernel_group(target, precision) == group
    assert geometry.operand_group(target, precision) == per_atom
    assert [geometry.surfaces(target, precision, c) for c in (1, per_atom, per_atom + 1)] == [1, 1, 2]


@pytest.mark.parametrize(
    ("name", "precision", "width", "channels", "entries"),
    [
        # nv_full puts four atoms in an entry: whole entries, then the columns of the atoms left over.
        ("nv_full", FP16, 7, 64, 7),
        ("nv_full", FP16, 7, 16, 2),
        ("nv_full", FP16, 7, 32, 4),
        ("nv_full", FP16, 7, 48, 7),
        ("nv_full", FP16, 7, 80, 9),
        ("nv_full", INT8, 224, 3, 56),
        ("nv_large", INT8, 7, 32, 4),
        ("nv_large", INT8, 7, 33, 7),
        ("nv_large", INT8, 7, 65, 11),
        ("nv_small", INT8, 7, 8, 7),
        ("nv_small", INT8, 7, 9, 14),
    ],
)
def test_entries_of_a_row_of_features(
    name: str, precision: Precision, width: int, channels: int, entries: int
):
    assert geometry.feature_entries_per_slice(load_target(name), precision, width, channels) == entries


def test_entries_of_a_row_of_pixels():
    # 230 columns of RGBA in FP16 are 1840 bytes, 15 entries of 128.
    assert geometry.image_entries_per_slice(load_target("nv_full"), FP16, 230, 4) == 15
    assert geometry.image_entries_per_slice(load_target("nv_small"), INT8, 5, 1) == 1


def test_entries_in_winograd_mode():
    # §3.4: (12 / 4) columns of 48 channels, 96 bytes, three times 32.
    assert geometry.winograd_entries_per_slice(load_target("nv_full"), FP16, 12, 48, 1, 1) == 9
    assert geometry.winograd_entries_per_slice(load_target("nv_full"), FP16, 16, 48, 2, 2) == 24


@pytest.mark.parametrize(("name", "size"), [("nv_full", 128), ("nv_large", 64), ("nv_small", 8)])
def test_weights_fill_whole_entries_of_each_hardware(name: str, size: int):
    target = load_target(name)
    assert [geometry.weight_bytes(target, k, 9) for k in (0, 1)] == [0, geometry.round_up(9, size)]
    assert geometry.weight_bytes(target, 1, size) == size
    assert geometry.weight_bytes(target, 1, size + 1) == 2 * size


def test_banks():
    # A bank of nv_full is 256 entries of 128 bytes.
    target = load_target("nv_full")
    assert [geometry.data_banks(target, 16, rows) for rows in (1, 16, 17)] == [1, 1, 2]
    assert [geometry.weight_banks(target, kernels, 128) for kernels in (1, 256, 257)] == [1, 1, 2]


@pytest.mark.parametrize(
    ("name", "precision", "kernel_height", "stride_y", "width"),
    [
        # The three examples of §3.8.
        ("nv_full", FP16, 3, 2, 64),
        ("nv_full", INT8, 3, 2, 64),
        ("nv_small", INT8, 2, 2, 512),
        # As many lines are kept as rows overlap: 1, 2, 4 or 8.
        ("nv_full", FP16, 3, 1, 32),
        ("nv_full", FP16, 5, 1, 16),
        ("nv_full", FP16, 8, 1, 16),
        ("nv_small", INT8, 8, 8, 512),
        ("nv_small", INT8, 3, 1, 128),
    ],
)
def test_widest_row_of_the_pdp(
    name: str, precision: Precision, kernel_height: int, stride_y: int, width: int
):
    assert geometry.pdp_line_width(load_target(name), precision, kernel_height, stride_y) == width


def convolutions(vectors: Path, name: str) -> Iterator[tuple[str, ConvOp, ConvSurface]]:
    for path in sorted((vectors / name).glob("*/loadable.nvdla")):
        for task in decode_tasks(read_loadable(path)):
            if not isinstance(task, DlaTask):
                continue
            for operation in task.operations:
                if isinstance(operation.op, ConvOp) and isinstance(operation.surface, ConvSurface):
                    yield path.parent.name, operation.op, operation.surface


def entries(target: NvdlaTarget, op: ConvOp, surface: ConvSurface) -> int:
    precision, source = Precision(op.in_precision), surface.src_data
    if op.conv_mode == ConvMode.WINOGRAD:
        return geometry.winograd_entries_per_slice(
            target,
            precision,
            op.input_width_csc,
            op.input_channel_csc,
            op.conv_stride_x,
            op.conv_stride_y,
        )
    if op.data_format == PixelFormat.FEATURE:
        return geometry.feature_entries_per_slice(target, precision, source.width, source.channel)
    padded = op.pad_x_left + source.width + op.pad_x_right
    return geometry.image_entries_per_slice(target, precision, padded, source.channel)


@pytest.mark.parametrize("name", TARGETS)
def test_the_vectors_carry_these_sizes(vectors: Path, name: str):
    target = load_target(name)
    found = list(convolutions(vectors, name))
    assert len(found) > 10
    for case, op, surface in found:
        assert op.entry_per_slice == entries(target, op, surface), case
        if op.weight_format == WeightFormat.UNCOMPRESSED:
            kernels = surface.dst_data.channel
            assert surface.weight_data.size == geometry.weight_bytes(target, kernels, op.bytes_per_kernel), (
                case
            )
