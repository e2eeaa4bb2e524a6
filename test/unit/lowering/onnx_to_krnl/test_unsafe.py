"""Programs without checks: as those with them where all is in range, and without an end where it is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from native_nodes import Array, Node

from xonnc.artifacts import compile_artifact
from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.tools.driver import main

X = np.arange(12, dtype=np.float32).reshape(4, 3)
KEPT = np.array([True, False, True, True])
ROIS = np.array([[0, 0, 2, 2]], np.float32)

CASES: Mapping[str, tuple[Node, Mapping[str, Array]]] = {
    "an index": (Node("Gather", [X, np.array([0, -4, 3])]), {"x1": np.array([4, 0, -5])}),
    "a place": (
        Node("ScatterND", [X, np.array([[1, 2]]), np.array([7.0], np.float32)]),
        {"x1": np.array([[1 << 40, -9]])},
    ),
    "a count": (Node("Compress", [X, KEPT], {"axis": 0}), {"x1": ~KEPT}),
    "a limit": (
        Node("Range", [np.array(0), np.array(5), np.array(1)]),
        {"x1": np.array(1000)},
    ),
    "an end": (Node("Slice", [X, np.array([1]), np.array([3])]), {"x2": np.array([4])}),
    "a size": (Node("RoiAlign", [X[None, None], ROIS, np.array([0])]), {"x1": ROIS * 1e9}),
    "an image": (Node("RoiAlign", [X[None, None], ROIS, np.array([0])]), {"x2": np.array([3])}),
}


FOUND: Mapping[str, Array] = {"a count": X[~KEPT], "a limit": np.arange(1000), "an end": X[1:4]}
"""What a run gives whose results have other sizes than the model declares."""


@pytest.mark.parametrize("case", CASES)
def test_a_run_goes_on(case: str):
    node, wrong = CASES[case]
    session = compile_native(node.model(), unsafe=True)
    given = [np.asarray(each) for each in session.run(None, node.feeds)]
    for one, other in zip(given, node.wanted(), strict=True):
        np.testing.assert_allclose(one.astype(np.float64), np.asarray(other, np.float64), rtol=1e-6)
    feeds = {**node.feeds, **wrong}
    after = [np.asarray(each) for each in session.run(None, feeds)]
    assert [each.shape for each in after] == [each.shape for each in given]
    if case in FOUND:
        # The declared size was wrong: code that checks finds out, and is made anew without it.
        (found,) = compile_native(node.model()).run(None, feeds)
        np.testing.assert_array_equal(found, FOUND[case])
        return
    with pytest.raises(XonncError):
        compile_native(node.model()).run(None, feeds)


def test_what_is_on_disk_has_checks_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XONNC_CACHE", str(tmp_path))
    node, wrong = CASES["an index"]
    for _ in range(2):
        compile_native(node.model(), unsafe=True).run(None, {**node.feeds, **wrong})
        with pytest.raises(XonncError, match=r"index (4|-5) is out of range"):
            compile_native(node.model()).run(None, {**node.feeds, **wrong})


def test_libraries_without_checks(tmp_path: Path):
    node, _ = CASES["an index"]
    (tmp_path / "net.onnx").write_bytes(node.model().SerializeToString())
    with_checks = compile_artifact(tmp_path / "net.onnx", tmp_path / "a.c")
    without = compile_artifact(tmp_path / "net.onnx", tmp_path / "b.c", unsafe=True)
    assert (with_checks.calls, without.calls) == (2, 1)
    said = "axis 0 has 4 elements"
    assert said in (tmp_path / "a.c").read_text() + (tmp_path / "a.h").read_text()
    assert said not in (tmp_path / "b.c").read_text() + (tmp_path / "b.h").read_text()


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    node, wrong = CASES["an index"]
    (tmp_path / "net.onnx").write_bytes(node.model().SerializeToString())
    for name, array in {**node.feeds, **wrong}.items():
        np.save(tmp_path / f"{name}.npy", array)
    run = ["run", str(tmp_path / "net.onnx"), "-q"]
    for name in node.feeds:
        run += ["--input", f"{name}={tmp_path / name}.npy"]
    assert main(run) == 1
    assert "is out of range: axis 0 has 4 elements" in capsys.readouterr().err
    assert main([*run, "--unsafe"]) == 0
    compiling = ["compile", str(tmp_path / "net.onnx"), "-q", "-o", str(tmp_path / "net.c")]
    assert main([*compiling, "--unsafe"]) == 0
    assert "axis 0 has 4 elements" not in (tmp_path / "net.c").read_text()


def test_it_is_for_native_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "net.onnx").write_bytes(CASES["an index"][0].model().SerializeToString())
    assert main(["compile", str(tmp_path / "net.onnx"), "--unsafe"]) == 1
    assert "--unsafe is for native code: -o model.so" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "net.xpkg"), "--unsafe"]) == 1
    assert "--unsafe is for models (.onnx, .onnxtxt, .json)" in capsys.readouterr().err
