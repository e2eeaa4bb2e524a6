"""Operators of plug-ins in C: in sessions, libraries and C source, with every kind of attribute."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import xonnc
from xonnc import graph_executor
from xonnc.errors import XonncError
from xonnc.plugin import (
    Plugin,
    PluginError,
    TensorType,
    attribute,
    c_function,
    one,
    operator,
    optional,
    register,
    registered,
    variadic,
)
from xonnc.plugins.loading import load_file
from xonnc.runtime.native import c_compiler, linker
from xonnc.runtime.native.graph_library import load_library
from xonnc.verification_models import open_model

ROOT = Path(__file__).resolve().parents[3]
CUM_MAX = ROOT / "examples" / "plugins" / "cum_max.py"

needs_compiler = pytest.mark.skipif(c_compiler.c_compiler() is None, reason="no C compiler")

PLUGIN = Plugin("clangtest", version="1.0")


@operator(PLUGIN, domain="org.clangtest", name="Describe")
class Describe:
    """Number of elements, rank, first dimension and type of the operands, and all attributes, as one list."""

    inputs = (one("T", name="x"), optional("T", name="y"), variadic("T", name="others"))
    outputs = one(np.float64)
    count = attribute(int)
    ratio = attribute(float, default=0.1)
    word = attribute(str, default='a"\\?\u00e4\n1')
    numbers = attribute(list[int], default=[3, -4])
    ratios = attribute(list[float], default=None)
    words = attribute(list[str], default=["x", "yz"])

    c_source = c_function(
        "clangtest_describe",
        """
        #include <string.h>

        static double *clangtest_tensor(const xonnc_tensor *x, double *y)
        {
            *y++ = x->data ? (double)x->size : -1;
            *y++ = (double)x->rank;
            *y++ = x->rank ? (double)x->shape[0] : 0;
            *y++ = x->type;
            return y;
        }

        static void clangtest_describe(const xonnc_tensor *inputs, const xonnc_tensor *outputs,
            int64_t count, double ratio, const char *word, const int64_t *numbers, int64_t number_count,
            const double *ratios, int64_t ratio_count, const char *const *words, int64_t word_count)
        {
            double *y = outputs[0].data;
            for (int i = 0; i < 3; i++) y = clangtest_tensor(&inputs[i], y);
            *y++ = (double)count;
            *y++ = ratio;
            *y++ = (double)strlen(word) + (strcmp(word, "a\\"\\\\\\?\\303\\244\\n1") ? 100 : 0);
            for (int64_t i = 0; i < number_count; i++) *y++ = (double)numbers[i];
            *y++ = ratios ? ratios[0] : (double)ratio_count;
            *y++ = (double)(word_count + (int64_t)strlen(words[1]));
        }
        """,
    )

    @staticmethod
    def infer(op: Any) -> TensorType:
        return TensorType(np.dtype(np.float64), (19,))


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "com.scans": 1, "org.clangtest": 1]>' + text
    )


CUM = "g (float[N, 5] x) => (float[N, 5] y) { a = Neg (x) [cum] y = com.scans.CumMax <reverse = 1> (a) }"


@pytest.fixture(scope="module", autouse=True)
def plugins() -> None:
    load_file(CUM_MAX)
    register(PLUGIN)


def reversed_maximum(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.flip(np.maximum.accumulate(np.flip(-x, -1), -1), -1)


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2])
def test_sessions_run_it_for_any_shape(threads: int):
    session = xonnc.compile(model(CUM), threads=threads, cache=False)
    for rows in (1, 7, 0):
        x = np.random.default_rng(rows).normal(size=(rows, 5)).astype(np.float32)
        x[:1, 1:4] = np.nan, -np.inf, 0
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], reversed_maximum(x))
    assert not session.host_calls()


@needs_compiler
def test_tensors_and_attributes_arrive_in_c():
    found = xonnc.compile(
        model(
            "g (uint16[2, 3] x, uint16 z) => (double[19] y)"
            "{ [all] y = org.clangtest.Describe <count = -9223372036854775808> (x, , z) }"
        ),
        cache=False,
    ).run(None, {"x": np.ones((2, 3), np.uint16), "z": np.uint16(1)})[0]
    tensors = [6, 2, 2, 4, -1, 0, 0, 0, 1, 0, 0, 4]
    expected = [*tensors, -(2.0**63), np.float32(0.1), 8, 3, -4, 0, 4]
    np.testing.assert_array_equal(found, expected)


@needs_compiler
@pytest.mark.parametrize(
    ("element", "reason"),
    [
        ("int4", "C functions take no elements of type i4"),
        ("uint2", "C functions take no elements of type ui2"),
        ("float8e4m3fn", "C functions take no elements of type f8E4M3FN"),
        ("bfloat16", None),
        ("bool", None),
        ("int64", None),
    ],
)
def test_types_that_c_has_none_for_run_in_python(element: str, reason: str | None):
    described = onnx.parser.parse_model(
        '<ir_version: 13, opset_import: ["": 25, "org.clangtest": 1]>'
        "g (float[2, 3] x) => (double[19] y) { [all] y = org.clangtest.Describe <count = 1> (x) }"
    )
    described.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.DataType.Value(element.upper())
    session = xonnc.compile(described, cache=False)
    assert [line.reason for line in session.report() if line.where == "host"] == [reason] * (
        reason is not None
    )


@needs_compiler
def test_libraries_and_c_source_have_it(tmp_path: Path):
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    for suffix in (".so", ".c"):
        path = tmp_path / f"m{suffix}"
        xonnc.compile_artifact(model(CUM), path, "cpu")
        np.testing.assert_array_equal(open_model(path).run({"x": x})[0], reversed_maximum(x))
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "-o", str(tmp_path / "m.o")]
    compiler = c_compiler.c_compiler()
    assert compiler is not None
    subprocess.run([*compiler, *flags, str(tmp_path / "m.c")], check=True)
    symbols = subprocess.run(["nm", "-D", tmp_path / "m.so"], capture_output=True, text=True).stdout
    assert "CumMax" not in symbols
    assert "cum_max" not in symbols
    graph, library, parameters = xonnc.build(model(CUM), shape={"x": (3, 5)})
    library.export_library(tmp_path / "lib.so")
    loaded = graph_executor.create(graph, load_library(tmp_path / "lib.so"))
    loaded.load_params(xonnc.save_params(parameters))
    loaded.run(x=x)
    np.testing.assert_array_equal(loaded.get_output(0), reversed_maximum(x))


def test_c_source_is_written_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    without_compiler(monkeypatch)
    xonnc.compile_artifact(model(CUM), tmp_path / "m.c", "avx2")
    assert (tmp_path / "m.c").read_text().count("static void scans_cum_max(") == 1


def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(linker, "which", nothing)
    monkeypatch.setattr(linker, "find_spec", nothing)


@pytest.mark.parametrize(
    ("target", "output", "message"),
    [
        ("avx2", "m.so", "a plug-in has operators in C, and none of cc, gcc, clang is installed to compile"),
        ("aarch64", "m.o", "and none of aarch64-linux-gnu-gcc is installed to compile them; install one, or"),
        ("avx2", "m.ll", "m.ll: a plug-in has operators in C, which are no LLVM IR; use -o "),
    ],
)
def test_output_that_needs_a_compiler(
    target: str, output: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    without_compiler(monkeypatch)
    with pytest.raises(XonncError, match=message):
        xonnc.compile_artifact(model(CUM), tmp_path / output, target)
    assert not list(tmp_path.iterdir())


def test_a_session_without_a_compiler(monkeypatch: pytest.MonkeyPatch):
    without_compiler(monkeypatch)
    with pytest.raises(XonncError, match=r"or pip install 'xonnc\[link\]', or write C source \(-o model.c\)"):
        xonnc.compile(model(CUM), cache=False)


def test_a_compiler_that_cannot_be_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CC", "/nowhere/cc -m64")
    with pytest.raises(
        XonncError, match=r"^cc: cannot be run: No such file or directory; CC names the C comp"
    ):
        c_compiler.with_c_kernels(b"", "int x;")


@needs_compiler
def test_an_error_in_the_source():
    with pytest.raises(XonncError, match=r"fails on the C source of a plug-in: plugin.c:1:\d+: error: "):
        c_compiler.with_c_kernels(b"", "int x = ;")


HEAD = """
import numpy as np
from xonnc.plugin import Plugin, attribute, c_function, one, operator
plugin = Plugin("{name}")
@operator(plugin, domain="org.{name}", name="Do")
class Do:
    inputs = one("T")
    outputs = one("T")
"""
INFER = "    def infer(op): return op.inputs[0]\n"
SOURCE = "    c_source = c_function('do_it', 'static void do_it(void) {}')\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    c_source = 'void do_it(void) {}'\n", "c_source is 'void do_it(void) {}'; write c_source = c_f"),
        (
            "    c_source = c_function('do_it')\n",
            "c_function('do_it'): give the source as a text or as file=",
        ),
        ("    c_source = c_function('a-b', '')\n", "c_function('a-b'): the name must be an identifier in C"),
        (
            "    c_source = c_function('do_it', 'int x;')\n",
            "c_source: the source defines no function 'do_it'",
        ),
        (
            "    c_source = c_function('do_it', file='gone.c')\n",
            "c_source: gone.c: No such file or directory",
        ),
        (SOURCE, "c_source needs infer(op), which gives the shapes of the results"),
        (f"{SOURCE}{INFER}    attributes = 'auto'\n", "c_source needs declared attributes, not attributes ="),
        (
            f"{SOURCE}{INFER}    a = attribute(np.ndarray)\n",
            "c_source: attribute 'a' must have a value and be a number, a string or a list",
        ),
        (
            f"{SOURCE}{INFER}    a = attribute(int, default=None)\n",
            "c_source: attribute 'a' must have a value and be a number, a string or a list",
        ),
    ],
)
def test_errors_of_declarations(body: str, message: str, tmp_path: Path):
    path = tmp_path / "bad.py"
    path.write_text(HEAD.format(name="badc") + body)
    with pytest.raises(PluginError) as raised:
        load_file(path)
    assert message in str(raised.value)
    assert "badc" not in [plugin.name for plugin in registered()]


def test_types_that_c_does_not_take_run_on_the_host(tmp_path: Path):
    (tmp_path / "m.py").write_text(
        HEAD.format(name="narrow") + SOURCE + INFER + "    def reference(op, x): return x\n"
    )
    load_file(tmp_path / "m.py")
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21, "org.narrow": 1]>'
        "g (int4[2] x) => (int4[2] y) { y = org.narrow.Do (x) }"
    )
    session = xonnc.compile(model, cache=False)
    assert session.host_calls() == ["narrow.Do"]


def test_file_of_the_source(tmp_path: Path):
    (tmp_path / "do.c").write_text("static void do_it(void) {}")
    assert c_function("do_it", file=tmp_path / "do.c").read() == "static void do_it(void) {}"
    assert shutil.which("cc") is None or c_compiler.c_compiler() is not None
