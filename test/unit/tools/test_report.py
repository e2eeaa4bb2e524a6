"""`xonnc report` from its command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper

from xonnc.tools.driver import main
from xonnc.tools.opt import run_opt


@pytest.fixture
def model(small_model: Callable[..., Path]) -> Path:
    return small_model("small.onnx")


def test_a_model_layer_by_layer(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(model), "--target", "nv_full"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "small.onnx on nv_full at 1000 MHz, 10 GB/s"
    assert "inferences a second" in lines[1]
    (head,) = [line for line in lines if line.startswith("layer ")]
    names = "layer engines node enabled computes ends adds bound by MACs used prefetched moved"
    assert head.split() == names.split()
    assert any("extrapolated from nv_small; firmware not counted" in line for line in lines)
    assert any(line.split()[:4] == "time goes to load".split() for line in lines)
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


@pytest.mark.parametrize("target", ["cpu", "avx2"])
def test_native_code_has_no_cycle_model(target: str, model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(model), "--target", target]) == 1
    said = capsys.readouterr().err
    assert f"--target {target} is for --memory and --html" in said
    assert "xonnc run MODEL --profile" in said


def test_the_firmware(model: Path, capsys: pytest.CaptureFixture[str]):
    found: list[int] = []
    for cycles in ("0", "100"):
        assert main(["report", str(model), "--json", "--register-cycles", cycles]) == 0
        found.append(json.loads(capsys.readouterr().out)["cycles"])
    assert found[1] > found[0]
    assert main(["report", str(model), "--total", "--register-cycles", "2.5"]) == 0
    assert "counted, 2.5 cycles for each access to a register" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["-1", "inf", "nan", "many"])
def test_cycles_of_a_register_that_are_none(text: str, model: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        main(["report", str(model), f"--register-cycles={text}"])
    assert stopped.value.code == 2
    assert f"{text}: it is a number of cycles, 0 or more" in capsys.readouterr().err


def test_the_total_alone(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(model), "--total"]) == 0
    assert "CONV+SDP" not in capsys.readouterr().out


def test_a_loadable_for_other_hardware(model: Path, capsys: pytest.CaptureFixture[str]):
    loadable = model.with_suffix(".nvdla")
    assert main(["compile", str(model), "-o", str(loadable), "-q"]) == 0
    assert main(["report", str(loadable), "--target", "nv_small"]) == 1
    assert "nv_small" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["avx2", "nv_full"])
def test_the_memory_of_a_model(target: str, model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(model), "--memory", "--target", target]) == 0
    head, memory, peak, bound, allocators, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith(f"small.onnx on {target}: ")
    assert memory.split()[0] == "memory"
    assert "alive at once in this order, first in step" in peak
    assert bound.endswith("over all orders of the steps: no order has a lower peak")
    sizes = {name: int(size) for name, size, _ in map(str.split, allocators.strip()[11:].split(", "))}
    assert list(sizes) == ["auto", "first-fit", "best-fit"]
    assert sizes["auto"] == min(sizes.values()) == int(memory.split()[1])
    assert lines[1].split() == "first last offset bytes buffer".split()
    assert any("steps from left to right" in line for line in lines)
    assert main(["report", str(model), "--memory", "--target", target, "--total"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


@pytest.mark.parametrize("target", ["avx2", "nv_full"])
def test_the_plan_of_an_allocator(target: str, model: Path, capsys: pytest.CaptureFixture[str]):
    command = ["report", str(model), "--memory", "--target", target]
    assert main([*command, "--mem-alloc", "first-fit", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["allocator"] == "first-fit"
    assert found["bytes"] == found["bytes_by_allocator"]["first-fit"]
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--mem-alloc", "fastest"])
    assert "argument --mem-alloc: invalid choice: 'fastest'" in capsys.readouterr().err


WIDTHS = (48, 48, 96, 64, 96, 64, 96)
"""Widths of tensors of a chain, whose third result the last operator reads again: first fit leaves gaps."""


def test_native_code_has_the_plan_of_the_allocator(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    layers = [f"m{i} = MatMul ({f's{i - 1}' if i else 'x'}, w{i})\n s{i} = Softmax (m{i})" for i in range(6)]
    graph = f"g (float[8,48] x) => (float[8,160] y) {{ {' '.join(layers)} y = Concat <axis = 1> (s2, s5) }}"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')
    for i, (n, m) in enumerate(pairwise(WIDTHS)):
        made.graph.initializer.append(numpy_helper.from_array(np.ones((n, m), np.float32), f"w{i}"))
    model = tmp_path / "chain.onnx"
    model.write_bytes(made.SerializeToString())
    assert main(["report", str(model), "--memory", "--target", "avx2", "--json"]) == 0
    sizes = json.loads(capsys.readouterr().out)["bytes_by_allocator"]
    assert sizes["auto"] < sizes["first-fit"]
    for allocator, count in sizes.items():
        command = ["compile", str(model), "--target", "avx2", "--dry-run", "--json"]
        assert main([*command, "--mem-alloc", allocator]) == 0
        assert json.loads(capsys.readouterr().out)["arena_bytes"] == count, allocator


def test_a_loadable_has_the_plan_of_the_allocator(model: Path, tmp_path: Path):
    command = ["compile", str(model), "--target", "nv_full", "-q"]
    chosen = ["--mem-alloc", "first-fit", "--dump", str(tmp_path)]
    assert (
        main([*command, "-o", str(tmp_path / "a.nvdla"), *chosen, "--disable-pass", "dla-place-in-cvsram"])
        == 0
    )
    scheduled, allocated = (next(tmp_path.glob(f"*-{stage}.mlir")) for stage in ("scheduled", "allocated"))
    expected = run_opt([str(scheduled), "--dla-allocate=target=nv_full mem-alloc=first-fit"])[1]
    assert run_opt([str(allocated)])[1] == expected


@pytest.mark.parametrize("name", ["plan-memory", "dla-allocate"])
def test_the_passes_know_their_allocators(name: str):
    code, _, errors = run_opt(["-", f"--{name}=mem-alloc=firstfit"], "func.func @f() { func.return }")
    assert code == 1
    assert "no allocator 'firstfit'; did you mean 'first-fit'?" in errors


def test_the_memory_of_a_model_as_json(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(model), "--memory", "--target", "avx2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bound_is_over"] == "all orders of the steps"
    assert found["lower_bound"] <= found["peak"] <= found["bytes"]
    assert found["bytes"] >= max(each["offset"] + each["bytes"] for each in found["buffers"])
    for one in found["buffers"]:
        for other in found["buffers"]:
            is_together = one["first"] <= other["last"] and other["first"] <= one["last"]
            is_over = one["offset"] < other["offset"] + other["bytes"] and other["offset"] < (
                one["offset"] + one["bytes"]
            )
            assert one is other or not (is_together and is_over) or one["in_place"] or other["in_place"]


def test_the_memory_of_dynamic_shapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = "g (float[N,4] x) => (float[N,4] y) { a = Softmax (x) b = Transpose (a) y = Softmax (b) }"
    path = tmp_path / "dynamic.onnx"
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')
    path.write_bytes(proto.SerializeToString())
    command = ["report", str(path), "--memory", "--target", "avx2"]
    assert main([*command]) == 0
    shown = capsys.readouterr().out
    assert "blocks; their sizes are dynamic; --input-shape makes them static" in shown
    assert main([*command, "--input-shape", "x:8,4"]) == 0
    assert "over all orders of the steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory", "--input-shape", "z:1"], "no input 'z'"),
        (["--input-shape", "z:1"], "no input 'z'"),
        (
            ["--memory", "--target", "cpu", "--calib", "t"],
            "--calib is for NVDLA targets, not for native code",
        ),
        (["--memory", "--target", "nv"], "no target 'nv'. There are cpu, "),
    ],
)
def test_options_of_memory_that_do_not_fit(
    options: list[str], message: str, model: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["report", str(model), *options]) == 1
    assert message in capsys.readouterr().err


def test_the_memory_of_a_loadable(model: Path, capsys: pytest.CaptureFixture[str]):
    path = model.with_suffix(".nvdla")
    assert main(["report", str(path), "--memory"]) == 1
    assert "small.nvdla: no such file" in capsys.readouterr().err
    assert main(["compile", str(model), "-o", str(path), "-q"]) == 0
    assert main(["report", str(path), "--memory"]) == 0
    head, memory, peak, _, titles, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("small.nvdla on nv_full: ")
    assert int(memory.split()[1]) >= int(peak.split()[1]) > 0
    assert titles.split() == ["first", "last", "offset", "bytes", "buffer"]
    assert rows[0].endswith("layer 0: CONV+SDP+PDP")
    assert main(["report", str(path), "--memory", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lower_bound"] is None


def test_a_package_has_no_memory_of_its_own(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(model.with_suffix(".xpkg")), "--memory"]) == 1
    assert "--memory takes a model or a loadable; 'xonnc explain' has the parts" in capsys.readouterr().err
