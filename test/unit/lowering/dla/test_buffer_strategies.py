"""The use of the convolution buffer, as `explain_model` gives it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from xonnc.explanation import explain_model
from xonnc.lowering.dla.buffer_strategies import BufferStrategy

BANK_BYTES = 512 * 64
"""A bank of nv_full has 512 entries of 64 bytes; there are 16."""


def strategies(path: Path, channels: int, size: int, kernels: int, side: int) -> tuple[BufferStrategy, ...]:
    """Those of one convolution, with padding that keeps the size."""
    shape = (kernels, channels, side, side)
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[side // 2] * 4)
    graph = helper.make_graph(
        [node],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, size, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.full(shape, 0.01, np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return explain_model(path, "nv_full").convolutions


@pytest.mark.parametrize(
    ("sizes", "input_part", "kernel_part"),
    [
        ((64, 56, 64, 1), "whole", "all"),
        ((1024, 14, 512, 1), "whole", "two groups of 32"),
        ((512, 17, 512, 3), "whole", "one group of 32"),
        ((64, 56, 64, 3), "3 tiles of rows", "all, kept for the next tile"),
        ((256, 28, 256, 3), "2 tiles of rows", "two groups of 16"),
        ((512, 28, 512, 3), "3 tiles of rows", "one group of 32"),
    ],
)
def test_each_part_of_the_input_with_each_of_the_kernels(
    sizes: tuple[int, int, int, int], input_part: str, kernel_part: str, tmp_path: Path
):
    channels, size, kernels, side = sizes
    (found,) = strategies(tmp_path / "m.onnx", *sizes)
    assert (found.nodes, found.parts) == (("conv",), 1)
    assert (found.input_part, found.kernel_part) == (input_part, kernel_part)
    assert found.data_banks + found.weight_banks <= found.banks == 16
    taps = 16 if found.is_winograd else side * side
    assert found.kernel_banks == -(-kernels * channels * taps * 2 // BANK_BYTES)
    # Winograd's algorithm has the padding of the input in the buffer too, as many rows as 4x4 tiles read.
    rows = size + 4 * found.is_winograd
    assert found.input_banks == -(-channels * rows * rows * 2 // BANK_BYTES)
    assert found.reason.startswith(f"input {found.input_banks} + kernels {found.kernel_banks} banks of 16")
    assert found.reason.endswith("not all fits") == (found.input_banks + found.kernel_banks > 16)


def test_all_fits_and_tiles_load_ahead(tmp_path: Path):
    (found,) = strategies(tmp_path / "m.onnx", 16, 8, 16, 3)
    assert (found.tiles, found.input_banks, found.kernel_banks) == (2, 1, 1)
    assert found.reason.endswith("all fits, but a tile is computed while the next is loaded")
