"""Operators of plug-ins as lookup tables of NVDLA, on the simulator."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from tool_server import run_tool

ROOT = Path(__file__).resolve().parents[3]
BUMP = ROOT / "examples" / "plugins" / "bump.py"

FP16 = """
    <ir_version: 8, opset_import: ["": 17, "com.bumps": 1]>
    g (float[1, 8, 4, 5] x) => (float[1, 8, 4, 5] y) { [bump] y = com.bumps.Bump <width = 2.0> (x) }
"""
INT8 = """
    <ir_version: 8, opset_import: ["": 17, "com.bumps": 1]>
    g (float[1, 8, 4, 5] x) => (float[1, 8, 4, 5] y)
    <float s = {0.0625}, float t = {0.0078125}, int8 z = {0}, int8 w = {-3}>
    {
      a = QuantizeLinear (x, s, w)  b = DequantizeLinear (a, s, w)
      [bump] c = com.bumps.Bump <width = 2.0> (b)
      d = QuantizeLinear (c, t, z)  y = DequantizeLinear (d, t, z)
    }
"""


def tool(*args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own: plug-ins stay registered in a process."""
    return run_tool(["xonnc", *args], cwd)


def saved(text: str, folder: Path) -> None:
    (folder / "m.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())


@pytest.mark.parametrize(("text", "target"), [(FP16, "nv_full"), (INT8, "nv_small")])
def test_the_simulator_gives_what_the_reference_gives(text: str, target: str, tmp_path: Path):
    saved(text, tmp_path)
    chosen = ("--plugin", BUMP, "--target", target)
    done = tool("explain", "m.onnx", "--json", *chosen, cwd=tmp_path)
    nodes = {node["node"]: node for node in json.loads(done.stdout)["nodes"]}
    assert (nodes["bump"]["operator"], nodes["bump"]["engine"]) == ("Bump", "CDP")
    done = tool("compile", "m.onnx", "-q", "-o", "m.nvdla", "--require-dla", *chosen, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(1, 8, 4, 5)) * 3).astype(np.float32)
    x.flat[:3] = 0, 7.5, -7.5
    is_int8 = target == "nv_small"
    stored = np.clip(np.rint(x / 0.0625) - 3, -128, 127)
    np.save(tmp_path / "x.npy", stored.astype(np.int8) if is_int8 else x)
    done = tool(
        "simulate", "m.nvdla", "--target", target, "--input", "x.npy", "--output", "y.npy", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "y.npy").astype(np.float64)
    if is_int8:
        exact = 1 / (1 + ((stored + 3) * 0.0625 / 2) ** 2)
        np.testing.assert_array_equal(found / 0.0078125, np.clip(np.rint(exact / 0.0078125), -128, 127))
    else:
        np.testing.assert_allclose(found, 1 / (1 + (x.astype(np.float64) / 2) ** 2), atol=2e-3)


BROKEN = """
import numpy as np
from xonnc.plugin import Plugin, one, operator
plugin = Plugin("bumps")
@operator(plugin, domain="com.bumps", name="Bump")
class Bump:
    inputs = {inputs}
    outputs = one("T")
    attributes = "auto"
    def infer(op): return op.inputs[0]
    def reference(op, x, *others): return x
    def lookup(op, x): {body}
"""


@pytest.mark.parametrize(
    ("inputs", "body", "message"),
    [
        (
            "one('T')",
            "raise ValueError('no value')",
            "bump (Bump of plug-in bumps): lookup raised ValueError: no value",
        ),
        ("one('T')", "raise op.fail('no value')", "bump (Bump of plug-in bumps): no value"),
        ("one('T')", "return x[:1]", "lookup gave shape [1] for ["),
        (
            "(one('T'), one('T'))",
            "return x",
            "plug-in bumps: com.bumps.Bump since version 1: a lookup is of one operand and one result",
        ),
    ],
)
def test_errors(inputs: str, body: str, message: str, tmp_path: Path):
    (tmp_path / "broken.py").write_text(BROKEN.format(inputs=inputs, body=body))
    # A package would move a node that the DLA refuses to the CPU; this is no refusal.
    for text, options in ((FP16, ["--require-dla"]), (INT8, ["--package", "--target", "nv_small"])):
        saved(text, tmp_path)
        done = tool("compile", "m.onnx", *options, "--plugin", "broken.py", cwd=tmp_path)
        assert done.returncode == 1
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert not [*tmp_path.glob("m.xpkg"), *tmp_path.glob("m.nvdla")]


def test_checks_hold_the_table_against_the_reference(tmp_path: Path):
    text = BROKEN.format(inputs="one('T')", body="return x + 1")
    (tmp_path / "broken.py").write_text(text)
    done = tool("plugins", "check", "broken.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "output 0 of lookup and reference differ by 1" in done.stdout
    assert tool("plugins", "check", BUMP, cwd=tmp_path).returncode == 0
