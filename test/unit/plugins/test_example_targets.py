"""Every operator of the example plug-ins on the targets that it claims: session, library, NVDLA."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tool_server import run_program

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "plugins"

PROGRAM = """
import json, sys
from pathlib import Path
import numpy as np
import onnx.parser
import xonnc
from xonnc.dla_model import compile_for_dla
from xonnc.plugins.loading import load_file

x = np.random.default_rng(5).normal(size=(1, 4, 6, 8)).astype(np.float32)
y = np.abs(x[..., ::-1]).copy()
sigmoid = lambda v: 1 / (1 + np.exp(-v))
leaky = lambda slope: np.maximum(x, 0) + slope * np.minimum(x, 0)
windows = x.reshape(1, 4, 3, 2, 4, 2)
spread = windows.max((3, 5)) - windows.min((3, 5))
SHAPE = "float[1, 4, 6, 8]"
CASES = {
    "add_n": ("acme", 1, "z = com.acme.AddN <scale = 0.5> (x, y, x)", 0.5 * (x + y + x)),
    "add_n of one": ("acme", 1, "z = com.acme.AddN <scale = -2.0> (x)", -2 * x),
    "add_n of eight": ("acme", 1, "z = com.acme.AddN (x, y, x, y, x, y, x, y)", 4 * (x + y)),
    "hard_gate": ("gates", 1, "g, z = com.gates.HardGate (x)", x * np.maximum(x + 1, 0)),
    "leaky_relu of version 6": ("leaky", 6, "z = com.leaky.LeakyRelu (x)", leaky(0.01)),
    "leaky_relu of version 16": ("leaky", 16, "z = com.leaky.LeakyRelu <alpha = 0.25> (x)", leaky(0.25)),
    "swish by its rule": ("nets", 1, "s = Sigmoid (x)  z = Mul (x, s)", x * sigmoid(x)),
    "soft_gate": ("soft", 1, "z = com.soft.SoftGate <steepness = 2.0> (x)", x * sigmoid(2 * x)),
    "bump": ("bumps", 1, "z = com.bumps.Bump <width = 2.0> (x)", 1 / (1 + (x / 2) ** 2)),
    "scaled_add": ("sums", 1, "z = com.sums.ScaledAdd (x, y)", np.maximum(0.5 * x + y, 0)),
    "scaled_add: SpreadPool": ("sums", 1, "z = com.sums.SpreadPool (x)", spread),
    "cum_max": ("scans", 1, "z = com.scans.CumMax (x)", np.maximum.accumulate(x, -1)),
}

def outcome(compiled, expected, tolerance):
    feeds = {port.name: {"x": x, "y": y}[port.name] for port in compiled.inputs}
    (found,) = compiled.run(["z"], feeds)
    return "ok" if np.allclose(np.asarray(found, np.float32), expected, tolerance, tolerance) else "differs"

examples, folder, found = Path(sys.argv[1]), Path(sys.argv[2]), {}
for path in sorted({name.split(" ")[0].rstrip(":") for name in CASES}):
    load_file(str(examples / f"{path}.py"))
for number, (name, (plugin, version, text, expected)) in enumerate(CASES.items()):
    domain = {"nets": "org.nets"}.get(plugin, f"com.{plugin}")
    takes = f"{SHAPE} x, {SHAPE} y" if " y" in text else f"{SHAPE} x"
    gives = "float[1, 4, 3, 4] z" if "Spread" in text else f"{SHAPE} z"
    opsets = f\'["": 17, "{domain}": {version}]\'
    head = f"<ir_version: 8, opset_import: {opsets}>"
    model = onnx.parser.parse_model(f"{head} g ({takes}) => ({gives}) {{ {text} }}")
    session = xonnc.compile(model, "cpu")
    row = found[name] = {"session": outcome(session, expected, 1e-5)}
    row["host"] = session.host_calls()
    try:
        library = folder / f"m{number}.so"
        xonnc.compile_artifact(model, library)
        row["library"] = outcome(xonnc.Library(library), expected, 1e-5)
    except xonnc.XonncError as error:
        row["library"] = str(error)
    compiled = compile_for_dla(model, "nv_full")
    row["nv_full"] = outcome(compiled, expected, 5e-3)
    if compiled.package.whole is None:
        row["nv_full"] += " on the CPU"
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """What a process found that loaded all of them: registering is for the rest of a process."""
    folder = tmp_path_factory.mktemp("targets")
    (folder / "program.py").write_text(PROGRAM)
    done = run_program(folder / "program.py", EXAMPLES, folder, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


EVERYWHERE: dict[str, object] = {"session": "ok", "host": [], "library": "ok", "nv_full": "ok"}


def test_operators_compute_on_each_target(found: dict[str, dict[str, object]]):
    only_dla = found.pop("scaled_add: SpreadPool")
    only_cpu = found.pop("cum_max")
    assert found == dict.fromkeys(found, EVERYWHERE)
    assert (only_dla["session"], only_dla["nv_full"]) == ("ok", "ok")
    assert "has no native code here" in str(only_dla["library"])
    assert only_cpu == {**EVERYWHERE, "nv_full": "ok on the CPU"}
