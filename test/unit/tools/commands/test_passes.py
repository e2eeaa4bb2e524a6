"""`xonnc passes`: names, options and all that there is to know of a pass."""

from __future__ import annotations

import json

import pytest

from xonnc.compat.onnxoptimizer.registry import PASSES as OF_ONNX_OPTIMIZER
from xonnc.passes import PASSES
from xonnc.tools.driver import main


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["passes", *arguments]) == 0
    return capsys.readouterr().out


def test_every_pass_is_told_at_length(capsys: pytest.CaptureFixture[str]) -> None:
    titles = [line.split()[0] for line in printed(capsys, "--long").splitlines() if line[:1].strip()]
    assert titles == [*sorted(PASSES), *OF_ONNX_OPTIMIZER]


def test_a_pass_at_length(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "--long", "onnx-dim-analysis", "constprop-onnx", "fuse_qkv")
    assert "Existing groups are recomputed." in text
    assert '  "onnx.DimGroup"(%0) <{axis = 0 : si64, group_id = 1 : si64}> : (tensor<?x3xf32>) -> ()' in text
    assert "    needs  DimAnalysis\n    keeps  DimAnalysis\n" in text
    assert "    options  expansion-bound=-1, disable-pattern=(), " in text
    assert "    level    O1\n    stage    simplification\n" in text
    assert "fuse_qkv (xonnc optimize -p fuse_qkv)\n  Join the three products" in text
    rows = ("type        fuse", "efficiency  complete", "optimizes   compute", "analysis    count based")
    assert all(f"    {row}\n" in text for row in rows)


def test_metadata_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = json.loads(printed(capsys, "--long", "--json", "remove-same-*", "nop"))
    assert (ours["name"], ours["needs"]) == ("remove-same-onnx-dim", "DimAnalysis")
    assert "keeps" not in ours
    assert ours["description"].startswith(ours["does"])
    assert theirs["of"] == "ONNX-optimizer"
    assert (theirs["type"], theirs["analysis"]) == ("nop", "empty")


def test_chosen_passes_in_short(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "symbol-dce", "dla-all*")
    first = [line.split()[0] for line in text.splitlines()]
    assert first == ["dla-allocate", "target=nv_full", "mem-alloc=auto", "symbol-dce"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["constprop-onx"], "no pass 'constprop-onx'; did you mean 'constprop-onnx'?"),
        (["fuse_qkv"], "no pass 'fuse_qkv'"),
    ],
)
def test_unknown_names(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("other", ["--long", "symbol-dce"])
def test_levels_are_of_all_passes(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["passes", "--levels", other])
    assert (
        "--levels lists the passes of all levels; it takes no names and no --long" in capsys.readouterr().err
    )
