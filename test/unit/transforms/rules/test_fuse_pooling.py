"""Pads that go into pools: exactly those below the kernel, at every side and rank, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

LOWEST = "-inf"
Operators = Callable[[onnx.ModelProto, Mapping[str, npt.NDArray[np.float32]]], list[str]]


def feeds(rank: int) -> dict[str, npt.NDArray[np.float32]]:
    x = np.random.default_rng(rank).normal(size=(1, 2, *[5] * (rank - 2)))
    return {"x": x.astype(np.float32)}


def padded_pool(pool: str, rank: int, pads: list[int], fill: str, own: int = 0) -> onnx.ModelProto:
    """A Pad before a pool of kernel 2."""
    sizes = ", ".join(["1", "2", *["5"] * (rank - 2)])
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
    g (float[{sizes}] x) => (float[{", ".join("ABCDE"[:rank])}] y)
    <int64[{2 * rank}] pads = {{{", ".join(map(str, pads))}}}> {{
        p = Pad (x, pads, fill)
        y = {pool} <kernel_shape = {[2] * (rank - 2)}, pads = {[own] * (2 * (rank - 2))}> (p)
    }}""")
    model.graph.initializer.append(numpy_helper.from_array(np.array(float(fill), np.float32), "fill"))
    return model


@pytest.mark.parametrize("rank", [3, 4, 5])
@pytest.mark.parametrize(("pool", "fill"), [("AveragePool", "0"), ("MaxPool", LOWEST)])
def test_a_pad_below_the_kernel_goes_into_the_pool(
    rank: int, pool: str, fill: str, simplified_operators: Operators
):
    for position, amount in product(range(2 * rank), (1, 2)):
        pads = [amount if index == position else 0 for index in range(2 * rank)]
        found = simplified_operators(padded_pool(pool, rank, pads, fill), feeds(rank))
        # Of the batch and the channels nothing is pooled; a window of padding alone has no maximum.
        is_fused = position % rank >= 2 and amount < 2
        assert found == ([pool] if is_fused else ["Pad", pool]), pads


@pytest.mark.parametrize(
    ("pool", "fill", "own", "top"),
    [
        ("AveragePool", "1", 0, 1),
        ("AveragePool", "0", 1, 1),
        ("MaxPool", "0", 0, 1),
        ("MaxPool", LOWEST, 0, -1),
    ],
)
def test_a_pad_that_the_pool_has_no_equal_of_stays(
    pool: str, fill: str, own: int, top: int, simplified_operators: Operators
):
    model = padded_pool(pool, 4, [0, 0, top, 0, 0, 0, 0, 0], fill, own)
    assert len(simplified_operators(model, feeds(4))) == 2
