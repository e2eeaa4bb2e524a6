"""The benchmark of onnx's own cases: what it finds of a case, and what its page says."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench import backend
from bench.backend import BackendResult, main, page, run
from xonnc.dialects.onnx.ops.tensor import UniqueOp
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LOWERINGS

X = np.array([1, -2, 3], np.float32)


@dataclass
class Made:
    """A case of one node."""

    name: str
    model: onnx.ModelProto | None
    data_sets: Sequence[tuple[Sequence[object], Sequence[object]]] | None
    model_dir: str | None = None
    url: str | None = None
    rtol: float = 1e-3
    atol: float = 1e-7


def case(name: str, operator: str, expected: object) -> Made:
    text = f'<ir_version: 8, opset_import: ["" : 17]> m (float[3] x) => (float[n] y) {{ y = {operator}(x) }}'
    return Made(name, onnx.parser.parse_model(text), [([X], [expected])])


CASES = [
    case("test_abs", "Abs", np.abs(X)),
    case("test_unique", "Unique", np.sort(X)),
    case("test_bernoulli", "Neg", X),
]


@pytest.fixture(autouse=True)
def without_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator without a kernel."""
    monkeypatch.delitem(LOWERINGS, UniqueOp)


def test_a_case_passes_fails_or_runs_on_the_host() -> None:
    passed, hosted, failed = map(run, CASES)
    assert passed == BackendResult("test_abs", "", [])
    assert hosted == BackendResult("test_unique", "", [("Unique", "no kernel for this operator yet")])
    assert failed.failure.startswith("Not equal to tolerance")
    assert "random" in failed.reason
    assert "shape [3], not [2]" in run(case("x", "Abs", X[:2])).failure
    assert "type float32, not float64" in run(case("x", "Abs", X.astype(np.float64))).failure


def test_the_page_names_reasons() -> None:
    text = page({"node": [run(each) for each in CASES]})
    assert "| node | 3 | 2 (66.7%) | 1 |" in text
    assert "* it samples random values, other than the expected ones: `bernoulli`." in text
    assert "| `Unique` | no kernel for this operator yet | 1 |" in text


@pytest.mark.parametrize(("number", "exit_code"), [(1, 0), (3, 0), (4, 1)])
def test_a_failure_without_a_reason_is_one(
    number: int, exit_code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [*CASES, case("test_other", "Neg", X)][:number]

    def load_cases(kind: str) -> Sequence[Made]:
        return made

    monkeypatch.setattr(backend, "load_cases", load_cases)
    assert main(["--list"]) == exit_code
    said = capsys.readouterr().out
    assert ("unexpected failure: test_other" in said) == (exit_code == 1)
    assert ("test_unique: host: Unique" in said) == (number > 1)
