"""`xonnc rules list`."""

from __future__ import annotations

import json

import pytest

from xonnc.fuzzing.rules.tables import CASES
from xonnc.plugin import Builder, Plugin, Value, ops, rewrite, value
from xonnc.plugins import registration
from xonnc.tools.driver import main
from xonnc.transforms.constprop_onnx import ConstProp


def test_every_rule_with_its_tests(capsys: pytest.CaptureFixture[str]):
    assert main(["rules", "list", "--json"]) == 0
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert {name for _, name in CASES} | set(ConstProp().rules()) <= set(found)
    assert all(each["tests"] for each in found.values())
    assert found["AddConstProp"]["rewrite"] == "Add(a, b) -> add(a, b)"
    assert found["AddConstProp"]["tests"].startswith("random instances")


def test_names_and_tables_are_selected(capsys: pytest.CaptureFixture[str]):
    assert main(["rules", "list", "AddConstP*", "fuse_channels"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["table", "rule", "tests", "rewrites"]
    assert [row.split()[:2] for row in rows if "AddConst" in row] == [["constprop", "AddConstProp"]]
    assert any(row.startswith("fuse_channels") for row in rows)
    assert main(["rules", "list", "AddConstPropp"]) == 1
    assert capsys.readouterr().err == (
        "xonnc: no rule or table 'AddConstPropp'; did you mean 'AddConstProp'?\n"
    )


def test_rules_of_plugins(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    plugin = Plugin("listed")

    @rewrite(plugin, into="fuse-operators-onnx", pattern=ops.Neg(ops.Neg(value.x)))
    def negations(b: Builder, x: Value) -> Value:
        """-(-x) = x"""
        return x

    assert callable(negations)
    monkeypatch.setattr(registration, "_registered", {"listed": plugin})
    assert main(["rules", "list", "listed:*"]) == 0
    row = capsys.readouterr().out.splitlines()[1]
    assert row.split() == [
        "fuse-operators-onnx", "listed:negations", *"those of plug-in listed".split(), "-(-x)", "=", "x",
    ]  # fmt: skip
