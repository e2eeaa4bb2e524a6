"""Models with dynamic inputs on NVDLA, which takes fixed sizes: `--input-shape`, and what is said without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import xonnc
from xonnc.compiler import compile_model
from xonnc.errors import RefusalError, XonncError
from xonnc.explanation import explain_model, explain_package
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import shape_option
from xonnc.tools.driver import main

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4, H, W] x) => (float[N, 4, H, W] y) {
  a = Relu(x)
  b = Abs(a)
  c = Add(a, b)
  y = Relu(c)
}"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    return path


def test_sizes_are_given_as_an_option(model: Path, capsys: pytest.CaptureFixture[str]):
    output = model.with_suffix(".nvdla")
    arguments = ["compile", str(model), "--target", "nv_full", "--input-shape", "x:1,4,3,5"]
    assert main([*arguments, "-o", str(output), "-q"]) == 0
    assert output.exists()
    assert main(["explain", str(model), "--target", "nv_full", "--input-shape", "x:1,4,3,5"]) == 0
    assert "refused" not in capsys.readouterr().out


@pytest.mark.parametrize("options", [(), ("--memory",), ("--html",)])
def test_reports_take_sizes(options: tuple[str, ...], model: Path, capsys: pytest.CaptureFixture[str]):
    page = [str(model.with_suffix(".html"))] if options == ("--html",) else []
    shape = ["--target", "nv_full", "--input-shape", "x:1,4,3,5"]
    assert main(["report", str(model), *shape, *options, *page]) == 0
    assert not capsys.readouterr().err
    compiled = model.with_suffix(".nvdla")
    assert main(["compile", str(model), *shape, "-o", str(compiled), "-q"]) == 0
    assert main(["report", str(compiled), *shape]) == 1
    assert "--input-shape is for models; this is compiled already" in capsys.readouterr().err


def test_sizes_are_given_to_functions(model: Path):
    shapes = {"x": (1, 4, 3, 5)}
    assert compile_model(model, "nv_full", input_shapes=shapes).report.layers
    for explain in (explain_model, explain_package):
        assert not explain(model, "nv_full", input_shapes=shapes).refusals
    compiled = xonnc.compile(model, "nv_full", input_shapes=shapes)
    x = np.random.default_rng(0).normal(size=shapes["x"]).astype(np.float32)
    found = compiled.run(None, {"x": x})[0]
    assert np.allclose(np.asarray(found), 2 * np.maximum(x, 0), rtol=2e-3)
    with pytest.raises(XonncError, match="no input 'z'; there are x"):
        compile_model(model, "nv_full", input_shapes={"z": (1,)})


def test_without_sizes_one_line_says_what_to_give(model: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(RefusalError) as refused:
        compile_model(model, "nv_full")
    (reason,) = refused.value.reasons
    assert reason.endswith("fix the shapes of the model's inputs, such as --input-shape x:1,4,H,W")
    assert main(["compile", str(model), "--target", "nv_full", "-o", str(model.with_suffix(".nvdla"))]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert main(["compile", str(model), "--target", "nv_full"]) == 1
    assert (
        "nothing runs on the DLA: input 'x' has a dynamic shape; fix it, such as" in capsys.readouterr().err
    )
    package = model.with_suffix(".xpkg")
    assert main(["compile", str(model), "--target", "nv_full", "-o", str(package)]) == 0
    assert package.exists()
    said = capsys.readouterr()
    assert "2 Relu: a dynamic shape; fix the sizes of the inputs with --input-shape" in said.out
    assert "input 'x' has a dynamic shape" in said.err


@pytest.mark.parametrize(
    ("sizes", "option"),
    [
        ((None, 3, 224, 224), "x:1,3,224,224"),
        ((-1, 3, -1, -1), "x:1,3,H,W"),
        ((2, None, 4, None, None), "x:2,H,4,W,N"),
    ],
)
def test_the_option_keeps_what_is_known(sizes: tuple[int | None, ...], option: str):
    assert shape_option("x", sizes) == f"--input-shape {option}"
