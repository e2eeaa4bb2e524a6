"""`onnx-opt` from the outside: passes, files, messages, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.exceptions import PassFailedException

from xonnc.errors import RefusalError, XonncError
from xonnc.tools import opt
from xonnc.tools.opt import run_opt
from xonnc.transforms.constprop_onnx import ConstProp

TEXT = """
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("relu1")
  %b = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %c = "onnx.Add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %c : tensor<2xf32>
}
"""

WRONG = """
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = "onnx.Relu"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("relu1")
  onnx.Return %a : tensor<2xf32>
}
"""


@dataclass(frozen=True)
class Trouble(ModulePass):
    """Fails in the way it is told to."""

    name = "trouble"

    how: str = "nothing"
    times: tuple[int, ...] = ()
    scale: float = 1.0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        match self.how:
            case "refuse":
                raise RefusalError(["conv1: stride 9", "conv2: stride 10"])
            case "user":
                raise XonncError("the pass wants other input")
            case "pass":
                raise PassFailedException("no way forward")
            case "break":
                for inner in op.walk():
                    if inner.name == "onnx.Add":
                        inner.operands = [inner.operands[0]]
            case "bug":
                raise ZeroDivisionError("surprise")
            case _:
                pass


@pytest.fixture(autouse=True)
def with_trouble() -> Iterator[None]:
    """Every pass there is, and one more."""
    passes = Universe.get_multiverse().all_passes
    opt.universe().all_passes["trouble"] = lambda: Trouble
    yield
    opt.universe().all_passes.clear()
    opt.universe().all_passes.update(passes)


def test_passes_run_in_order():
    code, out, err = run_opt(["--cse", "-canonicalize", "-p", "dce"], TEXT)
    assert (code, err) == (0, "")
    assert out.count("onnx.Relu") == 1
    assert out.startswith("module {\n  func.func @f(%arg0: tensor<2xf32>)")


def test_without_passes_text_goes_through():
    code, out, err = run_opt([], TEXT)
    assert (code, err) == (0, "")
    assert run_opt([], out) == (0, out, "")


def test_options_of_passes():
    passes = opt.OnnxOptMain(
        ["--trouble=how=x times=1,2 scale=2", '--trouble=how="a b"', "-p", "trouble{times=3}", "--trouble"],
        bytes,
    ).passes
    assert passes == [
        Trouble("x", (1, 2), 2.0),
        Trouble("a b"),
        Trouble(times=(3,)),
        Trouble(),
    ]


def test_mlirs_options_of_canonicalize_have_no_effect():
    assert run_opt(["--canonicalize=test-convergence=true"], TEXT)[0] == 0


def test_options_beside_the_passes_reach_them():
    tool = opt.OnnxOptMain(
        ["--onnx-const-prop-expansion-bound=2", "--constprop-onnx", "--onnx-const-prop-disable-pattern=A"],
        lambda: b"",
    )
    assert tool.passes == [ConstProp(expansion_bound=2, disable_pattern=("A",))]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--cs"], "no pass or option 'cs'; did you mean 'cse'?"),
        (["--enable-timin"], "no pass or option 'enable-timin'; did you mean 'enable-timing'?"),
        (["--split-input-fil"], "no pass or option 'split-input-fil'; did you mean 'split-input-file'?"),
        (["--qqqqqqq"], "no pass or option 'qqqqqqq'; see"),
        (["-p", "csee"], "no pass 'csee'; did you mean 'cse'?"),
        (["-p", "cse{"], 'cannot read the pipeline "cse{"'),
        (["--trouble=hwo=x"], "pass 'trouble' has no option 'hwo'; did you mean 'how'?"),
        (["--cse=zzz=1"], "pass 'cse' has no option 'zzz' (it has none)"),
        (["--trouble=times=a"], "pass 'trouble': Incompatible types"),
        (["--trouble=how={"], "cannot read 'how={' among the options of pass 'trouble'"),
        (["-o"], "option '-o' needs a value"),
        (["--stats=5"], "option '--stats' takes no value, found '5'"),
        (["--mlir-elide-elementsattrs-if-larger=x"], "invalid int value: 'x'"),
        (["a.mlir", "b.mlir"], "unrecognized arguments: b.mlir"),
        (["-t", "llvmm"], "no target 'llvmm'; did you mean 'llvm'?"),
        (["--print-ir-after=csee"], "no pass 'csee'; did you mean 'cse'?"),
    ],
)
def test_wrong_command_lines(args: list[str], message: str):
    code, out, err = run_opt(args, TEXT)
    assert (code, out) == (2, "")
    assert err.startswith("onnx-opt: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_name_of_the_same_words_is_suggested():
    opt.universe().all_passes["constprop-onnx"] = lambda: Trouble
    assert "no pass 'onnx-fold'; did you mean 'constprop-onnx'?" in run_opt(["-p", "onnx-fold"], TEXT)[2]


def test_missing_file():
    assert run_opt(["/nowhere/x.mlir"]) == (1, "", "onnx-opt: /nowhere/x.mlir: No such file or directory\n")


def test_binary_input(tmp_path: Path):
    path = tmp_path / "x.mlir"
    path.write_bytes(b"module \xff\xfe")
    code, out, err = run_opt([str(path)])
    assert (code, out) == (1, "")
    assert err == f"onnx-opt: {path}: no IR text: byte 7 is 0xff, which is not UTF-8\n"


def test_a_model_is_no_text(tmp_path: Path):
    path = tmp_path / "x.onnx"
    path.write_bytes(b"\x08\x07")
    assert "not IR text; translate it first: onnx-translate" in run_opt([str(path)])[2]


def test_parse_errors_show_the_place():
    code, out, err = run_opt([], 'module {\n  "onnx.Relu"(%x : () -> ()\n}')
    assert (code, out) == (1, "")
    assert err == "<stdin>:2:18: error: ')' expected in operation argument list\n" + (
        '  "onnx.Relu"(%x : () -> ()\n' + " " * 17 + "^\n"
    )


def test_the_first_token_may_be_wrong():
    assert run_opt([], "\n  \x01")[2].startswith("<stdin>:2:3: error: Unexpected character: \x01\n")


@pytest.mark.parametrize("text", ["", "\n \t\n", "// a comment", "// one\n// two\n\n"])
def test_text_that_says_nothing_is_an_empty_module(text: str):
    assert run_opt(["-"], text) == (0, "module {\n}\n", "")
    assert run_opt(["-", "--canonicalize"], text) == (0, "module {\n}\n", "")


def test_parts_that_say_nothing_are_empty_modules():
    text = "// first\n// -----\nfunc.func private @f()\n// -----\n"
    code, out, err = run_opt(["-", "--split-input-file"], text)
    assert (code, err) == (0, "")
    first, second, third = out.split("// -----")
    assert first.split() == third.split() == ["module", "{", "}"]
    assert "@f" in second


@pytest.mark.parametrize(
    ("depth", "message"), [(40, "regions within each other"), (300, "cannot parse this")]
)
def test_deep_nesting_is_refused(depth: int, message: str):
    code, _, err = run_opt(["-"], nested(depth))
    assert code == 1
    assert message in err


def test_nesting_as_deep_as_models_is_taken():
    assert run_opt(["-", "--canonicalize"], nested(30))[0] == 0


def nested(depth: int) -> str:
    """That many Ifs within each other."""
    lines = ["func.func @f(%x: tensor<1xf32>, %c: tensor<i1>) -> tensor<1xf32> {"]
    for number in range(depth):
        lines.append(f'%a{number} = "onnx.If"(%c) ({{ onnx.Yield %x : tensor<1xf32> }}, {{')
    lines.append("onnx.Yield %x : tensor<1xf32>")
    for number in reversed(range(depth)):
        end = "Yield" if number else "Return"
        lines.append(f"}}) : (tensor<i1>) -> tensor<1xf32>\nonnx.{end} %a{number} : tensor<1xf32>")
    return "\n".join([*lines, "}"])


def test_verify_errors_show_op_node_and_place():
    code, out, err = run_opt([], WRONG)
    assert (code, out) == (1, "")
    lines = err.splitlines()
    assert lines[0].startswith("<stdin>:3:8: error: relu1: 'onnx.Relu' op expected 1 operand")
    assert lines[1].startswith('  %a = "onnx.Relu"')
    assert lines[2] == "       ^"
    assert lines[3].startswith('<stdin>:3:8: note: see current operation: %0 = "onnx.Relu"(%arg0, %arg0)')


def test_all_broken_ops_are_told():
    assert run_opt(["--split-input-file"], f"{WRONG}\n// -----\n{WRONG}")[2].count("error:") == 2


def test_empty_blocks_and_missing_terminators():
    text = '"onnx.If"(%c) ({}, {^bb0:}) : (tensor<i1>) -> ()'
    code, _, err = run_opt([], f"func.func @f(%c: tensor<i1>) {{ {text} return }}")
    assert code == 1
    assert "error: 'onnx.If' op" in err
    assert "is not a terminator" in run_opt([], "func.func @f() { %0 = arith.constant 1 : i32 }")[2]


@pytest.mark.parametrize(
    ("how", "messages"),
    [
        ("refuse", ["<stdin>: error: conv1: stride 9", "<stdin>: error: conv2: stride 10"]),
        ("user", ["<stdin>: error: the pass wants other input"]),
        ("pass", ["<stdin>: error: no way forward"]),
        ("break", ["<stdin>:5:8: error: 'onnx.Add' op expected 2 operands", "after pass 'trouble'"]),
    ],
)
def test_passes_that_fail(how: str, messages: list[str]):
    code, out, err = run_opt([f"--trouble=how={how}"], TEXT)
    assert (code, out) == (1, "")
    for message in messages:
        assert message in err


def test_verification_between_passes_can_be_left_out():
    assert run_opt(["--trouble=how=break", "--verify-each=false"], TEXT)[0] == 0
    assert run_opt(["--trouble=how=break", "--verify-each=true"], TEXT)[0] == 1


def test_a_bug_leaves_a_reproducer():
    code, out, err = run_opt(["--cse", "--trouble=how=bug"], TEXT)
    assert (code, out) == (3, "")
    assert "Traceback" not in err
    path = Path(err.split("is kept in ")[1].splitlines()[0])
    report = Path(err.split("please report it with ")[1].strip())
    kept = path.read_text()
    assert kept.startswith("// onnx-opt --cse '--trouble{how=\"bug\"}'\n")
    assert "// ZeroDivisionError: surprise" in kept
    assert run_opt([str(path)])[0] == 0
    assert "ZeroDivisionError" in report.read_text()
    path.unlink()
    report.unlink()


def test_output_appears_only_when_whole(tmp_path: Path):
    path = tmp_path / "out.mlir"
    assert run_opt(["-o", str(path)], WRONG)[0] == 1
    assert run_opt(["-o", str(path), "--split-input-file"], f"{TEXT}// -----\n{WRONG}")[0] == 1
    assert list(tmp_path.iterdir()) == []
    assert run_opt([f"-o{path}"], TEXT) == (0, "", "")
    assert path.read_text() == run_opt([], TEXT)[1]
    assert list(tmp_path.iterdir()) == [path]
    assert run_opt(["-o", str(tmp_path / "no" / "out.mlir")], TEXT)[0] == 1


def test_parts_are_separate():
    part = "func.func private @f() -> ()\n"
    code, out, err = run_opt(["-split-input-file"], f"{part}// -----\n{part}")
    assert (code, err) == (0, "")
    assert out.count("// -----\n") == 1
    assert out.count("@f") == 2
    assert run_opt(["--split-input-file"], f"{TEXT}// -----\n\n#wrong")[2].startswith("<stdin>:10:")


def test_unknown_ops():
    text = '"mine.op"() : () -> ()'
    assert "Operation mine.op is not registered" in run_opt([], text)[2]
    assert run_opt(["--allow-unregistered-dialect"], text)[:2] == (
        0,
        'module {\n  "mine.op"() : () -> ()\n}\n',
    )


def test_a_module_may_be_asked_for():
    assert "builtin.module operation expected" in run_opt(["--no-implicit-module"], TEXT)[2]


def test_other_targets():
    assert run_opt(["-t", "wat"], "module {}")[0] == 0


def test_printing_options():
    text = "%0 = onnx.Constant dense<[1, 2, 3]> : tensor<3xi8>"
    assert 'dense<"0x010203">' in run_opt(["--mlir-print-elementsattrs-with-hex-if-larger=2"], text)[1]
    assert "dense_resource<__elided__>" in run_opt(["--mlir-elide-elementsattrs-if-larger=2"], text)[1]
    assert '"onnx.Constant"() <{value =' in run_opt(["--mlir-print-op-generic"], text)[1]
    assert '#loc1 = loc("<stdin>":1:6)' in run_opt(["--mlir-print-debuginfo"], text)[1]


def test_dumps_around_passes():
    args = ["--cse", "--canonicalize", "--cse"]
    assert run_opt([*args, "--print-ir-before=cse"], TEXT)[2].count("// -----// IR Dump Before") == 2
    assert run_opt([*args, "--mlir-print-ir-after=canonicalize,cse"], TEXT)[2].count("IR Dump After") == 3
    assert run_opt([*args, "--print-ir-before-all"], TEXT)[2].count("IR Dump Before") == 3
    assert run_opt([*args, "--print-ir-after-all"], TEXT)[2].count("IR Dump After") == 3
    changed = run_opt([*args, "--print-ir-after-change"], TEXT)[2]
    assert changed.count("IR Dump After") == 1
    assert "// -----// IR Dump After CommonSubexpressionElimination (cse) //----- //\nmodule {\n" in changed


def test_timing_and_statistics(tmp_path: Path):
    path = tmp_path / "stats.json"
    code, _, err = run_opt(["--cse", "--canonicalize", "--timing", "--stats", f"--stats-json={path}"], TEXT)
    assert code == 0
    assert "===- pass timing: " in err
    assert "5 -> 4" in err
    passes = json.loads(path.read_text())["passes"]
    assert [(one["name"], one["ops_before"], one["ops_after"]) for one in passes] == [
        ("cse", 5, 4),
        ("canonicalize", 4, 4),
    ]
    assert all(one["seconds"] > 0 for one in passes)
    assert "5 -> 4" in run_opt(["--cse", "--mlir-pass-statistics"], TEXT)[2]


def test_help_and_version():
    code, out, _ = run_opt(["--help"])
    assert code == 0
    assert out.startswith("usage: onnx-opt [options] [passes] [file.mlir]")
    assert "--split-input-file" in out
    assert len(out.splitlines()) < 70
    assert max(map(len, out.splitlines())) <= 100
    assert run_opt(["--version"])[1].startswith("onnx-opt ")
    assert "xDSL's: " in run_opt(["--help-passes"])[1]


def test_the_launcher_runs_from_a_checkout():
    launcher = Path(__file__).resolve().parents[3] / "tools" / "onnx-opt.py"
    done = subprocess.run(
        [sys.executable, str(launcher), "--cse"], input=TEXT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout == run_opt(["--cse"], TEXT)[1]


def test_start_imports_nothing_heavy():
    code = (
        "import sys; from xonnc.tools.opt import run_opt; assert run_opt(['--help'])[0] == 0;"
        "print(sorted({'onnx', 'onnxruntime', 'rich', 'flatbuffers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
