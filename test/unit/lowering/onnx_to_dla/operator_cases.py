"""Single-operator networks, as arguments of the fixture `build`, shared by several tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Weights = dict[str, npt.NDArray[np.int64]]


def case(name: str, nodes: str, **options: Any) -> Any:
    """A network, given by its nodes in ONNX text syntax."""
    return pytest.param(nodes, options, id=name)


def _slice(starts: list[int], ends: list[int], axes: list[int], steps: list[int] | None = None) -> Weights:
    lists = {"a": starts, "b": ends, "c": axes, **({} if steps is None else {"d": steps})}
    return {name: np.array(indices, np.int64) for name, indices in lists.items()}


PICKED = [
    case("slice of rows", "y = Slice(x, a, b, c)", x=(1, 5, 9, 7), weights=_slice([1], [6], [2])),
    case(
        "every other column", "y = Slice(x, a, b, c, d)", x=(1, 5, 9, 7), weights=_slice([0], [7], [3], [2])
    ),
    case(
        "columns backwards", "y = Slice(x, a, b, c, d)", x=(1, 5, 9, 7), weights=_slice([-1], [-9], [3], [-1])
    ),
    case("slice of channels", "y = Slice(x, a, b, c)", x=(1, 37, 3, 4), weights=_slice([3], [30], [1])),
    case(
        "a row and channels", "y = Slice(x, a, b, c)", x=(2, 5, 4, 6), weights=_slice([1, 2], [4, 3], [1, 2])
    ),
    case(
        "a position",
        "y = Slice(x, a, b, c)\nz = Relu(y)",
        x=(1, 5, 4, 6),
        weights=_slice([1, 2], [2, 3], [2, 3]),
        outputs=("y", "z"),
    ),
    case(
        "split of channels",
        "y, z = Split<axis=1>(x, k)",
        x=(1, 37, 3, 4),
        weights={"k": np.array([16, 21], np.int64)},
        outputs=("y", "z"),
    ),
    case("split of rows", "y, z = Split<axis=2>(x)", x=(1, 7, 4, 3), outputs=("y", "z")),
    case(
        "gather of channels",
        "y = Gather<axis=1>(x, k)",
        x=(1, 5, 3, 4),
        weights={"k": np.array([4, 1, 1], np.int64)},
    ),
    case(
        "gather of a row", "y = Gather<axis=2>(x, k)", x=(1, 5, 3, 4), weights={"k": np.array(-1, np.int64)}
    ),
    case("tiles", "y = Tile(x, k)", x=(1, 3, 2, 4), weights={"k": np.array([1, 2, 3, 2], np.int64)}),
    case(
        "a column expanded",
        "y = Expand(x, k)",
        x=(1, 5, 3, 1),
        weights={"k": np.array([1, 5, 3, 101], np.int64)},
    ),
    case("a row tiled", "y = Tile(x, k)", x=(1, 20, 1, 3), weights={"k": np.array([1, 1, 70, 1], np.int64)}),
    case("expanded", "y = Expand(x, k)", x=(1, 3, 1, 1), weights={"k": np.array([1, 3, 4, 5], np.int64)}),
    case(
        "edges",
        'y = Pad<mode="edge">(x, k)',
        x=(1, 3, 4, 5),
        weights={"k": np.array([0, 0, 1, 2, 0, 0, 0, 3], np.int64)},
    ),
    case(
        "reflection",
        'y = Pad<mode="reflect">(x, k)',
        x=(1, 3, 4, 5),
        weights={"k": np.array([0, 0, 1, 2, 0, 0, 3, 1], np.int64)},
    ),
    case(
        "padding cut",
        "y = Pad(x, k, v)",
        x=(1, 3, 4, 5),
        weights={"k": np.array([0, 1, 1, -2, 0, 2, 0, 1], np.int64), "v": np.array(0.75, np.float32)},
    ),
]
"""Operators that only select elements."""

REDUCED = [
    case("mean over space", "y = ReduceMean<axes=[2,3]>(x)", x=(1, 5, 9, 7)),
    case("mean over columns", "y = ReduceMean<axes=[3], keepdims=0>(x)", x=(2, 5, 3, 7)),
    case("mean over channels", "y = ReduceMean<axes=[1]>(x)", x=(2, 5, 3, 7)),
    case("sum over all", "y = ReduceSum(x)", x=(2, 5, 3, 2)),
    case(
        "sum over rows and channels",
        "y = ReduceSum(x, k)",
        x=(1, 5, 3, 7),
        weights={"k": np.array([1, 2], np.int64)},
    ),
    case("sum over nothing", "y = ReduceSum<noop_with_empty_axes=1>(x)", x=(1, 5, 3, 7)),
    case("greatest of space", "y = ReduceMax<axes=[2,3]>(x)", x=(1, 5, 9, 11)),
    case("greatest of channels", "y = ReduceMax<axes=[1], keepdims=0>(x)", x=(2, 5, 3, 4)),
    case("greatest of many channels", "y = ReduceMax<axes=[1]>(x)", x=(1, 70, 3, 4)),
    case("least of channels of a batch", "y = ReduceMin<axes=[1], keepdims=0>(x)", x=(3, 37, 2, 2)),
    case("least of rows", "y = ReduceMin<axes=[2]>(x)", x=(1, 5, 9, 4)),
    case("depth to space", "y = DepthToSpace<blocksize=2>(x)", x=(1, 20, 3, 4)),
    case("depth to space by columns", 'y = DepthToSpace<blocksize=2, mode="CRD">(x)', x=(1, 20, 3, 4)),
    case("space to depth", "y = SpaceToDepth<blocksize=2>(x)", x=(1, 5, 6, 4)),
]
"""Reductions, and rearrangements between axes."""
