"""Bisection of wrong results: rules and kernels that are made wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, parser

from xonnc.dialects.onnx.ops.math import SigmoidOp
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import ELEMENTWISE
from xonnc.rewriting.decision_limit import limiting_decisions
from xonnc.rewriting.rules import Rule
from xonnc.runtime.verification.comparison import Tolerance
from xonnc.simplifier import simplify
from xonnc.tools.bisection import Case, bisect
from xonnc.tools.driver import main
from xonnc.transforms.fuse_operators_onnx import FUSIONS
from xonnc.transforms.simplify_onnx import rules_within, tables

BODY = """
    c = Constant <value_float = 2.0> ()
    d = Constant <value_float = 3.0> ()
    e = Add (c, d)
    a = Mul (x, e)
    b = Neg (a)
    f = Neg (b)
    g = Sigmoid (f)
    y = Add (g, x)
"""
FEEDS = {"x": np.array([[1.0, -2.0, 0.5]], np.float32)}


def model() -> ModelProto:
    made = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> m (float[1, 3] x) => (float[1, 3] y) {{{BODY}}}'
    )
    for node in made.graph.node:
        node.name = f"node_{node.output[0]}"
    return made


@pytest.fixture
def with_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Rule], str, Rule], None]:
    """A function that replaces a rule of a table; simplification rebuilds its tables."""

    def install(table: dict[str, Rule], name: str, rule: Rule) -> None:
        monkeypatch.setitem(table, name, replace(rule, name=name))
        tables.cache_clear()
        rules_within.cache_clear()

    return install


@pytest.fixture(autouse=True)
def fresh_tables():
    yield
    tables.cache_clear()
    rules_within.cache_clear()


def test_nothing_is_found_in_a_right_result():
    assert bisect(Case(model(), FEEDS, Tolerance())) is None


def test_decisions_are_limited():
    with limiting_decisions(None) as every:
        whole = simplify(model()).proto()
    assert len(every.made) >= 2
    with limiting_decisions(0) as none:
        first = simplify(model()).proto()
    assert not none.made
    assert len(first.graph.node) > len(whole.graph.node)
    with limiting_decisions(1) as one:
        simplify(model())
    assert one.made == every.made[:1]


def test_a_wrong_rule_is_named(with_rule: Callable[[dict[str, Rule], str, Rule], None], tmp_path: Path):
    # -(-x) -> -x
    wrong = FUSIONS.rules["RemoveDoubleNeg"]
    inner = wrong.root.operands[0]
    with_rule(FUSIONS.rules, "RemoveDoubleNeg", replace(wrong, result=inner))
    found = bisect(Case(model(), FEEDS, Tolerance()))
    assert found is not None
    assert (found.pass_name, found.what) == ("fuse-operators-onnx", "RemoveDoubleNeg")
    assert found.node == "node_f"
    assert not found.is_native


def test_the_command_writes_a_reproducer(
    with_rule: Callable[[dict[str, Rule], str, Rule], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    wrong = FUSIONS.rules["RemoveDoubleNeg"]
    with_rule(FUSIONS.rules, "RemoveDoubleNeg", replace(wrong, result=wrong.root.operands[0]))
    path, folder = tmp_path / "a.onnx", tmp_path / "bug"
    path.write_bytes(model().SerializeToString())
    assert main(["verify", str(path), "--simplify", "--bisect", str(folder), "--profile", "normal"]) == 1
    out = capsys.readouterr().out
    assert "fuse-operators-onnx" in out
    assert "RemoveDoubleNeg on node_f" in out
    assert "RemoveDoubleNeg" in (folder / "README.md").read_text()
    again = ["verify", str(folder / "model.onnx"), "--inputs", str(folder / "inputs"), "--simplify", "-q"]
    assert main(again) == 1
    (expected,) = (folder / "expected").iterdir()
    actual = folder / "actual" / expected.name
    assert not np.array_equal(np.load(expected), np.load(actual))


def test_a_wrong_kernel_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(ELEMENTWISE, SigmoidOp, lambda op, body: body(op.operands[0]))
    found = bisect(Case(model(), FEEDS, Tolerance()))
    assert found is not None
    assert (found.pass_name, found.what, found.node) == ("convert-onnx-to-krnl", "Sigmoid", "node_g")
    assert found.is_native


@pytest.mark.parametrize("options", [["--layers"], ["b.onnx"]])
def test_other_forms_are_refused(tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.onnx"
    path.write_bytes(model().SerializeToString())
    assert main(["verify", str(path), *options, "--bisect", "bug"]) == 1
    assert "--bisect: is for MODEL and its native code" in capsys.readouterr().err
