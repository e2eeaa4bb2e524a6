"""Models compiled to files run from C, without Python, and give what the session gives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shutil import which

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from xonnc.artifacts import compile_artifact
from xonnc.errors import RefusalError, XonncError
from xonnc.formats.native.program import RuntimeValue
from xonnc.native import compile_native
from xonnc.runtime.native import linker
from xonnc.runtime.native.library import Library
from xonnc.tools.driver import main

Array = npt.NDArray[np.generic]

WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic")

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "net.h"

int main(int count, char **arguments)
{
    net_model *m;
    int32_t code;
    int number;
    if ((code = net_create(&m, count > 1 ? arguments[1] : NULL))) return puts(net_message(code)), 1;
    for (number = 0; number < net_input_count(); number++) {
        const size_t bytes = net_input_bytes(number);
        void *data = malloc(bytes + 1);
        if (fread(data, 1, bytes, stdin) != bytes) return 2;
        if ((code = net_set_input(m, number, data, bytes))) return puts(net_message(code)), 1;
    }
    if (net_set_input(m, net_input_count(), &m, 1) == 0 || net_get_output(m, -1) != NULL) return 3;
    if (net_output_bytes(0) != net_get_output_bytes(m, 0)) return 4;
    if ((code = net_run(m))) return puts(net_message(code)), 1;
    for (number = 0; number < net_output_count(); number++)
        fwrite(net_get_output(m, number), 1, net_output_bytes(number), stdout);
    net_destroy(m);
    return net_run(NULL) == 0;
}
"""

MAIN_WITHOUT_MALLOC = """
#include <stdio.h>
#include "net.h"

static _Alignas(64) unsigned char weights[1 << 20], x[1 << 16], y[1 << 16];

int main(int count, char **arguments)
{
    net_model *m, *other;
    int32_t code;
    FILE *file = fopen(arguments[count - 1], "rb");
    const size_t found = fread(weights, 1, sizeof weights, file);
    fclose(file);
    if ((code = net_create_from(&m, weights, found))) return puts(net_message(code)), 1;
    if (fread(x, 1, net_input_bytes(0), stdin) != net_input_bytes(0)) return 2;
    if (net_set_input(m, 0, x, net_input_bytes(0))) return 3;
    if (net_run(m) == 0 || net_create_from(&other, weights, found) == 0 || other != NULL) return 4;
    if (net_set_output(m, 0, y, net_output_bytes(0))) return 3;
    if ((code = net_run(m))) return puts(net_message(code)), 1;
    return fwrite(net_get_output(m, 0), 1, net_output_bytes(0), stdout) != net_output_bytes(0);
}
"""


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    x: Sequence[int | str],
    constants: Mapping[str, Array],
    outputs: Sequence[str] = ("y",),
    type_: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", type_, x)],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def network() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "m"], ["g"]),
        helper.make_node("Tanh", ["g"], ["t"]),
        helper.make_node("Softmax", ["t"], ["y"]),
    ]
    weights = {"w": floats(20, 3, 3, 3), "b": floats(20), "m": floats(80, 13)}
    return model_of(nodes, [1, 3, 8, 8], weights)


def integers() -> onnx.ModelProto:
    """Elements of many types, an output given twice, one that is the input and one that is a constant."""
    cast, i8, f16, f64, boolean = (
        helper.make_node("Cast", ["x"], [name], to=to)
        for name, to in (
            ("n", TensorProto.INT64),
            ("i8", TensorProto.INT8),
            ("f16", TensorProto.FLOAT16),
            ("f64", TensorProto.DOUBLE),
            ("is", TensorProto.BOOL),
        )
    )
    nodes = [
        cast,
        i8,
        f16,
        f64,
        boolean,
        helper.make_node("Div", ["n", "three"], ["d"]),
        helper.make_node("Mul", ["d", "n"], ["e"]),
        helper.make_node("Exp", ["f64"], ["f"]),
        helper.make_node("Not", ["is"], ["not"]),
        helper.make_node("Add", ["i8", "i8"], ["twice"]),
        helper.make_node("Mul", ["f16", "f16"], ["half"]),
        helper.make_node("Identity", ["half"], ["again"]),
        helper.make_node("Identity", ["three"], ["constant"]),
    ]
    outputs = ("e", "f", "not", "twice", "half", "again", "x", "constant")
    return model_of(nodes, [4, 7], {"three": np.array([3], np.int64)}, outputs)


def recurrences() -> onnx.ModelProto:
    """LSTMs, one with lengths, a GRU of whose results the last is read, and constant float16 values."""
    weights: dict[str, Array] = {"lengths": np.array([3, 2], np.int32)}
    nodes: list[onnx.NodeProto] = []
    for name, operator, rows, given in (
        ("lstm", "LSTM", 20, [""]),
        ("short", "LSTM", 20, ["", "lengths"]),
        ("gru", "GRU", 15, [""]),
    ):
        weights |= {f"{name}_w": floats(1, rows, 4), f"{name}_r": floats(1, rows, 5)}
        inputs = ["x", f"{name}_w", f"{name}_r", *given]
        outputs = ["", "gru_last"] if operator == "GRU" else [name, f"{name}_last"]
        nodes.append(helper.make_node(operator, inputs, outputs, hidden_size=5))
    nodes.append(helper.make_node("Cast", ["x"], ["half"], to=TensorProto.FLOAT16))
    nodes.append(helper.make_node("Pad", ["half", "pads", "one"], ["padded"]))
    weights |= {"pads": np.array([0, 1, 0, 0, 0, 2], np.int64), "one": np.array(1, np.float16)}
    return model_of(nodes, [3, 2, 4], weights, ["lstm", "lstm_last", "short", "gru_last", "padded"])


CONTROL_FLOW = """
<ir_version: 8, opset_import: ["" : 17]>
model (float[4,3] x) => (float[3] y, float[3] last, float[3,4] each) {
  zero = Constant<value = float {0.0}>()
  nothing = Constant<value = float[3] {0.0, 0.0, 0.0}>()
  most = Constant<value = int64 {9}>()
  sum = ReduceSum<keepdims = 0>(x)
  is_more = Greater(sum, zero)
  y = If(is_more) <
    then_branch = more () => (float[3] a) {
      first = ReduceMax<axes = [0], keepdims = 0>(x)
      go = Constant<value = bool {1}>()
      a = Loop(most, go, first) <
        body = turn (int64 i, bool before, float[3] b) => (bool on, float[3] twice) {
          twice = Add(b, b)
          limit = Constant<value = float {100.0}>()
          largest = ReduceMax<keepdims = 0>(twice)
          on = Less(largest, limit)
        }
      >
    },
    else_branch = less () => (float[3] c) { c = ReduceMin<axes = [0], keepdims = 0>(x) }
  >
  last, each = Scan<num_scan_inputs = 1, scan_output_axes = [1], scan_input_directions = [1],
    body = row (float[3] total, float[3] part) => (float[3] next, float[3] seen) {
      next = Add(total, part)
      seen = Mul(next, part)
    }
  >(nothing, x)
}
"""


def control_flow() -> onnx.ModelProto:
    """A branch with a loop in it that ends by a condition, and a scan backwards."""
    return onnx.parser.parse_model(CONTROL_FLOW)


def run_c(
    folder: Path,
    files: Sequence[str],
    data: bytes,
    source: str = MAIN,
    *arguments: str,
    cc: str = "cc",
    by: Sequence[str] = (),
) -> bytes:
    """What a program made of `source` and the files writes; `by` runs it if it is for another machine."""
    (folder / "main.c").write_text(source)
    program = folder / "main"
    subprocess.run(
        [cc, "-O1", *WARNINGS, "main.c", *files, "-Wl,-rpath,.", "-lm", "-o", program],
        cwd=folder,
        check=True,
    )
    command = [*by, program, *arguments]
    done = subprocess.run(command, input=data, capture_output=True, cwd=folder, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout[:200])
    return done.stdout


@pytest.mark.parametrize("suffix", ["so", "o", "c"])
@pytest.mark.parametrize("make", [network, integers, recurrences, control_flow])
def test_runs_from_c(tmp_path: Path, suffix: str, make: Callable[[], onnx.ModelProto]) -> None:
    model = make()
    compile_artifact(model, tmp_path / f"net.{suffix}", prefix="net")
    session = compile_native(model)
    x = 9 * floats(*(size or 0 for size in session.inputs[0].shape or ()))
    assert_same(run_c(tmp_path, [f"./net.{suffix}"], x.tobytes()), session.run(None, {"x": x}))


def assert_same(found: bytes, expected: Sequence[RuntimeValue]) -> None:
    for requested in expected:
        assert isinstance(requested, np.ndarray)
        given = np.frombuffer(found[: requested.nbytes], requested.dtype).reshape(requested.shape)
        found = found[requested.nbytes :]
        assert np.allclose(given.astype(np.float64), requested.astype(np.float64), 1e-5, 1e-6)
    assert not found


ARM_CC, ARM_RUN = "aarch64-linux-gnu-gcc", "qemu-aarch64"


@pytest.mark.skipif(not (which(ARM_CC) and which(ARM_RUN)), reason=f"needs {ARM_CC} and {ARM_RUN}")
@pytest.mark.parametrize("suffix", ["so", "o", "c"])
@pytest.mark.parametrize("make", [network, integers, recurrences, control_flow])
def test_runs_on_another_architecture(
    tmp_path: Path, suffix: str, make: Callable[[], onnx.ModelProto]
) -> None:
    artifact = compile_artifact(make(), tmp_path / f"net.{suffix}", "aarch64", prefix="net")
    assert tmp_path / ("net.weight" if suffix == "c" else f"net.{suffix}.weight") in artifact.files
    session = compile_native(make())
    x = 9 * floats(*(size or 0 for size in session.inputs[0].shape or ()))
    emulated = (ARM_RUN, "-L", "/usr/aarch64-linux-gnu")
    found = run_c(tmp_path, [f"./net.{suffix}"], x.tobytes(), cc=ARM_CC, by=emulated)
    assert_same(found, session.run(None, {"x": x}))


AARCH64 = 183
"""What the header of an ELF file says of 64-bit Arm."""


def test_objects_for_another_architecture(tmp_path: Path) -> None:
    compile_artifact(network(), tmp_path / "net.o", "aarch64", prefix="net")
    assert int.from_bytes((tmp_path / "net.o").read_bytes()[18:20], "little") == AARCH64
    compile_artifact(network(), tmp_path / "net.ll", "aarch64", prefix="net")
    assert 'target triple = "aarch64-unknown-linux-gnu"' in (tmp_path / "net.ll").read_text()


def test_products_and_sums_without_an_instruction_for_both(tmp_path: Path) -> None:
    compile_artifact(network(), tmp_path / "net.o", "portable", prefix="net")
    symbols = subprocess.run(["nm", "-u", "net.o"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "fma" not in symbols.stdout


def test_conversions_of_float16_are_instructions(tmp_path: Path) -> None:
    """Compilers before gcc 12 have no functions for them."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float16[4, 8] x) => (float16[4, 8] y) { y = Relu(x) }'
    )
    for target in ("avx2", "avxvnni", "avx512", "aarch64"):
        compile_artifact(model, tmp_path / "net.o", target, prefix="net")
        symbols = subprocess.run(
            ["nm", "-u", "net.o"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert "hf2" not in symbols.stdout


def test_without_malloc(tmp_path: Path) -> None:
    artifact = compile_artifact(network(), tmp_path / "net.c", prefix="net", no_malloc=True)
    assert {path.name for path in artifact.files} == {"net.c", "net.h", "net.weight"}
    x = floats(1, 3, 8, 8)
    found = run_c(tmp_path, ["net.c"], x.tobytes(), MAIN_WITHOUT_MALLOC, "net.weight")
    (expected,) = compile_native(network()).run(None, {"x": x})
    np.testing.assert_allclose(np.frombuffer(found, np.float32), np.ravel(np.asarray(expected)), rtol=1e-5)
    symbols = subprocess.run(["nm", "-u", "main"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "malloc" not in symbols.stdout


@pytest.mark.parametrize("suffix", ["so", "c"])
def test_indices_out_of_range_are_told(tmp_path: Path, suffix: str) -> None:
    model = model_of(
        [helper.make_node("Gather", ["w", "x"], ["y"], name="pick")],
        [2],
        {"w": floats(5, 3)},
        type_=TensorProto.INT64,
    )
    compile_artifact(model, tmp_path / f"net.{suffix}", prefix="net")
    rows = run_c(tmp_path, [f"./net.{suffix}"], np.array([-5, 4]).tobytes())
    assert np.array_equal(np.frombuffer(rows, np.float32).reshape(2, 3), floats(5, 3)[[0, 4]])
    for wrong in ([0, 5], [-6, 0]):
        done = subprocess.run(
            ["./main"], cwd=tmp_path, input=np.array(wrong).tobytes(), capture_output=True, check=False
        )
        assert done.returncode == 1
        assert b"pick: index is out of range: axis 0 has 5 elements" in done.stdout


@pytest.mark.parametrize("suffix", ["so", "c"])
def test_an_index_out_of_range_in_a_loop_is_told(tmp_path: Path, suffix: str) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    model (int64 m) => (float y) {
      table = Constant<value = float[3] {1.0, 2.0, 4.0}>()
      start = Constant<value = float {0.0}>()
      y = Loop(m, "", start) <
        body = turn (int64 i, bool go, float total) => (bool on, float sum) {
          [pick] picked = Gather(table, i)
          sum = Add(total, picked)
          on = Identity(go)
        }
      >
    }"""
    compile_artifact(onnx.parser.parse_model(text), tmp_path / f"net.{suffix}", prefix="net")
    assert run_c(tmp_path, [f"./net.{suffix}"], np.array(3).tobytes()) == np.float32(7).tobytes()
    done = subprocess.run(
        ["./main"], cwd=tmp_path, input=np.array(4).tobytes(), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"pick: index is out of range: axis 0 has 3 elements" in done.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((-1, b""), b"cut short"),
        ((24, b"12345678" * 5), b"not those of this model"),
        ((20, b""), b"not those of this model"),
    ],
)
def test_other_weights_are_refused(tmp_path: Path, change: tuple[int, bytes], said: bytes) -> None:
    compile_artifact(network(), tmp_path / "net.c", prefix="net")
    held = (tmp_path / "net.weight").read_bytes()
    (tmp_path / "net.weight").write_bytes(held[: change[0]] + change[1])
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run(["cc", *WARNINGS, "main.c", "net.c", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 1
    assert said in done.stdout


def test_llvm_ir_names_the_entry(tmp_path: Path) -> None:
    compile_artifact(network(), tmp_path / "net.ll", prefix="net")
    text = (tmp_path / "net.ll").read_text()
    assert "define i32 @net_run(ptr" in text
    assert (tmp_path / "net.ll.weight").read_bytes()[:8] == b"XONNCWGT"


def test_what_needs_python_is_refused_at_once(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["u"], name="first", to=onnx.TensorProto.STRING),
        helper.make_node("NonZero", ["x"], ["z"], name="second"),
        helper.make_node("RandomUniformLike", ["x"], ["r"], name="third"),
    ]
    said = (
        r"first: strings and maps are Python objects, so that Cast is run by the session(.|\n)*"
        r"second: the size of its result is data-dependent, and the result is sliced by the session(.|\n)*"
        r"third: without the attribute seed, the random generator is seeded anew(.|\n)*xonnc run"
    )
    with pytest.raises(RefusalError, match=said):
        compile_artifact(model_of(nodes, [4], {}, ["u", "z", "r"]), tmp_path / "net.so")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("operator", "result"), [("Bernoulli", "b"), ("RandomUniformLike", "b")])
def test_refusals_of_nodes_without_a_name_name_their_result(
    operator: str, result: str, tmp_path: Path
) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node(operator, ["a"], [result]),
        helper.make_node("Relu", [result], ["y"]),
    ]
    with pytest.raises(RefusalError, match=f"^{result}: without the attribute seed"):
        compile_artifact(model_of(nodes, [4], {}, ["y"]), tmp_path / "net.so")


BRANCHES = """
<ir_version: 8, opset_import: ["" : 17]>
model (bool c, float[3] x) => (float[3] y) {
  [choice] y = If(c) <
    then_branch = left () => (float[3] a) { a = Neg(x) },
    else_branch = right () => (float[3] b) { b = RandomUniformLike(x) }
  >
}
"""


def test_what_the_session_runs_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = onnx.parser.parse_model(BRANCHES)
    said = "choice: a body has no native code, or dynamic shapes, so that If is run by the session"
    with pytest.raises(RefusalError, match=said):
        compile_artifact(model, tmp_path / "net.so")
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    assert main(["compile", str(tmp_path / "net.onnx"), "-o", str(tmp_path / "net.c")]) == 1
    assert sum(said in line for line in capsys.readouterr().err.splitlines()) == 1


def test_sizes_that_are_given_are_those_of_the_file(tmp_path: Path) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], ["N", 3], {})
    artifact = compile_artifact(model, tmp_path / "net.c", input_shapes={"x": (2, 3)})
    assert artifact.program.inputs[0].shape == (2, 3)
    assert "input 0: x, float32 [2, 3]" in (tmp_path / "net.h").read_text()


@pytest.mark.parametrize("level", [0, 1, 3])
def test_levels_of_code(tmp_path: Path, level: int) -> None:
    x = floats(1, 3, 8, 8)
    (expected,) = compile_native(network()).run(None, {"x": x})
    (found,) = compile_native(network(), level=level, cache=False).run(None, {"x": x})
    assert_same(np.asarray(found, np.float32).tobytes(), [expected])
    compile_artifact(network(), tmp_path / "net.so", prefix="net", level=level)
    assert_same(run_c(tmp_path, ["./net.so"], x.tobytes()), [expected])


def test_a_level_that_there_is_not(tmp_path: Path) -> None:
    for make in (
        lambda: compile_native(network(), level=4),
        lambda: compile_artifact(network(), tmp_path / "net.so", level=-1),
    ):
        with pytest.raises(XonncError, match=r"level: -?\d; there are 0, 1, 2, 3"):
            make()


def test_no_linker_names_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        XonncError, match=r"none of cc, .* is installed .*; pip install .*net\.o makes an object file"
    ):
        compile_artifact(network(), tmp_path / "net.so")


def test_what_a_linker_says_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.o").write_bytes(b"nothing")
    with pytest.raises(XonncError, match=r"net\.so: .* fails: "):
        linker.link(tmp_path / "bad.o", tmp_path / "net.so")
    assert {path.name for path in tmp_path.iterdir()} == {"bad.o"}


def test_the_ziglang_package_links_for_any_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert linker.linker() is None
    monkeypatch.setattr(linker, "find_spec", {"ziglang": object()}.get)
    assert linker.linker() == [sys.executable, "-m", "ziglang", "cc"]
    foreign = linker.linker("aarch64-unknown-linux-gnu")
    assert foreign == [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-gnu"]


@pytest.mark.parametrize(
    ("output", "options", "said"),
    [
        ("net.exe", {}, "native code is written to .so, .o, .ll, .c"),
        ("net.c", {"prefix": "a b"}, "prefix 'a b': it must be a C identifier"),
        ("net.so", {"no_malloc": True}, "static arrays is for C source"),
        ("net.so", {"target": "avx1024"}, "no target 'avx1024'"),
    ],
)
def test_wrong_options(tmp_path: Path, output: str, options: dict[str, str | bool], said: str) -> None:
    target, prefix = str(options.get("target", "cpu")), str(options.get("prefix", "net"))
    with pytest.raises(XonncError, match=said):
        compile_artifact(
            network(), tmp_path / output, target, prefix=prefix, no_malloc="no_malloc" in options
        )


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.onnx").write_bytes(network().SerializeToString())
    assert (
        main(["compile", str(tmp_path / "net.onnx"), "-o", str(tmp_path / "net.so"), "--prefix", "net"]) == 0
    )
    assert "net.so (" in capsys.readouterr().out
    assert main(["compile", str(tmp_path / "net.onnx"), "--target", "avx2", "--json"]) == 0
    assert '"target": "avx2"' in capsys.readouterr().out


@pytest.mark.parametrize("suffix", [".so", ".c", ".ll", ".mlir"])
def test_a_dry_run_reports_and_writes_nothing(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, output = tmp_path / "net.onnx", tmp_path / f"net{suffix}"
    model.write_bytes(network().SerializeToString())
    stage = ["--stop-after", "krnl"] if suffix == ".mlir" else []
    command = ["compile", str(model), "--target", "cpu", "-o", str(output), "--dry-run", *stage]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "wrote" not in said
    assert ("stopped after krnl" if stage else "memory       weights") in said
    assert list(tmp_path.iterdir()) == [model]
    if not stage:
        assert main([*command, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert not found["files"]
        assert found["kernels"] > 0
    assert list(tmp_path.iterdir()) == [model]
    output.write_text("kept")
    assert main([*command, "-q"]) == 0
    assert output.read_text() == "kept"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "net.so", "--package"], "--package is for NVDLA targets"),
        (["-o", "net.so", "--target", "nv_full"], "code for nv_full; targets of it are cpu"),
        (["-o", "net.nvdla", "--target", "cpu"], "native code is written to"),
        (["--no-malloc"], "--no-malloc is for native code"),
        (["-O3"], "-O3 is for native code"),
        (["--enable-pass", "constprop-onnx"], "--enable-pass is for native code"),
        (["--disable-pass", "constprop-onnx"], "--disable-pass is for native code"),
    ],
)
def test_options_that_do_not_fit(
    arguments: Sequence[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", "net.onnx", *arguments]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".so", ".ll"])
def test_results_that_are_inputs_need_no_kernels(tmp_path: Path, suffix: str) -> None:
    text = '<ir_version: 8, opset_import: ["": 21]> g (float[3] x) => (float[3] y) { y = Identity (x) }'
    path = tmp_path / f"model{suffix}"
    assert compile_artifact(onnx.parser.parse_model(text), path).kernels == 0
    if suffix == ".so":
        x = np.array([1, -2, np.inf], np.float32)
        np.testing.assert_array_equal(Library(path).run(None, {"x": x})[0], x)
