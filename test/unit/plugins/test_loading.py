"""Plug-ins from files, the environment and packages; the command that lists, checks and begins them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from tool_server import run_tool

from xonnc.plugin import PluginError
from xonnc.plugins import loading
from xonnc.tools.driver import main

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "plugins"

MODEL = """
    <ir_version: 8, opset_import: ["": 17, "com.acme": 1]>
    g (float[2, 3] x) => (float[2, 3] z) { s = com.acme.AddN <scale = 2.0> (x, x, x)  z = Relu (s) }
"""


def tool(*args: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A tool in a process of its own: registering is for the rest of a process."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), **environment}
    return run_tool(args, cwd, environment)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    return path


def test_a_file_named_on_the_command_line(model: Path, tmp_path: Path):
    plugin = EXAMPLES / "add_n.py"
    done = tool("xonnc", "simplify", model, "s.onnx", "--plugin", plugin, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = onnx.ModelProto.FromString((tmp_path / "s.onnx").read_bytes())
    assert [node.op_type for node in kept.graph.node] == ["AddN", "Relu"]
    done = tool(
        "xonnc", "compile", model, "--target", "cpu", "-o", "m.so", f"--plugin={plugin}", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    done = tool("xonnc", "compile", model, "-o", "m.nvdla", f"--plugin={plugin}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    x = np.array([[1, -2, 3], [0.5, 5, -6]], np.float32)
    for target in ("m.nvdla", "m.onnx"):
        # The loadable has its own layout of a matrix.
        np.save(tmp_path / "x.npy", x.reshape(1, 6, 1, 1) if target == "m.nvdla" else x)
        command = ("simulate", "m.nvdla") if target == "m.nvdla" else ("run", "m.onnx", "--target", "cpu")
        done = tool(
            "xonnc", *command, "--input", "x.npy", "--output", "y.npy", "--plugin", plugin, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        found = np.load(tmp_path / "y.npy").reshape(2, 3)
        np.testing.assert_allclose(found, [[6, 0, 18], [3, 30, 0]], rtol=1e-3)


def test_without_the_plugin_the_operator_is_refused_by_name(model: Path, tmp_path: Path):
    done = tool("xonnc", "compile", model, "--target", "cpu", "-o", "m.so", cwd=tmp_path)
    assert done.returncode == 1
    assert (
        "no operator 'AddN' in domain 'com.acme'; 'ai.onnx' has 'Add' or load a plug-in that has it"
        in done.stderr
    )
    assert not (tmp_path / "m.so").exists()


def test_no_plugin_is_loaded_because_it_is_beside_the_model(model: Path, tmp_path: Path):
    written = tmp_path / "written"
    code = f"open({str(written)!r}, 'w').write('ran')\n" + (EXAMPLES / "add_n.py").read_text()
    for name in ("add_n.py", "plugin.py", "acme.py", "m.py", "sitecustomize.py"):
        (tmp_path / name).write_text(code)
    proto = onnx.ModelProto.FromString(model.read_bytes())
    proto.metadata_props.add(key="xonnc.plugins", value="add_n.py")
    model.write_bytes(proto.SerializeToString())
    for command in (
        ["compile", model, "--target", "cpu", "-o", "m.so"],
        ["explain", model, "--target", "cpu"],
    ):
        done = tool("xonnc", *command, cwd=tmp_path)
        assert done.returncode == 1
        assert "no operator 'AddN' in domain 'com.acme'" in done.stdout + done.stderr
    assert not written.exists()


def test_unknown_operators_are_kept_as_they_are(model: Path, tmp_path: Path):
    """Without their plug-in they are imported, simplified around, and exported with their attributes."""
    done = tool("xonnc", "simplify", model, "s.onnx", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    before, after = (onnx.ModelProto.FromString(path.read_bytes()) for path in (model, tmp_path / "s.onnx"))
    kept = [[node for node in each.graph.node if node.domain == "com.acme"] for each in (before, after)]
    assert kept[0]
    assert [list(node.attribute) for node in kept[1]] == [list(node.attribute) for node in kept[0]]
    assert [list(node.input) for node in kept[1]] == [list(node.input) for node in kept[0]]


def test_the_environment_names_files(model: Path, tmp_path: Path):
    path = str(EXAMPLES / "add_n.py")
    done = tool("xonnc", "plugins", "list", cwd=tmp_path, XONNC_PLUGINS=path)
    assert "com.acme.AddN-1  infer, reference, decompose" in done.stdout
    done = tool("xonnc", "plugins", "list", "--no-plugins", cwd=tmp_path, XONNC_PLUGINS=path)
    assert done.stdout.startswith("no plug-ins")


OVERRIDING = """
from xonnc.plugin import Plugin, one, operator
plugin = Plugin("ours", override=True)
@operator(plugin, domain="com.acme", name="AddN")
class AddN:
    inputs = outputs = one("T")
    def infer(op): return op.inputs[0]
"""


def test_the_list_shows_which_plugin_overrides_another(tmp_path: Path):
    (tmp_path / "ours.py").write_text(OVERRIDING)
    both = ("--plugin", EXAMPLES / "add_n.py", "--plugin", "ours.py")
    done = tool("xonnc", "plugins", "list", *both, cwd=tmp_path)
    assert "com.acme.AddN-1  infer, reference, decompose  overridden by plug-in ours\n" in done.stdout
    assert "com.acme.AddN-1  infer\n" in done.stdout
    listed = json.loads(tool("xonnc", "plugins", "list", "--json", *both, cwd=tmp_path).stdout)
    assert [each["operators"][0]["overridden_by"] for each in listed] == ["ours", None]


def test_ir_tools_take_plugins(model: Path, tmp_path: Path):
    plugin = EXAMPLES / "add_n.py"
    done = tool("onnx-translate", model, "--plugin", plugin, cwd=tmp_path)
    assert '"acme.AddN"' in done.stdout, done.stderr
    (tmp_path / "m.mlir").write_text(done.stdout)
    done = tool("onnx-opt", "--plugin", plugin, "--decompose-onnx", "m.mlir", cwd=tmp_path)
    assert "onnx.Mul" in done.stdout, done.stderr
    assert "acme.AddN" not in done.stdout
    done = tool("onnx-opt", "--plugin", EXAMPLES / "count_ops.py", "--count-ops", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_rule_joins_a_pass(tmp_path: Path):
    (tmp_path / "m.mlir").write_text(
        """
        func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = "onnx.Sigmoid"(%x) : (tensor<4xf32>) -> tensor<4xf32>
          %1 = "onnx.Mul"(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          onnx.Return %1 : tensor<4xf32>
        }"""
    )
    for name in ("--fuse-operators-onnx", "--simplify-onnx"):
        done = tool("onnx-opt", "--plugin", EXAMPLES / "swish.py", name, "m.mlir", cwd=tmp_path)
        assert '"nets.Swish"(%arg0)' in done.stdout, done.stderr


CHECKED = ("add_n", "bump", "hard_gate", "leaky_relu", "scaled_add", "soft_gate", "swish")


@pytest.mark.parametrize("name", CHECKED)
def test_the_examples_pass_their_checks(name: str, tmp_path: Path):
    done = tool("xonnc", "plugins", "check", EXAMPLES / f"{name}.py", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {finding["outcome"] for finding in json.loads(done.stdout)} <= {"ok", "-"}


def test_the_examples_import_xonnc_plugin_and_numpy_only():
    allowed = {"collections.abc", "numpy", "typing", "xonnc.plugin"}
    for path in EXAMPLES.glob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        found = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        found |= {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
        assert "xonnc.plugin" in found, path
        assert found <= allowed, path


@pytest.mark.parametrize(
    ("name", "arguments", "printed"),
    [
        ("count_ops", ["--count-ops"], "counting.ops = "),
        ("fit_tiles", ["--fit-tiles"], "tiling.tile = 16 : i64"),
    ],
)
def test_the_examples_of_passes_run(name: str, arguments: list[str], printed: str, tmp_path: Path):
    (tmp_path / "m.mlir").write_text("module {}\n")
    done = tool("onnx-opt", "--plugin", EXAMPLES / f"{name}.py", *arguments, "m.mlir", cwd=tmp_path)
    assert printed in done.stdout, done.stderr


def test_every_example_is_run():
    run_elsewhere = {"count_ops", "cum_max", "fit_tiles", "row_major"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*CHECKED, *run_elsewhere}


def test_a_new_plugin_passes_its_checks(tmp_path: Path):
    done = tool("xonnc", "plugins", "new", "mine.py", cwd=tmp_path)
    assert done.stdout == "  wrote        mine.py; next: xonnc plugins check mine.py\n", done.stderr
    assert tool("xonnc", "plugins", "check", "mine.py", "-q", cwd=tmp_path).returncode == 0
    again = tool("xonnc", "plugins", "new", "mine.py", cwd=tmp_path)
    assert again.returncode == 1
    assert "mine.py: exists already" in again.stderr


WRONG = """
import numpy as np
from xonnc.plugin import Plugin, one, operator
plugin = Plugin("wrong")
@operator(plugin, domain="org.wrong", name="Twice")
class Twice:
    inputs = one("T", name="x")
    outputs = one("T")
    def infer(op): return op.x.with_dtype(np.float64)
    def reference(op, x): return x + x
    def decompose(op, b): return b.Mul(op.x, 3.0)
@operator(plugin, domain="org.wrong", name="Thrice")
class Thrice:
    inputs = one("T", name="x")
    outputs = one("T")
    def infer(op): return op.x
    def reference(op, x): return x * 3
    def decompose(op, b): return b.Mul(op.x, 2.0)
@operator(plugin, domain="org.wrong", name="Odd")
class Odd:
    inputs = one("T", name="x")
    outputs = one("T")
    def reference(op, x): raise ValueError("never")
@operator(plugin, domain="org.wrong", name="Bare")
class Bare:
    inputs = one("T", name="x")
    outputs = one("T")
    def decompose(op): return op.x
"""


def test_checks_find_what_contradicts_the_reference(tmp_path: Path):
    (tmp_path / "wrong.py").write_text(WRONG)
    done = tool("xonnc", "plugins", "check", "wrong.py", "--json", cwd=tmp_path)
    assert done.returncode == 1
    found = {(each["operator"], each["check"]): each["outcome"] for each in json.loads(done.stdout)}
    assert "infer gives tensor<2x3xf64>, reference an array of float32" in found["Twice-1", "infer"]
    contradiction = "decompose gives float32[2, 3] as result 0, infer float64[2, 3]"
    assert contradiction in found["Twice-1", "decompose"]
    assert "output 0 of decompose and reference differ" in found["Thrice-1", "decompose"]
    assert "output 0 of native code and reference differ" in found["Thrice-1", "native"]
    assert "never" in found["Odd-1", "reference"]
    assert "decompose takes 1 parameters" in found["Bare-1", "signature"]
    table = tool("xonnc", "plugins", "check", "wrong.py", cwd=tmp_path).stdout
    assert "FAILED" in table


RULES = """
from xonnc.plugin import Plugin, attr, ops, rewrite, value
plugin = Plugin("ruled")
@rewrite(plugin, into="simplify-onnx", pattern=ops.Neg(ops.Abs(value.x)))
def wrong(b, x): return b.Abs(x)
@rewrite(plugin, into="simplify-onnx", pattern=ops.Elu(value.x, alpha=attr.alpha), where=lambda alpha: False)
def never(b, x, alpha): return x
"""


def test_checks_apply_rules_to_instances_of_their_patterns(tmp_path: Path):
    (tmp_path / "ruled.py").write_text(RULES)
    done = tool("xonnc", "plugins", "check", "ruled.py", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["rule         instances", "ruled:wrong  FAILED"]
    assert "output 0 of the rule and the pattern differ by" in lines[2]
    assert lines[3:] == ["ruled:never  -", "  no drawn instance matches its pattern and condition"]
    done = tool("xonnc", "plugins", "check", EXAMPLES / "count_ops.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "no operators or rules to check\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1\n", "no plug-in in it; it needs a Plugin('name')"),
        ("import nowhere_to_be_found\n", "broken.py:1: ModuleNotFoundError"),
        ("def f(:\n", "broken.py:1: SyntaxError"),
        (
            "from xonnc.plugin import Plugin, rewrite, ops, value\nplugin = Plugin('p')\n"
            "@rewrite(plugin, into='fuse-onyx', pattern=ops.Relu(value.x))\ndef f(b, x): return x\n",
            "plug-in p: 'fuse-onyx' is no pass",
        ),
        (
            "from xonnc.plugin import Plugin, rewrite, ops, value\nplugin = Plugin('p')\n"
            "@rewrite(plugin, into='canonicalize-onnx', pattern=ops.Rellu(value.x))\ndef f(b, x): return x\n",
            "no op is called Rellu",
        ),
        (
            "from xonnc.plugin import Plugin, module_pass\nplugin = Plugin('p')\n"
            "@module_pass(plugin, name='simplify-onnx')\ndef f(module, context): pass\n",
            "there is a pass 'simplify-onnx' already",
        ),
    ],
)
def test_broken_files_are_one_line(text: str, problem: str, tmp_path: Path):
    (tmp_path / "broken.py").write_text(text)
    done = tool("xonnc", "plugins", "list", "--plugin", "broken.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert problem in done.stderr


def test_missing_files(tmp_path: Path):
    done = tool("xonnc", "ops", "--plugin", "none.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "xonnc: none.py: no such file; --plugin takes a Python file\n",
    )
    (tmp_path / "notes.txt").touch()
    done = tool("xonnc", "ops", "--plugin", "notes.txt", cwd=tmp_path)
    assert done.stderr.endswith("notes.txt: not a Python file\n")
    done = tool("xonnc", "ops", "--plugin", cwd=tmp_path)
    assert done.returncode == 2
    assert "--plugin needs a Python file" in done.stderr


def test_unknown_names(capsys: pytest.CaptureFixture[str]):
    assert main(["plugins", "check", "acmee"]) == 1
    assert "no plug-in is called 'acmee'" in capsys.readouterr().err
    assert main(["plugins", "check"]) == 1
    assert "name a file or plug-in" in capsys.readouterr().err


PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "acme-ops"
version = "2.0"

[project.entry-points."xonnc.plugins"]
acme = "acme_ops:plugin"

[tool.hatch.build.targets.wheel]
include = ["acme_ops.py"]
"""


def test_an_installed_package_is_found_by_its_entry_point(model: Path, tmp_path: Path):
    package, site = tmp_path / "package", tmp_path / "site"
    package.mkdir()
    (package / "pyproject.toml").write_text(PROJECT)
    (package / "acme_ops.py").write_text((EXAMPLES / "add_n.py").read_text())
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(package)], check=True, cwd=tmp_path)
    done = tool("xonnc", "plugins", "list", cwd=tmp_path, PYTHONPATH=str(site))
    assert "acme 1.0  acme-ops 2.0" in done.stdout, done.stderr
    done = tool("xonnc", "compile", model, "-o", "m.c", "--target", "cpu", cwd=tmp_path, PYTHONPATH=str(site))
    assert done.returncode == 0, done.stderr


def test_a_package_that_fails_is_left_out_with_a_warning(monkeypatch: pytest.MonkeyPatch):
    entry = EntryPoint("bad", "nowhere_to_be_found:plugin", loading.GROUP)
    monkeypatch.setattr(loading, "installed", lambda: [entry])
    monkeypatch.setattr(loading, "_state", {"installed": False, "disabled": False})
    with pytest.warns(UserWarning, match="plug-in 'bad' of .* is left out: No module named"):
        loading.load_installed()


def test_an_entry_point_that_is_no_plugin():
    with pytest.raises(PluginError, match="neither a Plugin nor a module"):
        loading.plugins_of(EntryPoint("os", "os:sep", loading.GROUP))
