"""Optional passes of the back end can be left out: the results stay, the loadable is larger or slower."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from xonnc.compiler import compile_model
from xonnc.errors import UnknownNameError
from xonnc.lowering.dla_to_loadable.stages import OPTIONAL_PASSES
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target
from xonnc.tools.driver import main

# Every optional pass has something to do: pooling on the fly, equal constants, skipped rows, branches, 3x3
# convolutions bound by multiplications, weights with zeros.
NETWORK = """
a = Conv<pads = [1, 1, 1, 1]>(x, w)
r = Relu(a)
d = Conv<group = 128, pads = [1, 1, 1, 1]>(r, g)
l = Conv<strides = [2, 2]>(d, u)
m = Conv<strides = [2, 2]>(r, v)
s = Add(l, m)
p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(s)
q = Conv(p, t)
y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(q)
"""
SHAPE = (1, 128, 28, 28)
WEIGHTS = {
    "w": (128, 128, 3, 3),
    "g": (128, 1, 3, 3),
    "u": (64, 128, 1, 1),
    "v": (64, 128, 1, 1),
    "t": (32, 64, 1, 1),
}


@pytest.fixture
def model(build: Callable[..., onnx.ModelProto], tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(build(NETWORK, SHAPE, WEIGHTS).SerializeToString())
    return path


@pytest.mark.parametrize("disabled", [(), *((name,) for name in OPTIONAL_PASSES), OPTIONAL_PASSES])
@pytest.mark.parametrize("target", ["nv_full", "nv_full_cvsram"])
def test_results_stay(disabled: tuple[str, ...], target: str, model: Path):
    stages: list[str] = []
    compilation = compile_model(
        model, target, disable_pass=disabled, on_stage=lambda name, _: stages.append(name)
    )
    assert stages == ["onnx", "simplified", "dla", "scheduled", "allocated"]
    image = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
    (output,) = Simulator(compilation.loadable, load_target(target)).run([image])
    (expected,) = ReferenceModel(model).run({"x": image})
    error = np.abs(output.numbers.reshape(expected.shape) - expected).max()
    assert error <= 4e-3 * np.abs(expected).max()


def test_a_pass_is_left_out(model: Path):
    for disabled, is_winograd in (((), True), (("dla-use-winograd",), False)):
        layers = compile_model(model, "nv_full", disable_pass=disabled).report.layers
        assert any(layer.is_winograd for layer in layers) is is_winograd


@pytest.mark.parametrize("ending", ["nvdla", "xpkg"])
def test_the_command_line_leaves_passes_out(
    ending: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    sizes: list[int] = []
    for number, options in enumerate(([], ["--disable-pass", "dla-use-winograd"])):
        output = tmp_path / f"{number}.{ending}"
        assert main(["compile", str(model), "-o", str(output), "-q", *options]) == 0
        sizes.append(output.stat().st_size)
    # Transformed kernels are larger.
    assert sizes[0] > sizes[1] + 100_000
    assert main(["compile", str(model), "--verbose", "--dry-run"]) == 0
    assert "CONV (Winograd)+SDP" in capsys.readouterr().out


def test_required_passes_are_named(model: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(UnknownNameError, match="no pass 'dla-split' of NVDLA that may be disabled"):
        compile_model(model, "nv_full", disable_pass=["dla-split"])
    with pytest.raises(SystemExit, match="2"):
        main(["compile", str(model), "--disable-pass", "dla-use-winogrod"])
    assert "did you mean 'dla-use-winograd'?" in capsys.readouterr().err
    assert main(["compile", str(model), "-o", "model.so", "--disable-pass", "dla-use-winograd"]) == 2
    assert "no pass 'dla-use-winograd' of the optimization levels" in capsys.readouterr().err
