"""`xonnc report` from its command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from xonnc.tools.driver import main


@pytest.fixture
def model(small_model: Callable[..., Path]) -> Path:
    return small_model("small.onnx")


def test_a_model_layer_by_layer(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(model), "--target", "nv_full"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "small.onnx on nv_full at 1000 MHz, 10 GB/s"
    assert "inferences a second" in lines[1]
    (head,) = [line for line in lines if line.startswith("layer ")]
    assert head.split() == "layer engines node cycles compute DRAM bound MACs used moved".split()
    assert any("CONV+SDP+PDP" in line and "pool1" in line for line in lines)


def test_a_loadable_costs_what_its_model_does(model: Path, capsys: pytest.CaptureFixture[str]):
    loadable = model.with_suffix(".nvdla")
    assert main(["compile", str(model), "-o", str(loadable), "-q"]) == 0
    found: list[dict[str, object]] = []
    for path in (model, loadable):
        assert main(["report", str(path), "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    keys = set(found[0]) - {"layers"}
    assert {key: found[0][key] for key in keys} == {key: found[1][key] for key in keys}
    assert keys >= {"cycles", "milliseconds", "macs", "traffic_bytes", "compulsory_bytes", "utilisation"}


def test_the_total_alone(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(model), "--total"]) == 0
    assert "CONV+SDP" not in capsys.readouterr().out


def test_a_loadable_for_other_hardware(model: Path, capsys: pytest.CaptureFixture[str]):
    loadable = model.with_suffix(".nvdla")
    assert main(["compile", str(model), "-o", str(loadable), "-q"]) == 0
    assert main(["report", str(loadable), "--target", "nv_small"]) == 1
    assert "nv_small" in capsys.readouterr().err
