"""Several images in one run: the bytes of as many runs, and weights that are loaded once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper
from xdsl.dialects.builtin import ModuleOp

from xonnc.compiler import Compilation, compile_model
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput
from xonnc.packages import compile_package
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.package import load_package
from xonnc.targets import load_target
from xonnc.tools.driver import main

Array = npt.NDArray[np.generic]

TARGETS = {
    "nv_full": "fp16",
    "nv_full_cvsram": "int8",
    "nv_large": "int8",
    "nv_medium_1024_full": "int8",
    "nv_medium_512": "int8",
    "nv_small_256": "int8",
    "nv_small_256_full": "int8",
    "nv_small": "int8",
}

NETWORK = """
    <ir_version: 8, opset_import: ["": 17]>
    network (float[1, 3, 10, 10] x) => (float[1, 30] scores, float[1, 12, 5, 5] half) {
        a = Conv <pads = [1, 1, 1, 1]> (x, w0)
        b = Relu(a)
        half = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
        c = Conv (half, w1)
        d = Conv <pads = [1, 1, 1, 1]> (half, w2)
        e = Concat <axis = 1> (c, d)
        f = Conv (e, w3)
        g = Add (f, e)
        h = Relu (g)
        i = Conv <strides = [2, 2]> (h, w4)
        j = Conv <kernel_shape = [3, 3]> (i, w5)
        k = Flatten (j)
        l = Gemm <transB = 1> (k, w6, b6)
        m = Relu (l)
        scores = Gemm <transB = 1> (m, w7)
    }
"""
"""Windows that cover one image and several, a sum, a concatenation, odd channels, fully connected layers."""

SHAPES = {
    "w0": (12, 3, 3, 3),
    "w1": (20, 12, 1, 1),
    "w2": (13, 12, 3, 3),
    "w3": (33, 33, 1, 1),
    "w4": (40, 33, 1, 1),
    "w5": (70, 40, 3, 3),
    "w6": (2100, 70),
    "b6": (2100,),
    "w7": (30, 2100),
}

CONNECTED = """
    <ir_version: 8, opset_import: ["": 17]>
    network (float[batch, 64, 3, 3] x) => (float[batch, 200] y) {
        k = Flatten (x)
        l = Gemm <transB = 1> (k, w6, b6)
        m = Relu (l)
        y = Gemm <transB = 1> (m, w7)
    }
"""


def written(folder: Path, text: str, shapes: dict[str, tuple[int, ...]]) -> Path:
    generator = np.random.default_rng(7)
    model = onnx.parser.parse_model(text)
    for name, shape in shapes.items():
        values = generator.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) + 1)
        model.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), name))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def compiled(
    path: Path, target: str, batch: int, precision: str, images: dict[str, ImageInput] | None = None
) -> Compilation:
    names = [*"xabcdefghijklmy", "half", "scores"]
    ranges: Ranges = {name: Range(-3.0, 3.0) for name in names}

    def calibrate(module: ModuleOp) -> Ranges:
        return ranges

    chosen = None if precision == "fp16" else calibrate
    return compile_model(path, target, calibrate=chosen, images=images, batch=batch)


def runs(compilation: Compilation, target: str, feeds: Sequence[Array], times: int = 1) -> list[Array]:
    simulator = Simulator(compilation.loadable, load_target(target), mode="exact")
    outputs = [simulator.run(feeds) for _ in range(times)][-1]
    return [output.tensor for output in outputs]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("target", TARGETS)
def test_results_are_those_of_single_images(target: str, count: int, tmp_path: Path):
    path = written(tmp_path, NETWORK, SHAPES)
    one, several = (compiled(path, target, batch, TARGETS[target]) for batch in (1, count))
    x = np.random.default_rng(1).standard_normal((count, 3, 10, 10)).astype(np.float32)
    x[0, :, 0, 0] = [-100.0, 0.0, np.inf] if TARGETS[target] == "fp16" else 0.0
    found = runs(several, target, [x], times=2)
    for index in range(count):
        expected = runs(one, target, [x[index : index + 1]])
        for ours, theirs in zip(found, expected, strict=True):
            assert ours[index : index + 1].tobytes() == theirs.tobytes()


@pytest.mark.parametrize(
    ("target", "precision"), [("nv_full", "fp16"), ("nv_full", "int8"), ("nv_small", "int8")]
)
def test_fully_connected_layers_load_weights_once(target: str, precision: str, tmp_path: Path):
    shapes = {"w6": (2000, 576), "b6": (2000,), "w7": (200, 2000)}
    path = written(tmp_path, CONNECTED.replace("batch", "1"), shapes)
    one, four = (compiled(path, target, batch, precision).report for batch in (1, 4))
    assert four.performance.images == 4
    assert four.cycles < 1.25 * one.cycles
    assert four.performance.traffic_bytes < 1.25 * one.performance.traffic_bytes


def test_pixels_of_several_images(tmp_path: Path):
    text = """
        <ir_version: 8, opset_import: ["": 17]>
        network (float[1, 1, 6, 5] x) => (float[1, 9, 6, 5] y) { y = Conv <pads = [1, 1, 1, 1]> (x, w0) }
    """
    path = written(tmp_path, text, {"w0": (9, 1, 3, 3)})
    images = {"x": ImageInput("R8", std=(255.0,))}
    one, three = (compiled(path, "nv_small", batch, "int8", images) for batch in (1, 3))
    x = np.random.default_rng(1).integers(0, 256, (3, 1, 6, 5)).astype(np.uint8)
    (found,) = runs(three, "nv_small", [x])
    for index in range(3):
        (expected,) = runs(one, "nv_small", [x[index : index + 1]])
        assert found[index : index + 1].tobytes() == expected.tobytes()


def test_parts_on_the_cpu_run_for_each_image(tmp_path: Path):
    text = """
        <ir_version: 8, opset_import: ["": 17]>
        network (float[1, 8, 6, 5] x) => (float[1, 9, 6, 5] y, float[1, 8] z) {
            a = Conv <pads = [1, 1, 1, 1]> (x, w0)
            axis = Constant <value_int = 2> ()
            b = CumSum (a, axis)
            y = Conv (b, w1)
            z = ReduceMean <axes = [2, 3], keepdims = 0> (x)
        }
    """
    path = written(tmp_path, text, {"w0": (9, 8, 3, 3), "w1": (9, 9, 1, 1)})
    x = np.random.default_rng(1).standard_normal((3, 8, 6, 5)).astype(np.float32)
    results: list[dict[str, Array]] = []
    for batch in (1, 3):
        package = compile_package(path, "nv_full", batch=batch)
        assert package.cpu_nodes
        assert package.compiled
        package.write(tmp_path / "model.xpkg")
        loaded = load_package(tmp_path / "model.xpkg", mode="exact")
        assert loaded.inputs["x"].shape == (batch, 8, 6, 5)
        assert loaded.outputs["z"].shape == (batch, 8)
        parts = np.split(x, 3) if batch == 1 else [x]
        outputs = [loaded.run({"x": part}) for part in parts]
        results.append({name: np.concatenate([one[name] for one in outputs]) for name in outputs[0]})
    for name, expected in results[0].items():
        assert results[1][name].tobytes() == expected.tobytes()
    with pytest.raises(XonncError, match=r"input 'x': shape \[1, 8, 6, 5\], the model takes \[3, 8, 6, 5\]"):
        loaded.run({"x": x[:1]})


@pytest.mark.parametrize(
    ("text", "batch", "message"),
    [
        (
            "network (float[2, 4] x) => (float[2, 4] y) { y = Relu (x) }",
            2,
            r"input 'x': shape \[2, 4\]; a batch of 2 takes models of one image",
        ),
        (
            "network (float[1, 4] x) => (float[4, 1] y) { y = Transpose (x) }",
            2,
            r"output 'y': shape \[4, 1\]; a batch of 2 takes models of one image",
        ),
        ("network (float x) => (float y) { y = Relu (x) }", 2, r"input 'x': shape \[\]; a batch of 2"),
        (
            "network (float[1, 4] x) => (float[1, 4] y) { y = Relu (x) }",
            0,
            r"a batch of 0 images \(1 to 16\)",
        ),
        (
            "network (float[1, 4] x) => (float[1, 4] y) { y = Relu (x) }",
            17,
            r"a batch of 17 images \(1 to 16\)",
        ),
    ],
)
def test_models_that_have_no_batch(text: str, batch: int, message: str, tmp_path: Path):
    path = written(tmp_path, f'<ir_version: 8, opset_import: ["": 17]> {text}', {})
    with pytest.raises(XonncError, match=message):
        compile_model(path, "nv_full", batch=batch)


def test_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = written(tmp_path, CONNECTED, {"w6": (300, 576), "b6": (300,), "w7": (200, 300)})
    loadable = tmp_path / "model.nvdla"
    assert main(["compile", str(path), "--target", "nv_full", "--batch", "4", "-o", str(loadable)]) == 0
    assert "for 4 in one run" in capsys.readouterr().out
    fixed = tmp_path / "fixed.onnx"
    assert main(["simplify", str(path), str(fixed), "--overwrite-input-shape", "x:1,64,3,3", "-q"]) == 0
    assert main(["check", str(fixed), str(loadable), "--target", "nv_full", "--inputs", "6"]) == 0
    assert "on 6 inputs" in capsys.readouterr().out
    assert main(["report", str(loadable), "--target", "nv_full"]) == 0
    assert "4 in one run" in capsys.readouterr().out
    assert main(["compile", str(path), "--batch", "4", "-o", str(tmp_path / "model.so")]) == 1
    assert "--batch is for NVDLA targets, not for native code" in capsys.readouterr().err
    package = tmp_path / "model.xpkg"
    assert main(["compile", str(path), "--batch", "2", "-o", str(package), "-q"]) == 0
    assert main(["deploy", str(package), "-o", str(tmp_path / "board")]) == 1
    assert "a run computes 2 images, a board's program one at a time" in capsys.readouterr().err
