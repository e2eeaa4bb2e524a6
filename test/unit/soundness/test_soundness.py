"""
What other simplifiers are known to make wrong, or to fail on, is right here.

The lists of such points are those of `docs/internals/onnx-rules.md` (§9.1 marks them `[W]`, §1.4 and §3.3
tell them in words) and of `docs/internals/onnx-rules.md` §8.1; every point has a model, or a test of its own
in `test_memory.py`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import folding_traps
import fusing_traps
import numpy as np
import onnx
import pytest
from trap import PARSE, Array, Trap

from xonnc.fuzzing.levels import single_pass
from xonnc.fuzzing.validity import invalidity
from xonnc.runtime.verification.reference_engines import Outputs, engine_for
from xonnc.tools.driver import main

MARKED = {6: 1, 9: 1, 10: 1, 11: 1, 17: 1, 22: 1, 24: 1, 26: 1, 27: 1, 28: 1, 29: 3, 30: 1, 38: 2}
"""How many marks `[W]` each row of the table of passes has (§1.3 of `docs/internals/onnx-rules.md`)."""

TOLD = (
    "Pad value into Conv",
    "Pad value into AveragePool",
    "zero Pad into MaxPool",
    "Pad into AveragePool with pads",
    "Pad into a pool with auto_pad",
    "Reshape(Reshape) with 0",
    "Slice(Shape(start=2))",
    "Dropout mask",
    "ArgMax(Exp) saturation",
    "Gemm of int32 below opset 11",
    "second RandomUniform draw",
    "operator domain in CSE",
    "metadata_props of nodes",
    "quantization_annotation",
    "function bodies",
    "dead nodes inside If branches",
    "sparse initializer",
    "Transpose twice without perm",
    "Transpose without perm into Gemm",
    "Log(Softmax) without an axis",
)
"""What §1.4 lists: ten wrong results, six losses, four failures."""

FOLDING = {1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1, 9: 1, 10: 12}
"""The points of §1.7 of `docs/internals/onnx-rules.md`, and how many things each names."""

OF_MEMORY = ("8.1 #1", "8.1 #2", "8.1 #3", "8.1 #9")
"""What no output shows: `test_memory.py`."""

TRAPS = (*fusing_traps.TRAPS, *folding_traps.TRAPS)


def _name(trap: Trap) -> str:
    return f"{trap.rows[0]}-{PARSE(trap.text).graph.name}".replace(" ", "-")


def test_every_point_has_a_model():
    rows = {row for trap in TRAPS for row in trap.rows} | set(OF_MEMORY)
    assert {f"9.2 {point}" for point in TOLD} == {row for row in rows if row.startswith("9.2")}
    assert len(TOLD) == 10 + 6 + 4
    for chapter, expected in (("9.1", MARKED), ("8.1", FOLDING)):
        numbers = [row.split()[1] for row in rows if row.startswith(chapter)]
        found = Counter(int(number.removeprefix("#")) for number in numbers)
        assert found == expected, chapter
    assert sum(MARKED.values()) == 16
    assert "9.3 negative factors" in rows


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("trap", TRAPS, ids=_name)
def test_by_simplify(trap: Trap, tmp_path: Path):
    model, simpler = tmp_path / "in.onnx", tmp_path / "out.onnx"
    model.write_bytes(trap.model().SerializeToString())
    assert main(["simplify", str(model), str(simpler), "-q"]) == 0
    _judge(trap, onnx.ModelProto.FromString(simpler.read_bytes()))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("trap", "name"),
    [pytest.param(trap, name, id=f"{_name(trap)}-{name}") for trap in TRAPS for name in trap.passes],
)
def test_by_a_pass_alone(trap: Trap, name: str):
    _judge(trap, single_pass(name)(trap.model()))


def _judge(trap: Trap, made: onnx.ModelProto) -> None:
    before = trap.model()
    assert not invalidity(made, trap.has_known_types)
    trap.says(before, made)
    if trap.is_run:
        feeds = {name: np.asarray(array) for name, array in trap.feeds.items()}
        expected = trap.outputs if trap.outputs is not None else engine_for(before).run(feeds)
        _compare(expected, engine_for(made).run(feeds))


def _compare(expected: Outputs, found: Outputs) -> None:
    assert list(expected) == list(found)
    for name, array in expected.items():
        _same(found[name], array)


def _same(found: Array, expected: Array) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, 1e-5 if expected.dtype.kind == "f" else 0)
