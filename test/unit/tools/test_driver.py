"""`xonnc` from its command line: compile, simulate, check, inspect and the lists."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xonnc.formats.nvdla.reader import read_loadable
from xonnc.formats.nvdla.writer import write_loadable
from xonnc.native_compilation import resolve_processor
from xonnc.tools.command_examples import EXAMPLES
from xonnc.tools.commands.targets import described
from xonnc.tools.driver import COMMANDS, command_parser, main
from xonnc.tools.opt import run_opt
from xonnc.tools.peer_settings import take_peer_flags

SmallModel = Callable[..., Path]


@pytest.fixture
def model(small_model: SmallModel) -> Path:
    return small_model("small.onnx")


@pytest.fixture
def loadable(model: Path) -> Path:
    path = model.with_suffix(".nvdla")
    assert main(["compile", str(model), "-o", str(path), "-q"]) == 0
    return path


def test_compile_reports_in_a_few_lines(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("small.onnx   opset 13, 6 nodes, 869 parameters")
    assert lines[-1].startswith(f"  wrote        {model.with_suffix('.nvdla')} (")
    assert 6 <= len(lines) <= 10


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_for_scripts_too(name: str):
    text = command_parser(name).format_help()
    assert "--quiet" in text
    # What `emit` prints is what onnx-mlir prints.
    assert "--json" in text or name == "emit"


@pytest.mark.parametrize("command", [["targets"], ["ops"], ["passes"], ["rules", "list"]])
def test_lists_print_nothing_on_request(command: list[str], capsys: pytest.CaptureFixture[str]):
    assert main([*command, "-q"]) == 0
    assert not capsys.readouterr().out
    assert main(command) == 0
    assert capsys.readouterr().out


def test_quiet_says_nothing(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(model), "-q"]) == 0
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_compile_gives_json(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(model), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["imported"]["operators"]["Conv"] == 1
    assert report["report"]["target"] == "nv_full"
    assert Path(report["output"]).is_file()


def test_the_same_model_gives_the_same_bytes(model: Path, loadable: Path, tmp_path: Path):
    again = tmp_path / "again.nvdla"
    assert main(["compile", str(model), "-o", str(again), "-q"]) == 0
    assert again.read_bytes() == loadable.read_bytes()


def test_a_dry_run_writes_nothing(model: Path, tmp_path: Path):
    assert main(["compile", str(model), "--dry-run"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["small.onnx"]


def test_every_stage_is_dumped(model: Path, tmp_path: Path):
    assert main(["compile", str(model), "--dump", str(tmp_path / "dump"), "-q"]) == 0
    names = sorted(path.name for path in (tmp_path / "dump").iterdir())
    assert names == [
        "01-onnx.mlir",
        "02-simplified.mlir",
        "03-dla.mlir",
        "04-scheduled.mlir",
        "05-allocated.mlir",
    ]
    assert 'loc("conv1")' in (tmp_path / "dump" / "05-allocated.mlir").read_text()


def test_every_stage_of_native_code_is_dumped_and_read_again(model: Path, tmp_path: Path):
    output, folder = str(tmp_path / "m.so"), tmp_path / "dump"
    assert main(["compile", str(model), "-o", output, "--dump", str(folder), "-q"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "01-simplified.mlir",
        "02-legalized.mlir",
        "03-outlined.mlir",
        "04-bf16.mlir",
        "05-winograd.mlir",
        "06-fused.mlir",
        "07-memory.mlir",
        "08-layout.mlir",
        "09-krnl.mlir",
        "10-prepacked.mlir",
        "11-parallel.mlir",
        "12-shared.mlir",
        "13-planned.mlir",
        "14-llvm.mlir",
    ]
    code, text = run_opt([str(folder / "13-planned.mlir"), "--convert-krnl-to-llvm"])[:2]
    assert code == 0
    assert "llvm.func internal @conv" in text
    assert run_opt([str(folder / "14-llvm.mlir")])[0] == 0


def test_native_code_stops_after_a_stage(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "stopped.mlir"
    command = ["compile", str(model), "--target", "cpu", "-o", str(output)]
    assert main([*command, "--stop-after", "krnl"]) == 0
    assert f"stopped after krnl, wrote {output}" in capsys.readouterr().out
    assert '"krnl.call"' in output.read_text()
    # These stages are of native code alone, so that no target need be said.
    for stage in (
        "legalized",
        "outlined",
        "fused",
        "memory",
        "layout",
        "krnl",
        "prepacked",
        "parallel",
        "shared",
        "planned",
        "llvm",
    ):
        assert main(["compile", str(model), "-o", str(output), "-q", "--stop-after", stage]) == 0
    assert "llvm.func" in output.read_text()
    assert main([*command, "--stop-after", "allocated"]) == 2
    assert (
        "no such stage; there are simplified, legalized, outlined, bf16, winograd, fused, memory, layout, "
        "krnl, prepacked, parallel, shared, planned, llvm, emitted" in capsys.readouterr().err
    )


def test_compiling_stops_after_a_stage(model: Path, tmp_path: Path):
    output = tmp_path / "stopped.mlir"
    assert main(["compile", str(model), "--stop-after", "simplified", "-o", str(output), "-q"]) == 0
    text = output.read_text()
    assert "onnx.Gemm" in text
    assert "dla." not in text


@pytest.mark.parametrize("target", ["nv_full", "avx2"])
def test_a_stage_on_standard_output(target: str, model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(model), "--target", target, "--stop-after", "simplified", "-o", "-"]) == 0
    code, text, _ = run_opt(["-"], capsys.readouterr().out)
    assert code == 0
    assert "onnx.Conv" in text
    assert not Path("-").exists()


def test_stages_are_named_when_one_is_unknown(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(model), "--stop-after", "link"]) == 2
    assert "no such stage; there are onnx, simplified, dla" in capsys.readouterr().err


def test_a_compiled_model_agrees_with_onnxruntime(
    model: Path, loadable: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["check", str(model), str(loadable), "-n", "4"]) == 0
    assert "agrees with onnxruntime on 4 inputs" in capsys.readouterr().out
    assert main(["check", str(model), str(loadable), "-n", "2", "--mode", "exact", "--json"]) == 0
    (agreement,) = json.loads(capsys.readouterr().out)
    assert agreement["passed"]
    assert agreement["cosine"] > 0.9999


def test_a_loadable_of_another_model_disagrees(
    loadable: Path, small_model: SmallModel, capsys: pytest.CaptureFixture[str]
):
    other = small_model("other.onnx", operator="Neg")
    assert main(["check", str(other), str(loadable)]) == 1
    assert "DISAGREES" in capsys.readouterr().out


def test_simulate_reads_and_writes_arrays_and_surfaces(loadable: Path, tmp_path: Path):
    image = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", image)
    surface = np.zeros((8, 8, 16), np.float16)
    surface[..., :3] = image[0].transpose(1, 2, 0)
    (tmp_path / "x.bin").write_bytes(surface.tobytes())
    for kind in ("npy", "bin"):
        command = ["simulate", str(loadable), "--input", str(tmp_path / f"x.{kind}")]
        assert main([*command, "--output", str(tmp_path / f"y-{kind}.npy"), "-q"]) == 0
    scores = np.load(tmp_path / "y-npy.npy")
    assert scores.sum() == pytest.approx(1.0, abs=1e-2)
    assert np.array_equal(scores, np.load(tmp_path / "y-bin.npy"))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 8, 8), np.float32), "input x: shape [3, 8, 8]; the loadable takes [1, 3, 8, 8]"),
        (np.zeros((1, 192), np.float32), "input x: shape [1, 192]; the loadable takes [1, 3, 8, 8]"),
        (np.zeros((1, 3, 8, 8)), "float64 elements; input x takes float16 or float32, convert them"),
        (np.zeros((1, 3, 8, 8), np.uint8), "uint8 elements; input x takes float16 or float32"),
        (np.zeros((1, 3, 8, 8), np.int64), "int64 elements; input x takes float16 or float32"),
        (np.full((1, 3, 8, 8), "a"), "<U1 elements; input x takes float16 or float32"),
    ],
    ids=["no batch", "rank", "float64", "uint8", "int64", "text"],
)
def test_simulate_takes_inputs_that_fit_alone(
    array: npt.NDArray[Any], message: str, loadable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    np.save(tmp_path / "x.npy", array)
    assert main(["simulate", str(loadable), "--input", str(tmp_path / "x.npy"), "-q"]) == 1
    assert message in capsys.readouterr().err


def test_simulate_takes_whole_surfaces_alone(
    loadable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for size in (0, 3, 2047, 2049):
        (tmp_path / "x.bin").write_bytes(bytes(size))
        assert main(["simulate", str(loadable), "--input", str(tmp_path / "x.bin"), "-q"]) == 1
        assert f"input x: {size} raw bytes; its surface has 2048" in capsys.readouterr().err


def test_simulate_refuses_an_array_of_another_size(
    loadable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    np.save(tmp_path / "x.npy", np.zeros((3, 8, 9), np.float32))
    assert main(["simulate", str(loadable), "--input", str(tmp_path / "x.npy")]) == 1
    assert "shape [3, 8, 9]; the loadable takes [1, 3, 8, 8]" in capsys.readouterr().err


def test_simulate_dumps_every_operation(loadable: Path, tmp_path: Path):
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 8), np.float32))
    command = ["simulate", str(loadable), "--input", str(tmp_path / "x.npy"), "--dump", str(tmp_path / "ops")]
    assert main([*command, "--json"]) == 0
    names = sorted(path.name for path in (tmp_path / "ops").iterdir())
    assert names[0].startswith("0001-task0-op")
    assert names[-1].endswith("-softmax.npy")


def test_simulate_says_which_inputs_it_takes(loadable: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["simulate", str(loadable)]) == 1
    assert "0 inputs given, it takes 1: x 1x3x8x8" in capsys.readouterr().err


def test_inspect_accepts_what_we_compile(loadable: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["inspect", str(loadable)]) == 0
    assert "no problems for nv_full" in capsys.readouterr().out
    assert main(["inspect", str(loadable), "--target", "nv_small"]) == 1
    assert "rules broken for nv_small" in capsys.readouterr().out


@pytest.fixture
def int8_loadable(model: Path, tmp_path: Path) -> Path:
    """The same model for `nv_small`."""
    path = tmp_path / "int8.nvdla"
    samples = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", samples)
    rounding = ["--target", "nv_small", "--calibrate", str(tmp_path / "x.npy")]
    assert main(["compile", str(model), *rounding, "-o", str(path), "-q"]) == 0
    return path


@pytest.mark.parametrize("command", ["check", "inspect", "simulate", "report"])
def test_a_forgotten_target_is_told(
    command: str, int8_loadable: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    first = [str(model)] if command == "check" else []
    given = ["--input", str(tmp_path / "x.npy")] if command == "simulate" else []
    assert main([command, *first, str(int8_loadable), *given]) == 1
    captured = capsys.readouterr()
    assert "it is sound for nv_small: --target nv_small" in captured.out + captured.err
    if command != "inspect":
        assert captured.err.count("\n") == 1
        assert "int8.nvdla: not for nv_full (task 0 operation 0 (CONV): entry_per_slice" in captured.err


@pytest.mark.parametrize("command", ["check", "simulate", "report"])
def test_a_wrong_target_is_told(
    command: str, loadable: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 8), np.float32))
    first = [str(model)] if command == "check" else []
    given = ["--input", str(tmp_path / "x.npy")] if command == "simulate" else []
    assert main([command, *first, str(loadable), *given, "--target", "nv_small"]) == 1
    captured = capsys.readouterr()
    assert "not for nv_small (task 0 operation 0 (CONV): in_precision FP16" in captured.err
    assert "it is sound for nv_full" in captured.err
    assert captured.out == ""


def test_a_loadable_for_no_target_keeps_its_problems(
    loadable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    whole = read_loadable(loadable)
    broken = tmp_path / "broken.nvdla"
    entries = [replace(entry, domain=9) for entry in whole.memories]
    write_loadable(replace(whole, memories=tuple(entries)), broken)
    assert main(["inspect", str(broken)]) == 1
    assert "sound for" not in capsys.readouterr().out
    assert main(["report", str(broken)]) == 1
    error = capsys.readouterr().err
    assert error.count("broken.nvdla: ") > 1
    assert "sound for" not in error


def test_refusals_name_every_node(small_model: SmallModel, capsys: pytest.CaptureFixture[str]):
    model = small_model("sine.onnx", operator="Sin")
    assert main(["compile", str(model), "--require-dla"]) == 1
    assert "act1 (Sin)" in capsys.readouterr().err
    assert not model.with_suffix(".nvdla").exists()


@pytest.mark.parametrize("command", ["targets", "passes", "ops"])
def test_lists(command: str, capsys: pytest.CaptureFixture[str]):
    assert main([command]) == 0
    assert capsys.readouterr().out
    assert main([command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_operators_and_limits_as_data(capsys: pytest.CaptureFixture[str]):
    assert main(["ops", "Conv", "Sin", "StringConcat", "--target", "nv_full", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: sorted(how) for name, how in found["operators"].items()} == {
        "Conv": ["fp16", "int8"],
        "Sin": ["int8"],
    }
    (stride,) = (limit for limit in found["limits"] if (limit["engine"], limit["what"]) == ("core", "stride"))
    assert (stride["least"], stride["most"]) == (1, 8)
    assert found["features"]["winograd"] is True
    assert found["convolution_buffer"] == {"banks": 16, "bytes": 524288}
    assert "R16_F" in found["image_formats"]["fp16"]
    assert main(["ops", "--target", "nv_small", "--json"]) == 0
    small = json.loads(capsys.readouterr().out)
    assert small["features"]["sdp_y"] is False
    assert small["widest_pooled_row"] == {"int8": {"1": 512, "2": 256, "4": 128, "8": 64}}
    assert len(small["operators"]) > 50


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help(command: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert COMMANDS[command][1:] in " ".join(capsys.readouterr().out.split())


def test_usage_errors_suggest(capsys: pytest.CaptureFixture[str]):
    assert main(["complie"]) == 2
    assert "no command 'complie'; did you mean 'compile'?" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["compile", "x.onnx", "--taget", "nv_full"])
    assert end.value.code == 2
    assert "no argument '--taget' here; did you mean '--target'?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check", "x.onnx", "--calibrate", "x.npz"])
    assert "no argument '--calibrate' here; see 'xonnc check --help'" in capsys.readouterr().err
    assert main(["ops", "Conf"]) == 1
    assert "no operator 'Conf'; did you mean 'Conv'?" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    assert "xdsl 0.74" in capsys.readouterr().out


def test_ops_of_a_target_come_with_its_limits(capsys: pytest.CaptureFixture[str]):
    assert main(["ops", "Conv", "--target", "nv_small"]) == 0
    out = capsys.readouterr().out
    assert "limits of nv_small" in out
    assert "kernel, core " in out
    assert "1 to 32" in out
    assert "Rubik" in out


def test_ops_of_the_cpu_come_with_how_they_run(capsys: pytest.CaptureFixture[str]):
    assert main(["ops", "CumSum", "CenterCropPad", "ImageDecoder", "--target", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("CumSum         Cumulative sum or product")
    assert lines[1] == "CenterCropPad  Inlined: the function body that ONNX defines."
    assert lines[2] == "ImageDecoder   not taken"
    assert main(["ops", "--target", "cpu"]) == 0
    assert "not taken" not in capsys.readouterr().out


def test_processors_are_targets_too(capsys: pytest.CaptureFixture[str]):
    assert main(["targets"]) == 0
    text = capsys.readouterr().out
    assert "nv_small" in text
    assert "native code: 32 vectors of 64 bytes; core skylake-avx512: 128 bytes of multiply-adds" in text
    assert text.splitlines()[-1].strip() == described(resolve_processor("cpu").core)
    assert main(["targets", "aarch64", "nv_small", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(each["kind"], each["name"]) for each in listed] == [("cpu", "aarch64"), ("nvdla", "nv_small")]


def test_targets_take_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "mine.toml"
    path.write_text('precisions = ["int4"]\natomic_c = 8\n')
    assert main(["targets", str(path)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert any("precisions = ['int4']; it is a list of int8, int16, fp16" in line for line in lines)
    assert any("description, atomic_k, memory_atom_bytes" in line for line in lines)


def test_the_module_runs_as_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "xonnc", "targets", "nv_small"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("nv_small")
    wrong = subprocess.run([sys.executable, "-m", "xonnc", "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("xonnc: no command 'nothing'")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_that_parse(name: str, capsys: pytest.CaptureFixture[str]):
    parser = command_parser(name)
    assert EXAMPLES[name]
    assert parser.format_help().endswith(f"  {EXAMPLES[name][-1]}\n")
    for line in EXAMPLES[name]:
        words = shlex.split(line)
        assert words[:2] == ["xonnc", name]
        rest = take_peer_flags(words[2:], "xonnc emit")[1] if name == "emit" else words[2:]
        parser.parse_args(rest)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_version_and_the_help_import_no_operators(option: str):
    code = (
        f"import sys; from xonnc.tools.driver import main; assert main(['{option}']) == 0;"
        "print(sorted({'numpy', 'onnx', 'rich', 'xdsl'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
