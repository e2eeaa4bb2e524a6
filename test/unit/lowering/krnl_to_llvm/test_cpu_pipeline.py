"""The CPU compiler as passes: whatever stage a dump is of, the passes make the same code of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import Mock

import onnx.parser
import pytest
from xdsl.dialects.builtin import ModuleOp

from bench.stage_dumps import ExpectedCode, is_read_alike
from xonnc import artifacts
from xonnc.artifacts import compile_artifact
from xonnc.targets.cores import load_core
from xonnc.targets.cpu import load_cpu
from xonnc.tools.driver import main
from xonnc.tools.opt import run_opt
from xonnc.tools.translate import main as translate

RESIDUAL = """
  first = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
  active = Relu (first)
  second = Conv <pads = [1, 1, 1, 1]> (active, w2)
  sum = Add (second, first)
  active2 = Relu (sum)
  pooled = GlobalAveragePool (active2)
  y = Flatten (pooled)
"""

WEIGHTS = "float[16,3,3,3] w1, float[16] b1, float[16,16,3,3] w2"

QUANTIZED = """
  s = Constant <value_float = 0.05> ()
  sw = Constant <value_float = 0.02> ()
  z = Constant <value = int8 {0}> ()
  xq = QuantizeLinear (x, s, z)
  xr = DequantizeLinear (xq, s, z)
  wq = QuantizeLinear (w, sw, z)
  wr = DequantizeLinear (wq, sw, z)
"""

MODELS = {
    "residual": ("float[1,3,12,12] x", "float[1,16] y", WEIGHTS, RESIDUAL),
    "residual_dynamic": ("float[N,3,12,12] x", "float[N,16] y", WEIGHTS, RESIDUAL),
    "depthwise": (
        "float[1,16,9,9] x",
        "float[1,16,5,5] y",
        "float[16,1,3,3] w, float[16] b",
        "c = Conv <group = 16, pads = [1, 1, 1, 1], strides = [2, 2]> (x, w, b)\n y = HardSwish (c)",
    ),
    "perceptron_dynamic": (
        "float[N,20] x",
        "float[N,5] y",
        "float[20,33] w, float[33] b, float[33,5] v",
        "h = Gemm (x, w, b)\n a = Tanh (h)\n m = MatMul (a, v)\n y = Softmax <axis = -1> (m)",
    ),
    "attention_dynamic": (
        "float[B,S,16] x",
        "float[B,S,16] y",
        "float[16,16] w, float[16] scale, float[16] bias",
        "q = MatMul (x, w)\n t = Transpose <perm = [0, 2, 1]> (x)\n s = MatMul (q, t)\n"
        " p = Softmax <axis = -1> (s)\n o = MatMul (p, x)\n r = Add (o, x)\n"
        " y = LayerNormalization (r, scale, bias)",
    ),
    "masked_softmax": (
        "float[3,8] x",
        "float[3,8] y",
        "float[8] scale",
        "h = Constant <value_float = -inf> ()\n"
        " m = Constant <value_floats = [-inf, 1.0, 16777216.0, nan]> ()\n"
        " i = Constant <value_ints = [1, 0, 3, 2, 1, 1, 0, 1]> ()\n g = Gather (m, i)\n s = Mul (x, scale)\n"
        " b = Less (s, g)\n w = Where (b, s, h)\n t = Max (w, g)\n y = Softmax <axis = -1> (t)",
    ),
    "lstm": (
        "float[7,2,8] x",
        "float[7,1,2,6] y",
        "float[1,24,8] w, float[1,24,6] r",
        "y = LSTM <hidden_size = 6> (x, w, r)",
    ),
    "branches": (
        "float[1,8,8,8] x",
        "float[1,24,8,8] y",
        "float[8,8,1,1] w",
        "a = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)\n b = Conv (x, w)\n"
        " c = Sigmoid (b)\n y = Concat <axis = 1> (a, b, c)",
    ),
    "rows_found_by_index": (
        "float[N,6] x, int64[K] places",
        "float[K,3] y",
        "float[6,3] w",
        "g = Gather <axis = 0> (x, places)\n m = MatMul (g, w)\n y = LeakyRelu (m)",
    ),
    "quantized_product": (
        "float[4,32] x",
        "float[4,24] y",
        "float[32,24] w",
        QUANTIZED + "m = MatMul (xr, wr)\n mq = QuantizeLinear (m, s, z)\n y = DequantizeLinear (mq, s, z)",
    ),
    "quantized_convolution": (
        "float[1,16,10,10] x",
        "float[1,16,10,10] y",
        "float[16,16,3,3] w",
        QUANTIZED + "c = Conv <pads = [1, 1, 1, 1]> (xr, wr)\n r = Relu (c)\n rq = QuantizeLinear (r, s, z)\n"
        " y = DequantizeLinear (rq, s, z)",
    ),
    "quantized_dynamic": (
        "float[N,32] x",
        "float[N,24] y",
        "float[32,24] w",
        QUANTIZED + "m = MatMul (xr, wr)\n mq = QuantizeLinear (m, s, z)\n y = DequantizeLinear (mq, s, z)",
    ),
}

STAGES = (
    "simplified",
    "legalized",
    "outlined",
    "bf16",
    "winograd",
    "fused",
    "memory",
    "layout",
    "krnl",
    "prepacked",
    "parallel",
    "shared",
    "planned",
    "llvm",
)

FIXED = {"quantized_dynamic": "x:3,32"}
"""Models without one code for any sizes, with the sizes that they are compiled for."""


def model(name: str, folder: Path) -> Path:
    """A file of one of the models, its weights drawn by a seed."""
    inputs, outputs, weights, body = MODELS[name]
    graph = f"g ({inputs}) => ({outputs}) <{_values(weights)}> {{ {body} }}"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {graph}')
    path = folder / f"{name}.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def _values(weights: str) -> str:
    """Declarations with numbers: a weight each, in steps from -1 to 1."""
    declared: list[str] = []
    for weight in weights.split(", "):
        sizes = [int(size) for size in weight[weight.index("[") + 1 : weight.index("]")].split(",")]
        count = 1
        for size in sizes:
            count *= size
        declared.append(f"{weight} = {{{', '.join(str((7 * at % 19 - 9) / 9) for at in range(count))}}}")
    return ", ".join(declared)


Compile = Callable[[str], Path]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiler of a model, once for all tests: the folder with its file, `m.ll` and IR after each stage."""

    @cache
    def work(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        path = model(name, folder)
        command = ["compile", str(path), "-o", str(folder / "m.ll"), "--target", "avx2", "-q"]
        shape = ["--input-shape", FIXED[name]] if name in FIXED else []
        assert main([*command, *shape, "--dump", str(folder / "dump")]) == 0
        return folder

    return work


def dumps(folder: Path) -> Mapping[str, Path]:
    """The IR after each stage, without stages that changed nothing: their IR becomes what the last did."""
    made: dict[str, Path] = {}
    texts: set[str] = set()
    for index, stage in enumerate(STAGES, 1):
        path = folder / "dump" / f"{index:02}-{stage}.mlir"
        text = path.read_text()
        if text not in texts:
            made[stage] = path
            texts.add(text)
    return made


@pytest.mark.parametrize("name", MODELS)
def test_every_stage_becomes_the_same_code(name: str, compiled: Compile):
    paths = dumps(compiled(name))
    code, expected = run_opt([str(paths["llvm"])])[:2]
    assert code == 0
    assert "@xonnc_run_0" in expected
    by_xdsl = ExpectedCode(expected)
    assert {"simplified", "krnl"} <= set(paths)
    turn = list(MODELS).index(name)
    for index, (stage, path) in enumerate(paths.items()):
        if stage not in ("simplified", "krnl", "llvm") and (index + turn) % 2:
            # Each of these stages is tried with every second model, and all of bench/stage_dumps.py with all.
            continue
        code, text = run_opt([str(path), "--cpu-pipeline=processor=avx2"])[:2]
        assert code == 0
        assert text == expected, stage
        assert is_read_alike(path), stage
        # xdsl-opt reads the same module of each dump, so two show that it runs the passes too: one before and
        # one after the conversion. `bench/stage_dumps.py` runs all.
        if stage in ("simplified", "krnl"):
            assert by_xdsl.is_made_by_xdsl(path, "cpu-pipeline{processor=avx2}"), stage


@pytest.mark.parametrize(
    "name", ["residual_dynamic", "masked_softmax", "lstm", "branches", "quantized_convolution"]
)
def test_xonnc_compiles_every_dump_to_the_same_files(name: str, compiled: Compile, tmp_path: Path):
    folder = compiled(name)
    for stage, dump in dumps(folder).items():
        if stage == "llvm":
            continue
        made = tmp_path / stage
        made.mkdir()
        assert main(["compile", str(dump), "-o", str(made / "m.ll"), "--target", "avx2", "-q"]) == 0
        for file in ("m.ll", "m.ll.weight"):
            assert (made / file).read_bytes() == (folder / file).read_bytes(), stage


def test_xonnc_compiles_the_last_dumps_to_the_same_object_file(compiled: Compile, tmp_path: Path):
    folder = compiled("residual")
    command = ["--target", "avx2", "-q", "--prefix", "m", "-o"]
    assert main(["compile", str(folder / "residual.onnx"), *command, str(tmp_path / "m.o")]) == 0
    made = tmp_path / "again"
    made.mkdir()
    for stage in ("krnl", "planned"):
        assert main(["compile", str(dumps(folder)[stage]), *command, str(made / "m.o")]) == 0
        assert (made / "m.o").read_bytes() == (tmp_path / "m.o").read_bytes(), stage


def test_stages_say_which_core_they_are_for(tmp_path: Path):
    """Code for the processor at hand is made again of its IR, where the target alone gives other code."""
    wide = "float[1,512] x", "float[1,64] y", "float[512,64] w", "y = MatMul (x, w)"
    graph = f"g ({wide[0]}) => ({wide[1]}) <{_values(wide[2])}> {{ {wide[3]} }}"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {graph}')
    core = load_core("generic")
    processor = replace(load_cpu("avx2"), core=replace(core, l1_bytes=1 << 16))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifacts, "resolve_processor", Mock(return_value=processor))
        texts: dict[str, str] = {}

        def on_stage(stage: str, module: ModuleOp) -> None:
            texts[stage] = str(module)

        compile_artifact(made, tmp_path / "m.ll", on_stage=on_stage)
    assert "llvm.prefetch" not in texts["llvm"]
    for stage in STAGES:
        path = tmp_path / f"{stage}.mlir"
        path.write_text(texts[stage])
        code, text = run_opt([str(path), "--cpu-pipeline=processor=avx2"])[:2]
        assert code == 0
        assert "llvm.prefetch" not in text, stage
        usual = path.read_text().replace('"l1_bytes" = 65536', '"l1_bytes" = 32768')
        path.write_text(usual)
        again = run_opt([str(path), "--cpu-pipeline=processor=avx2"])[1]
        decided = ("krnl", "prepacked", "parallel", "shared", "planned", "llvm")
        assert ("llvm.prefetch" in again) == (stage not in decided)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in FIXED])
def test_an_imported_model_becomes_the_same_code(name: str, compiled: Compile, tmp_path: Path):
    folder = compiled(name)
    imported = tmp_path / "imported.mlir"
    assert translate([str(folder / f"{name}.onnx"), "-o", str(imported)]) == 0
    code, text = run_opt([str(imported), "--simplify-onnx", "--cpu-pipeline=processor=avx2"])[:2]
    assert code == 0
    assert text == run_opt([str(dumps(folder)["llvm"])])[1]


@pytest.mark.skipif(shutil.which("mlir-translate-19") is None, reason="needs Debian's mlir-19-tools")
@pytest.mark.parametrize("name", MODELS)
def test_upstream_tools_take_the_code(name: str, compiled: Compile, tmp_path: Path):
    path = dumps(compiled(name))["llvm"]
    code, text = run_opt([str(path)])[:2]
    assert code == 0
    plain = tmp_path / "plain.mlir"
    plain.write_text(text)
    subprocess.run(["mlir-opt-19", str(plain), "-o", str(tmp_path / "checked.mlir")], check=True)
    subprocess.run(
        ["mlir-translate-19", "--mlir-to-llvmir", str(plain), "-o", str(tmp_path / "code.ll")], check=True
    )
    assert "define void @xonnc_run_0(ptr" in (tmp_path / "code.ll").read_text()


def test_a_model_that_the_host_has_a_part_in_keeps_its_function(tmp_path: Path):
    text = """
func.func @model(%x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
"""
    path = tmp_path / "host.mlir"
    path.write_text(text)
    code, made = run_opt([str(path), "--cpu-pipeline"])[:2]
    assert code == 0
    assert "func.func @model" in made
    assert "krnl.no_kernel" in made


def test_the_passes_of_a_file_are_those_of_the_pipeline(tmp_path: Path):
    seen: list[str] = []
    compile_artifact(
        model("residual", tmp_path), tmp_path / "m.ll", on_stage=lambda stage, module: seen.append(stage)
    )
    assert seen == list(STAGES)


@pytest.mark.parametrize("threads", [0, -1])
@pytest.mark.parametrize("name", ["cpu-pipeline", "convert-onnx-to-krnl", "convert-krnl-to-llvm"])
def test_a_run_has_a_thread(name: str, threads: int, tmp_path: Path):
    path = tmp_path / "empty.mlir"
    path.write_text("module {}")
    code, _, errors = run_opt([str(path), f"--{name}=threads={threads}"])
    assert code == 1
    assert f"{name}: threads = {threads}; it is 1 or more" in errors
