"""`xonnc plugins check`: what is printed of failed checks, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xonnc.plugins.operators import OperatorSpec
from xonnc.tools.commands import plugins
from xonnc.tools.driver import main
from xonnc.tools.plugin_checks import CheckResult

GOOD = CheckResult("Good", "infer", "ok")
NOTHING = CheckResult("Good", "kernel", "-")
BAD = CheckResult("Bad", "infer", "gives f32[2] for f32[3]")
FILE = """
from xonnc.plugin import Plugin, one, operator

plugin = Plugin("checked_{name}")


@operator(plugin, domain="org.checked.{name}", name="Op")
class Op:
    inputs = one("T")
    outputs = one("T")
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A plug-in whose operator has the results of checks that the test is parametrized with."""
    found: list[CheckResult] = request.param

    def checked(spec: OperatorSpec) -> list[CheckResult]:
        return found

    monkeypatch.setattr(plugins, "check_operator", checked)
    name = f"n{len(found)}_{sum(each.is_failure for each in found)}"
    path = tmp_path / f"{name}.py"
    path.write_text(FILE.format(name=name))
    return str(path)


@pytest.mark.parametrize("check", [[GOOD, NOTHING]], indirect=True)
def test_checks_that_pass(check: str, capsys: pytest.CaptureFixture[str]):
    assert main(["plugins", "check", check]) == 0
    assert capsys.readouterr().out.splitlines() == ["operator  infer      kernel", "Good      ok         -"]


@pytest.mark.parametrize("check", [[GOOD, NOTHING, BAD]], indirect=True)
def test_checks_that_fail(check: str, capsys: pytest.CaptureFixture[str]):
    assert main(["plugins", "check", check]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "operator  infer      kernel",
        "Good      ok         -",
        "Bad       FAILED     -",
        "  infer: gives f32[2] for f32[3]",
    ]
    assert main(["plugins", "check", check, "--quiet"]) == 1
    assert capsys.readouterr().out == ""
    assert main(["plugins", "check", check, "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == [vars(each) for each in (GOOD, NOTHING, BAD)]
