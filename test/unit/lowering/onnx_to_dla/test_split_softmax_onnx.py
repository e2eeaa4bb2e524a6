"""Branches of a network that a softmax weighs (SKNet, ResNeSt) run on the engines in one part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from onnx import numpy_helper
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.compiler import compile_model
from xonnc.errors import RefusalError
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

Array = npt.NDArray[np.float32]

BRANCHES = "a = Conv <pads = [1, 1, 1, 1]> (x, ka)  ra = Relu (a)  b = Conv (x, kb)  rb = Relu (b) "
LOGITS = "t = Add (ra, rb)  g = GlobalAveragePool (t)  l = Conv (g, kl) "

NETWORKS = {
    "stacked": (
        "s = Reshape (l, five)  w = Softmax <axis = 1> (s) "
        "ua = Unsqueeze (ra, one)  ub = Unsqueeze (rb, one)  c = Concat <axis = 1> (ua, ub) "
        "m = Mul (c, w)  y = ReduceSum <keepdims = 0> (m, one)"
    ),
    "split": (
        "s = Reshape (l, four)  w = Softmax <axis = 1> (s)  wa, wb = Split <axis = 1, num_outputs = 2> (w) "
        "va = Reshape (wa, channels)  vb = Reshape (wb, channels) "
        "ma = Mul (ra, va)  mb = Mul (rb, vb)  y = Add (ma, mb)"
    ),
    "gathered": (
        "s = Reshape (l, five)  w = Softmax <axis = 1> (s) "
        "wa = Gather <axis = 1> (w, first)  wb = Gather <axis = -4> (w, last) "
        "ma = Mul (ra, wa)  mb = Mul (wb, rb)  y = Add (ma, mb)"
    ),
    "of three": (
        "n = GlobalMaxPool (rb)  l3 = Concat <axis = 1> (l, n)  s = Reshape (l3, three) "
        "w = Softmax <axis = -4> (s)  wa, wb, wc = Split <axis = 1, num_outputs = 3> (w) "
        "va = Reshape (wa, channels)  vb = Reshape (wb, channels)  vc = Reshape (wc, channels) "
        "ma = Mul (ra, va)  mb = Mul (rb, vb)  mc = Mul (t, vc)  q = Add (ma, mb)  y = Add (q, mc)"
    ),
    "of images": "h = Conv (x, kh)  w = Softmax <axis = 1> (h)  y = Conv (w, kw)",
}
CONSTANTS = {
    "five": [1, 2, 16, 1, 1], "four": [1, 2, 16, 1], "three": [1, 3, 16, 1, 1], "channels": [1, 16, 1, 1],
    "one": [1], "first": 0, "last": -1,
}  # fmt: skip
WEIGHTS = {
    "ka": (16, 8, 3, 3),
    "kb": (16, 8, 1, 1),
    "kl": (32, 16, 1, 1),
    "kh": (4, 8, 1, 1),
    "kw": (16, 4, 1, 1),
}


def written(folder: Path, nodes: str) -> Path:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]> network (float[1, 8, 6, 6] x) => (float[1, 16, 6, 6] y) '
        f"{{ {BRANCHES} {LOGITS} {nodes} }}"
    )
    generator = np.random.default_rng(0)
    arrays = {name: np.array(numbers, np.int64) for name, numbers in CONSTANTS.items()}
    for name, shape in WEIGHTS.items():
        scale = 6 if name == "kl" else 2
        numbers = generator.standard_normal(shape) * scale / np.sqrt(np.prod(shape[1:]))
        arrays[name] = numbers.astype(np.float32)
    for name, array in arrays.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def images() -> list[dict[str, Array]]:
    generator = np.random.default_rng(1)
    return [{"x": generator.standard_normal((1, 8, 6, 6)).astype(np.float32)} for _ in range(6)]


def calibrate(module: ModuleOp) -> Ranges:
    return calibrate_module(module, images(), "minmax")


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(
    ("target", "is_integer", "bound"),
    [("nv_full", False, 0.01), ("nv_small", True, 0.06), ("nv_large", True, 0.06)],
)
def test_weighted_branches(name: str, target: str, is_integer: bool, bound: float, tmp_path: Path):
    path = written(tmp_path, NETWORKS[name])
    compilation = compile_model(path, target, calibrate=calibrate if is_integer else None)
    simulator = Simulator(compilation.loadable, load_target(target), mode="exact")
    reference = ReferenceModel(path)
    for sample in images():
        (expected,) = reference.run(sample)
        (output,) = simulator.run([sample["x"]])
        error = np.abs(output.numbers.astype(np.float32) - expected)
        assert error.max() <= bound * np.abs(expected).max()


def test_probabilities_that_are_outputs_stay_exact(tmp_path: Path):
    path = written(tmp_path, "s = Reshape (ra, pairs)  w = Softmax <axis = 1> (s)  y = Reshape (w, image)")
    model = onnx.ModelProto.FromString(path.read_bytes())
    for name, shape in {"pairs": (1, 2, 8, 6, 6), "image": (1, 16, 6, 6)}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.array(shape, np.int64), name))
    path.write_bytes(model.SerializeToString())
    with pytest.raises(RefusalError, match="softmax over 2 elements"):
        compile_model(path, "nv_full")
