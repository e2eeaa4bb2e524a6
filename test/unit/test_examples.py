"""The programs in `examples` run, and print what they are about."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from tool_server import run_program

FOLDER = Path(__file__).resolve().parents[2] / "examples"

# What is printed where torch is installed, and where it is not.
TORCH = (
    "torch.compile: equal to torch's result: True"
    if find_spec("torch") and find_spec("onnxscript")
    else "PyTorch is not installed: pip install 'xonnc[torch]'\n"
)

PRINTS = {
    "binding.py": "y = [[ 7. 11. 12. 14.]] sum = [[44.]]\nin the background: [[4.0], [4.0]]",
    "build.py": "y = [[1. 2. 3.]\n [1. 2. 3.]]",
    "decode.py": "from the whole context in one run: True\nprograms compiled: 1",
    "from_torch.py": TORCH,
    "nvdla.py": "y: (1, 4, 8, 8) float32 from 0.0 to 1.0",
    "onnx_backend.py": "in row [[0 1 0]]",
    "quantize.py": "y: cosine 0.99",
    "session.py": "every value: ['a', 's', 'y']\nwith b = [[-2. -0. -4. -0.]]\nthe same: True\n",
    "targets.py": "tosa ['x', 'y'] ['model.mlir']\n",
}


def test_every_example_is_run():
    assert set(PRINTS) == {path.name for path in FOLDER.glob("*.py")}


@pytest.mark.parametrize("name", PRINTS)
def test_examples(name: str, tmp_path: Path):
    done = run_program(FOLDER / name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert PRINTS[name] in done.stdout
