"""`xonnc optimize --c-api`: a C program that optimizes models, from memory and from files."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import xonnc.compat.onnxoptimizer as onnxoptimizer
from xonnc.compat.onnxoptimizer.c_api import build
from xonnc.formats.onnx.loaded_export import load_proto
from xonnc.tools.driver import main

CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="needs a C compiler")

HERE = Path(__file__).parent
CHAIN = """g (float[2, 3] x) => (float[2, 3] y) <float[3] w = {1, -2, 3}>
{a = Identity(x) b = Transpose<perm = [1, 0]>(a) c = Transpose<perm = [1, 0]>(b) y = Add(c, w)}"""
TO_ONE = ["eliminate_nop_transpose", "fuse_consecutive_transposes", "eliminate_identity", "eliminate_deadend"]

Run = Callable[..., subprocess.CompletedProcess[str]]


def parsed(graph: str = CHAIN) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{graph}')


def require_equal(found: onnx.ModelProto, expected: onnx.ModelProto) -> None:
    """Equal models, however their weights are stored."""
    for one, other in zip(found.graph.initializer, expected.graph.initializer, strict=True):
        assert (one.name, one.data_type, one.dims) == (other.name, other.data_type, other.dims)
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(one), onnx.numpy_helper.to_array(other))
    for model in (found, expected):
        del model.graph.initializer[:]
    assert found == expected


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("api") / "new" / "folder"
    assert main(["optimize", "--c-api", str(folder), "-q"]) == 0
    return folder / build.LIBRARY


def run_by(library: Path, name: str, *how: str) -> Run:
    """Build the program; return a function that runs it."""
    executable = library.parent / name
    source = str(HERE / "optimizer_program.c")
    flags = ["-Wall", "-Werror", "-pthread", f"-I{library.parent}"]
    subprocess.run([str(CC), *flags, source, "-o", str(executable), *how], check=True)

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        # Another folder and no variables: nothing but the library says where Python is.
        command = [str(executable), str(library), *map(str, arguments)]
        return subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="module")
def program(library: Path) -> Run:
    """A function that runs the program, linked with the library."""
    links = [f"-L{library.parent}", "-lonnx_optimizer_c_api", f"-Wl,-rpath,{library.parent}"]
    return run_by(library, "linked", *links)


@pytest.fixture(scope="module")
def opening_program(library: Path) -> Run:
    """A function that runs the program, which opens the library later."""
    return run_by(library, "opening", "-DOPENED_LATER", "-ldl")


def test_names(program: Run, opening_program: Run):
    done = program("all")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == onnxoptimizer.get_available_passes()
    # What follows differs in nothing but how the library was found.
    assert opening_program("default").stdout.split() == onnxoptimizer.get_fuse_and_elimination_passes()


@pytest.mark.parametrize("fixed", [False, True])
def test_a_model_in_memory(fixed: bool, program: Run, tmp_path: Path):
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(parsed().SerializeToString())
    done = program("bytes", source, target, str(int(fixed)), *TO_ONE)
    assert (done.returncode, done.stderr) == (0, "")
    optimized = onnx.ModelProto.FromString(target.read_bytes())
    require_equal(optimized, onnxoptimizer.optimize(parsed(), TO_ONE, fixed))
    # The pass that removes the composed Transpose runs first, so that one sweep leaves it.
    assert [node.op_type for node in optimized.graph.node] == ([] if fixed else ["Transpose"]) + ["Add"]


def test_files(program: Run, tmp_path: Path):
    weights = np.arange(4096, dtype=np.float32)
    model = parsed("g (float[4096] x) => (float[4096] y) {i = Identity(x) y = Add(i, w)}")
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    source, apart, joined = (tmp_path / name for name in ("ïn.onnx", "apart.onnx", "joined.onnx"))
    source.write_bytes(model.SerializeToString())
    expected = onnxoptimizer.optimize(model, ["eliminate_identity"])
    done = program("file", source, apart, "0", "weights.bin", "eliminate_identity")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "weights.bin").stat().st_size >= weights.nbytes > apart.stat().st_size
    assert load_proto(apart).graph.node == expected.graph.node
    # Weights that come from another file go into the model.
    assert program("file", apart, joined, "1", "", "nop").returncode == 0
    require_equal(onnx.ModelProto.FromString(joined.read_bytes()), expected)


def test_errors(program: Run, tmp_path: Path):
    source, target, bad = tmp_path / "in.onnx", tmp_path / "out.onnx", tmp_path / "bad.onnx"
    source.write_bytes(parsed().SerializeToString())
    bad.write_bytes(b"\xff\x00 no model")
    for given, passes, message in (
        (bad, ["nop"], "this is no ONNX file, or it is damaged"),
        (
            source,
            ["eliminate_identit"],
            "pass eliminate_identit is unknown; did you mean 'eliminate_identity'",
        ),
        (source, [], "no pass is given"),
    ):
        for arguments in (("bytes", given, target, "0"), ("file", given, target, "0", "")):
            done = program(*arguments, *passes)
            assert done.returncode == 1
            assert done.stderr.startswith("onnxoptimizer: ")
            assert message in done.stderr
            assert done.stderr.count("\n") == 1
            assert not target.exists()
    done = program("file", tmp_path / "missing.onnx", target, "0", "", "nop")
    assert (done.returncode, "missing.onnx" in done.stderr) == (1, True)
    done = program("file", source, tmp_path / "none" / "out.onnx", "0", "", "nop")
    assert (done.returncode, "out.onnx" in done.stderr) == (1, True)
    done = program("null")
    assert (done.returncode, done.stderr.count("is NULL")) == (0, 8)


def test_threads(program: Run, tmp_path: Path):
    source = tmp_path / "in.onnx"
    source.write_bytes(parsed().SerializeToString())
    assert program("threads", source, "", "1", *TO_ONE).returncode == 0


def test_in_a_running_python(library: Path):
    code = f"""
import ctypes
names = ctypes.CDLL({str(library)!r}).C_API_GetAvailablePasses
names.restype = ctypes.POINTER(ctypes.c_char_p)
print(names()[0].decode())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == onnxoptimizer.get_available_passes()[0]
    assert ctypes.CDLL(str(library)).C_API_OtimizeFromFile


def test_the_header_is_cxx_too(library: Path, tmp_path: Path):
    if (cxx := shutil.which("c++")) is None:
        pytest.skip("needs a C++ compiler")
    source = tmp_path / "user.cpp"
    source.write_text(
        '#include "onnxoptimizer_c_api.h"\nint main() { return C_API_GetAvailablePasses() == 0; }\n'
    )
    where = [f"-I{library.parent}", f"-L{library.parent}", f"-Wl,-rpath,{library.parent}"]
    subprocess.run(
        [cxx, str(source), *where, "-lonnx_optimizer_c_api", "-o", str(tmp_path / "user")], check=True
    )
    assert subprocess.run([str(tmp_path / "user")], env={}, check=False).returncode == 0


def no_compiler() -> None:
    return None


def failing_compiler() -> list[str]:
    return [sys.executable, "-c", "raise SystemExit('no space')"]


def missing_compiler() -> list[str]:
    return ["/missing/cc"]


@pytest.mark.parametrize(
    ("compiler", "message"),
    [
        (
            no_compiler,
            "none of cc, gcc, clang is installed to compile the library; install one, or pip install",
        ),
        (failing_compiler, "fails: no space"),
        (missing_compiler, "/missing/cc: cannot be run: No such file or directory; CC names the C compiler"),
    ],
)
def test_compilers(
    compiler: object,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(build, "c_compiler", compiler)
    assert main(["optimize", "--c-api", str(tmp_path / "api")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "api").exists()


def no_headers(name: str) -> str:
    return f"/missing/{name}"


def test_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "file").touch()
    assert main(["optimize", "--c-api", str(tmp_path / "file")]) == 1
    assert "File exists" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["optimize", "model.onnx", "--c-api", str(tmp_path)])
    assert "--c-api DIR takes no model" in capsys.readouterr().err
    monkeypatch.setattr(build, "_candidates", lambda: iter([tmp_path / "libpython3.so"]))
    assert main(["optimize", "--c-api", str(tmp_path)]) == 1
    assert "this Python has no shared library (libpython)" in capsys.readouterr().err
    monkeypatch.setattr(sysconfig, "get_path", no_headers)
    assert main(["optimize", "--c-api", str(tmp_path)]) == 1
    assert "the headers of Python are missing" in capsys.readouterr().err


def test_a_python_that_is_gone(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    build.build(tmp_path)
    (tmp_path / "user.c").write_text(
        '#include "onnxoptimizer_c_api.h"\nint main() { return C_API_GetAvailablePasses() != 0; }\n'
    )
    where = [f"-I{tmp_path}", f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-lonnx_optimizer_c_api"]
    subprocess.run([str(CC), str(tmp_path / "user.c"), *where, "-o", str(tmp_path / "user")], check=True)
    done = subprocess.run([str(tmp_path / "user")], env={}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "onnxoptimizer: " in done.stderr
