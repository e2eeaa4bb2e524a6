"""Tiles measured for a model: what is kept, and that sessions and files take it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper
from xdsl.dialects.builtin import ModuleOp

from xonnc import tuning
from xonnc.artifacts import compile_artifact
from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.native_compilation import measured_tiles, resolve_processor
from xonnc.runtime.native.tuned_tiles import read_tiles, save_tiles
from xonnc.tools.driver import main
from xonnc.tuning import tune

GEMM, CONV, DEPTHWISE = (
    "gemm 40x64x96 f32",
    "conv 3x3 16->32 10x10 f32",
    "depthwise 3x3 1->32 10x10 f32",
)


def model(folder: Path, rows: str = "40") -> Path:
    """A convolution, a depthwise one and a product."""
    rng = np.random.default_rng(0)
    shapes = {"w": (32, 16, 3, 3), "d": (32, 1, 3, 3), "m": (64, 96)}
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
      g (float[1,16,10,10] x, float[{rows},64] a) => (float[1,32,10,10] y, float[{rows},96] z) {{
        c = Conv<pads=[1,1,1,1]>(x, w)
        y = Conv<pads=[1,1,1,1], group=32>(c, d)
        z = MatMul(a, m)
      }}"""
    made = onnx.parser.parse_model(text)
    made.graph.initializer.extend(
        numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
        for name, shape in shapes.items()
    )
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XONNC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tuning, "SAMPLE_SECONDS", 1e-5)
    return tmp_path / "cache"


def test_every_kernel_of_static_shape_is_measured(tmp_path: Path):
    seen: list[tuple[int, int, str]] = []

    def told(done: int, total: int, name: str) -> None:
        seen.append((done, total, name))

    found = tune(model(tmp_path), seconds=30, on_kernel=told)
    assert {kernel.name for kernel in found.kernels} == {GEMM, CONV, DEPTHWISE}
    assert not found.unmeasured
    assert [name for _, _, name in seen] == [kernel.name for kernel in found.kernels]
    assert {total for _, total, _ in seen} == {3}
    for kernel in found.kernels:
        assert len(kernel.nodes) == 1
        assert kernel.before >= kernel.after > 0
        assert (kernel.gain >= tuning.MIN_GAIN) == (kernel.fastest != kernel.computed)
    kept = {kernel.name: kernel.fastest for kernel in found.kernels if kernel.gain}
    assert read_tiles(resolve_processor("cpu")) == kept


def test_a_kernel_for_which_no_time_is_left_is_told(tmp_path: Path):
    found = tune(model(tmp_path), seconds=1e-9)
    assert not found.kernels
    assert set(found.unmeasured) == {GEMM, CONV, DEPTHWISE}


def test_a_tile_that_is_no_longer_faster_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save_tiles(resolve_processor("cpu"), {GEMM: (2, 16)})
    monkeypatch.setattr(tuning, "MIN_GAIN", 1.0)
    tune(model(tmp_path), seconds=30)
    assert read_tiles(resolve_processor("cpu")) == {}


def test_dynamic_shapes(tmp_path: Path):
    path = model(tmp_path, "N")
    assert GEMM not in {kernel.name for kernel in tune(path, seconds=30).kernels}
    found = tune(path, seconds=30, input_shapes={"a": (40, 64)})
    assert GEMM in {kernel.name for kernel in found.kernels}


def test_wrong_options(tmp_path: Path):
    with pytest.raises(XonncError, match="target avx2: tiles are measured for cpu, the processor at hand"):
        tune(model(tmp_path), target="avx2")
    with pytest.raises(XonncError, match="seconds: 0; it is above 0"):
        tune(model(tmp_path), seconds=0)


def test_a_model_without_tiles(tmp_path: Path):
    path = tmp_path / "relu.onnx"
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu(x) }'
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    with pytest.raises(XonncError, match="no product or convolution of static shape to tune"):
        tune(path)


@pytest.mark.parametrize(
    "tiles",
    [
        {GEMM: (3, 16), CONV: (3, 1), DEPTHWISE: (5, 1)},
        # Larger than the result, as a file that was edited may say; slow, but right.
        {GEMM: (50, 160), CONV: (12, 3), DEPTHWISE: (12, 3)},
    ],
)
def test_answers_are_the_same_with_measured_tiles(tmp_path: Path, tiles: dict[str, tuple[int, int]]):
    path = model(tmp_path)
    rng = np.random.default_rng(1)
    feeds = {
        "x": rng.standard_normal((1, 16, 10, 10)).astype(np.float32),
        "a": rng.standard_normal((40, 64)).astype(np.float32),
    }
    expected = compile_native(path, tuning=False).run(None, feeds)
    save_tiles(resolve_processor("cpu"), tiles)
    for got, want in zip(compile_native(path).run(None, feeds), expected, strict=True):
        np.testing.assert_allclose(np.asarray(got, np.float32), np.asarray(want), rtol=1e-4, atol=1e-4)


def test_measured_tiles_are_in_the_code_of_cpu_alone(tmp_path: Path):
    path = model(tmp_path)
    save_tiles(resolve_processor("cpu"), {GEMM: (3, 16)})
    assert measured_tiles("cpu", tuning=True) == {GEMM: (3, 16)}
    assert measured_tiles("cpu", tuning=False) == measured_tiles("portable", tuning=True) == {}
    texts: dict[str, str] = {}
    cases = ("tuned", "cpu", True), ("plain", "cpu", False), ("other", "portable", True)
    for name, target, is_tuned in cases:

        def on_stage(stage: str, module: ModuleOp, name: str = name) -> None:
            if stage == "krnl":
                texts[name] = str(module)

        compile_artifact(path, tmp_path / "m.ll", target, tuning=is_tuned, on_stage=on_stage)
    tile = "tile = array<i64: 3, 16>"
    assert [tile in texts[name] for name in ("tuned", "plain", "other")] == [True, False, False]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], cache: Path):
    path = model(tmp_path)
    assert main(["tune", str(path), "--seconds", "20", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {each["kernel"] for each in told["kernels"]} == {GEMM, CONV, DEPTHWISE}
    assert told["file"] == str(cache / "tiles.json")
    assert main(["tune", str(path), "--seconds", "0.000001"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "m.onnx   0 kernels measured, 0 faster with another tile"
    assert "3 kernels without time; --seconds gives more" in lines[2]
    assert main(["tune", str(path), "--target", "avx2"]) == 1
    assert "xonnc: target avx2: tiles are measured for cpu" in capsys.readouterr().err


def test_no_tuning_is_for_native_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = model(tmp_path)
    save_tiles(resolve_processor("cpu"), {GEMM: (3, 16)})
    for option, is_tuned in (((), True), (("--no-tuning",), False)):
        out = tmp_path / "m.mlir"
        given = ["--target", "cpu", "--stop-after", "krnl", *option, "-o", str(out)]
        assert main(["compile", str(path), *given]) == 0
        assert ("tile = array<i64: 3, 16>" in out.read_text()) == is_tuned
    capsys.readouterr()
    assert main(["compile", str(path), "-o", str(tmp_path / "m.nvdla"), "--no-tuning"]) == 1
    assert "--no-tuning is for native code" in capsys.readouterr().err
