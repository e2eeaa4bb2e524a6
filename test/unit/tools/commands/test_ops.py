"""`xonnc ops` lists the operators of plug-ins, and how targets run them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from xonnc.plugin import Plugin, c_function, one, operator, register, type_variables
from xonnc.tools.driver import main

LISTED = Plugin("listed")
SOURCE = "static void listed(const xonnc_tensor *x, const xonnc_tensor *y) { (void)x; (void)y; }"


def nothing(op: Any, *values: Any) -> Any:
    """A body that is not called."""


def declare(plugin: Plugin, name: str, since: int = 1, **members: Any) -> None:
    ports = {"inputs": one("T"), "outputs": one("T"), "types": type_variables(T=[np.float32])}
    operator(plugin, domain="org.listed", name=name, since=since)(type(name, (), {**ports, **members}))


@pytest.fixture(scope="module", autouse=True)
def plugin() -> None:
    declare(LISTED, "ListedOld")
    declare(LISTED, "ListedOld", since=3, decompose=nothing)
    declare(LISTED, "ListedFunction", infer=nothing, c_source=c_function("listed", SOURCE))
    declare(LISTED, "ListedScalar", kernel=nothing, layers=nothing)
    declare(LISTED, "ListedTable", reference=nothing, lookup=nothing)
    register(LISTED)
    overriding = Plugin("listed_later", override=True)
    declare(overriding, "ListedOld", since=3, reference=nothing)
    register(overriding)


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["ops", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_versions_and_overriding_operators(capsys: pytest.CaptureFixture[str]):
    assert listed(capsys, "ListedOld") == {
        "org.listed.ListedOld": "listed_later.ListedOld (3 on), listed.ListedOldV1 (1 to 2)"
    }
    assert "org.listed.ListedTable" in listed(capsys)


def test_opsets_of_the_classes(capsys: pytest.CaptureFixture[str]):
    found = listed(capsys, "LeakyRelu", "BatchNormalization")
    assert found["LeakyRelu"] == "onnx.LeakyRelu (6 on), onnx.LeakyReluV1 (1 to 5)"
    assert "onnx.BatchNormalizationV6 (6), onnx.BatchNormalizationV7 (7 to 8)" in found["BatchNormalization"]
    assert "onnx.BatchNormalizationInferenceMode, " in found["BatchNormalization"]


def test_bundled_operators_beside_those_of_onnx(capsys: pytest.CaptureFixture[str]):
    found = listed(capsys, "Gelu", "com.microsoft.MatMulNBits")
    assert found["com.microsoft.Gelu"] == "microsoft.Gelu (1 on)"
    assert sorted(found) == ["Gelu", "com.microsoft.Gelu", "com.microsoft.MatMulNBits"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            "cpu",
            {
                "ListedOld": "On the host, by the reference of plug-in listed_later.",
                "ListedFunction": "By a function in C of plug-in listed.",
                "ListedScalar": "Elementwise, by the kernel of plug-in listed.",
                "ListedTable": "On the host, by the reference of plug-in listed.",
            },
        ),
        (
            "nv_full",
            {
                "ListedScalar": {"fp16": "By the hardware layers of plug-in listed."},
                "ListedTable": dict.fromkeys(("int8", "fp16"), "By a lookup table of plug-in listed."),
            },
        ),
    ],
)
def test_how_targets_run_them(target: str, expected: dict[str, Any], capsys: pytest.CaptureFixture[str]):
    found = listed(capsys, "--target", target)
    operators = found if target == "cpu" else found["operators"]
    prefix = "org.listed.Listed"
    assert {name: how for name, how in operators.items() if name.startswith(prefix)} == {
        f"org.listed.{name}": how for name, how in expected.items()
    }


def test_an_operator_that_a_target_does_not_take(capsys: pytest.CaptureFixture[str]):
    assert main(["ops", "ListedFunction", "--target", "nv_full"]) == 0
    assert "org.listed.ListedFunction  not taken" in capsys.readouterr().out


def test_unknown_names(capsys: pytest.CaptureFixture[str]):
    assert main(["ops", "com.microsoft.Gelo"]) == 1
    assert "no operator 'com.microsoft.Gelo'; did you mean 'com.microsoft.Gelu'?" in capsys.readouterr().err
