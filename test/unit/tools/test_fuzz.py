"""`xonnc fuzz` and `xonnc reduce` from their command lines."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from xonnc.fuzzing.levels import LEVELS
from xonnc.tools.driver import main


def test_fuzz_reports(capsys: pytest.CaptureFixture[str]):
    assert main(["fuzz", "-n", "2", "--seed", "1", "--level", "round-trip"]) == 0
    out = capsys.readouterr().out
    assert "2 with " in out
    assert "no difference, no crash" in out


def test_fuzz_gives_json(capsys: pytest.CaptureFixture[str]):
    assert main(["fuzz", "-n", "1", "--seed", "1", "--level", "round-trip", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["models"] == 1
    assert report["levels"] == ["round-trip"]
    assert report["failures"] == []


def crash(model: onnx.ModelProto) -> onnx.ModelProto:
    raise ZeroDivisionError


def test_fuzz_saves_what_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    planted = {**LEVELS, "simplify": crash}
    monkeypatch.setattr("xonnc.fuzzing.differential.LEVELS", planted)
    argv = ["fuzz", "-n", "1", "--seed", "2", "--level", "simplify", "--save", str(tmp_path)]
    assert main(argv) == 1
    out = capsys.readouterr().out
    assert "simplify crashes: ZeroDivisionError" in out
    assert "1 model failed" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seed-2-simplify.onnx", "seed-2-simplify.txt"]
    assert main([*argv, "--json"]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure["seed"] == 2
    assert main([*argv, "-q"]) == 1
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["-n", "0"], "--count 0: at least one model is needed"),
        (["--seed", "-1"], "--seed -1: seeds are 0 and above"),
        (["--level", "simplfy"], "--level simplfy: no such level; did you mean 'simplify'?"),
        (["--save", "/no/such/folder"], "/no/such: no such folder"),
    ],
)
def test_fuzz_refuses(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]):
    assert main(["fuzz", *argv]) == (2 if argv[0] == "--level" else 1)
    assert says in capsys.readouterr().err


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """Relu, then Erf, then Neg."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Erf", ["a"], ["b"]),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:])
    path = tmp_path / "chain.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


FAILS_WITH_ERF = """
import sys
if b'Erf' in open(sys.argv[1], 'rb').read():
    sys.exit('there is an Erf')
"""


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def test_reduce_keeps_what_fails(chain: Path, capsys: pytest.CaptureFixture[str]):
    check = python(FAILS_WITH_ERF)
    assert main(["reduce", str(chain), "--check", check, "--says", "there is"]) == 0
    smaller = chain.with_name("chain-reduced.onnx")
    assert [node.op_type for node in onnx.load_model_from_string(smaller.read_bytes()).graph.node] == ["Erf"]
    assert "3 before, 1 now" in capsys.readouterr().out


def test_reduce_puts_the_model_where_it_is_wanted(
    chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "small.onnx"
    check = f"{python(FAILS_WITH_ERF)} {{}} more"
    assert main(["reduce", str(chain), "--check", check, "-o", str(output), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"nodes_before": 3, "nodes": 1, "file": str(output)}
    assert len(onnx.load_model_from_string(output.read_bytes()).graph.node) == 1


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--check", python("pass")], "--check does not fail on the whole model; there is nothing to reduce"),
        (
            ["--check", python("exit(1)"), "--says", "boo"],
            "--check does not fail and says 'boo' on the whole",
        ),
        (["--check", "/no/such/program"], "--check: /no/such/program: No such file or directory"),
        (["--check", "'"], "--check ': No closing quotation"),
        (["--check", ""], "--check: a command is needed"),
        (["--check", python("import time; time.sleep(9)"), "--timeout", "0.1"], "there is nothing to reduce"),
        (["--check", "false", "-o", "/no/such/folder/x.onnx"], "the folder /no/such/folder does not exist"),
    ],
)
def test_reduce_refuses(chain: Path, argv: list[str], says: str, capsys: pytest.CaptureFixture[str]):
    assert main(["reduce", str(chain), *argv]) == 1
    assert says in capsys.readouterr().err


def test_fuzz_in_workers_finds_what_it_finds_in_one_process(capsys: pytest.CaptureFixture[str]):
    arguments = ["fuzz", "-n", "3", "--seed", "1", "--level", "round-trip", "--json"]
    assert main(arguments) == 0
    here = capsys.readouterr().out
    assert main([*arguments, "--jobs", "2"]) == 0
    assert capsys.readouterr().out == here
    assert main([*arguments, "--jobs", "-1"]) == 1
    assert "--jobs -1: a number of processes" in capsys.readouterr().err
