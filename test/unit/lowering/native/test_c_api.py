"""What compiled models export: real functions under names of their own, and nothing else."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest

from xonnc import artifacts
from xonnc.artifacts import compile_artifact, prefix_of
from xonnc.errors import XonncError
from xonnc.lowering.native.c_api import IR
from xonnc.native import compile_native
from xonnc.tools.native_api import source_digest

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "native"

Floats = npt.NDArray[np.float32]


def model_of(body: str, factor: float, sizes: str = "2, 4") -> onnx.ModelProto:
    """Two models of this kind have kernels of the same names, and constants of their own."""
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g (float[{sizes}] x) => (float[{sizes}] y)'
        f" <float[4] w = {{{factor}, {factor}, {factor}, {factor}}}> {{ {body} }}"
    )


def first(sizes: str = "2, 4") -> onnx.ModelProto:
    return model_of("m = Mul(x, w) y = Tanh(m)", 0.5, sizes)


def second(sizes: str = "2, 4") -> onnx.ModelProto:
    return model_of("m = Add(x, w) y = Sigmoid(m)", 3.0, sizes)


X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)

TWO = """
#include <stdio.h>
#include "one.h"
#include "two.h"

#define RUN(name) { \\
    name##_model *m; \\
    if (name##_create(&m, NULL) || name##_set_shape(m, 0, shape, 2) || \\
        name##_set_input(m, 0, x, sizeof x) || name##_run(m)) return 1; \\
    fwrite(name##_get_output(m, 0), 1, name##_get_output_bytes(m, 0), stdout); \\
    name##_destroy(m); }

int main(void)
{
    const int64_t shape[] = {2, 4};
    float x[8];
    if (fread(x, 1, sizeof x, stdin) != sizeof x) return 2;
    RUN(one) RUN(two) RUN(one)
    return 0;
}
"""


@pytest.mark.parametrize(
    ("suffixes", "sizes"),
    [
        (("so", "so"), "2, 4"),
        (("o", "o"), "2, 4"),
        (("c", "c"), "2, 4"),
        (("so", "o"), "n, 4"),
        (("so", "c"), "n, 4"),
        (("o", "c"), "n, 4"),
    ],
)
def test_two_models_are_one_program(tmp_path: Path, suffixes: tuple[str, str], sizes: str) -> None:
    models = {"one": first(sizes), "two": second(sizes)}
    files = [f"./{name}.{suffix}" for name, suffix in zip(models, suffixes, strict=True)]
    for model, file in zip(models.values(), files, strict=True):
        compile_artifact(model, tmp_path / file)
    (tmp_path / "main.c").write_text(TWO)
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "main.c", *files, "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    run = subprocess.run(["./main"], cwd=tmp_path, input=X.tobytes(), capture_output=True, check=True)
    results = [np.asarray(compile_native(model).run(None, {"x": X})[0]) for model in models.values()]
    expected = np.stack([*results, results[0]])
    np.testing.assert_allclose(np.frombuffer(run.stdout, np.float32).reshape(3, 2, 4), expected, rtol=1e-5)


@pytest.mark.parametrize("suffix", ["so", "o", "c"])
def test_nothing_but_the_interface_is_seen(tmp_path: Path, suffix: str) -> None:
    compile_artifact(first(), tmp_path / f"net.{suffix}")
    file = f"net.{suffix}"
    if suffix == "c":
        subprocess.run(["cc", "-c", "net.c"], cwd=tmp_path, check=True)
        file = "net.o"
    options = ["-D"] if suffix == "so" else []
    command = ["nm", "--defined-only", "--extern-only", "--format=posix", *options, file]
    listed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    header = (tmp_path / "net.h").read_text()
    names = [line.split()[0] for line in listed.splitlines()]
    assert len(names) == 25
    assert all(name.startswith("net_") and f"{name}(" in header for name in names)


def test_all_kinds_of_files_share_a_header_and_no_weights(tmp_path: Path) -> None:
    found: dict[str, bytes] = {}
    for suffix in ("c", "ll", "so", "o"):
        artifact = compile_artifact(first(), tmp_path / f"net.{suffix}")
        for path in artifact.files:
            held = path.read_bytes()
            assert found.setdefault(path.name, held) == held
    assert set(found) == {"net.c", "net.weight", "net.ll", "net.ll.weight", "net.so", "net.o", "net.h"}


@pytest.mark.parametrize("suffix", ["so", "c"])
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    (tmp_path / "net.h").symlink_to("/dev/full")
    (tmp_path / f"net.{suffix}").write_bytes(b"old")
    with pytest.raises(XonncError, match=r"net\.h: cannot be written: No space left on device"):
        compile_artifact(first(), tmp_path / f"net.{suffix}")
    assert {path.name for path in tmp_path.iterdir()} == {"net.h", f"net.{suffix}"}
    assert (tmp_path / f"net.{suffix}").read_bytes() == b"old"


def test_a_disk_too_full_for_files_in_between_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(artifacts, "object_code", fail)
    with pytest.raises(XonncError, match=r"net\.so: cannot be written: No space left on device"):
        compile_artifact(first(), tmp_path / "net.so")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("net.so", "net"),
        ("ResNet-50 v1.5.so", "ResNet_50_v1_5"),
        ("3d.c", "model_3d"),
        ("größe.o", "gr__e"),
        ("pthread.so", "model_pthread"),
    ],
)
def test_names_come_from_the_file(name: str, prefix: str) -> None:
    assert prefix_of(Path(name)) == prefix


def test_names_of_the_c_library_are_refused(tmp_path: Path) -> None:
    with pytest.raises(XonncError, match="pthread_create or pthread_destroy is a function of the C library"):
        compile_artifact(first(), tmp_path / "net.so", prefix="pthread")


def test_the_ir_of_the_interface_is_that_of_its_source() -> None:
    first_line = IR.read_text().splitlines()[0]
    assert first_line == f"; native_api.c, {source_digest()}", "python -m xonnc.tools.native_api"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("library")
    compile_artifact(first("n, 4"), folder / "net.so")
    found = ctypes.CDLL(str(folder / "net.so"))
    found.net_message.restype = ctypes.c_char_p
    found.net_input_name.restype = ctypes.c_char_p
    found.net_output_type.restype = ctypes.c_char_p
    found.net_input_shape.restype = ctypes.POINTER(ctypes.c_int64)
    found.net_get_output_shape.restype = ctypes.POINTER(ctypes.c_int64)
    found.net_get_output.restype = ctypes.POINTER(ctypes.c_float)
    return found


def test_a_model_is_described(library: ctypes.CDLL) -> None:
    assert (library.net_input_count(), library.net_output_count()) == (1, 1)
    assert (library.net_input_name(0), library.net_output_type(0)) == (b"x", b"float32")
    assert library.net_input_shape(0)[:2] == [-1, 4]
    assert (library.net_input_rank(0), library.net_input_element_bytes(0), library.net_input_bytes(0)) == (
        2,
        4,
        0,
    )
    for number in (-1, 1):
        assert library.net_input_name(number) is None
        assert not library.net_input_shape(number)
        assert library.net_input_rank(number) == -1
    assert library.net_message(0) == b"success"
    for code in (-1, 1000):
        assert library.net_message(code) == b"no code of this model"


def said(library: ctypes.CDLL, code: int) -> bytes:
    found: bytes = library.net_message(code)
    return found


def test_every_mistake_has_a_code(library: ctypes.CDLL) -> None:
    model = ctypes.c_void_p()
    shape, data = (ctypes.c_int64 * 2)(2, 4), (ctypes.c_float * 8)()
    size = ctypes.c_uint64
    assert said(library, library.net_create(None, None)) == b"there is no model"
    assert said(library, library.net_run(None)) == b"there is no model"
    assert library.net_create(ctypes.byref(model), b"/nowhere/net.weight")
    assert not model
    assert library.net_create(ctypes.byref(model), None) == 0
    wrong = {
        b"no such input": library.net_set_input(model, 1, data, size(32)),
        b"no such output": library.net_set_output(model, 1, data, size(32)),
        b"the shape of an input is not set": library.net_set_input(model, 0, data, size(32)),
        b"an input of another shape": library.net_set_shape(model, 0, shape, 1),
    }
    assert {text: said(library, code) for text, code in wrong.items()} == {text: text for text in wrong}
    assert library.net_set_shape(model, 0, shape, 2) == 0
    assert said(library, library.net_run(model)) == b"an input is not set"
    assert said(library, library.net_set_input(model, 0, data, size(31))) == b"an array of another size"
    assert said(library, library.net_set_input(model, 0, None, size(32))) == b"an array of another size"
    assert library.net_set_input(model, 0, data, size(32)) == 0
    assert said(library, library.net_set_output(model, 0, data, size(4))) == b"an array of another size"
    assert library.net_run(model) == 0
    assert library.net_get_output_shape(model, 0)[:2] == [2, 4]
    assert library.net_get_output(model, 0)[:8] == [0.0] * 8
    library.net_destroy(model)
    library.net_destroy(None)


def test_weights_in_memory(tmp_path: Path) -> None:
    compile_artifact(first(), tmp_path / "net.ll")
    compile_artifact(first(), tmp_path / "net.so")
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    library.net_message.restype = ctypes.c_char_p
    held = (tmp_path / "net.ll.weight").read_bytes()
    memory = np.zeros(len(held) + 128, np.uint8)
    start = -memory.ctypes.data % 64
    memory[start : start + len(held)] = np.frombuffer(held, np.uint8)
    model, at, size = (
        ctypes.c_void_p(),
        ctypes.c_void_p(memory.ctypes.data + start),
        ctypes.c_uint64(len(held)),
    )
    assert library.net_create_from(ctypes.byref(model), at, size) == 0
    library.net_destroy(model)
    short = library.net_create_from(ctypes.byref(model), at, ctypes.c_uint64(len(held) - 1))
    assert said(library, short) == b"the weights are cut short"
    memory[start] = 0
    assert said(library, library.net_create_from(ctypes.byref(model), at, size)).startswith(
        b"the weights are not"
    )
    assert said(library, library.net_create_from(ctypes.byref(model), None, size)).startswith(
        b"the weights are not"
    )


def example_model(folder: Path) -> Floats:
    """The model that the examples run; what it gives for an input of 0, 1, 2, …"""
    compile_artifact(first("n, 4"), folder / "model.so")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    return np.asarray(compile_native(first("n, 4")).run(None, {"x": x})[0], np.float32)


def test_the_example_in_c(tmp_path: Path) -> None:
    expected = example_model(tmp_path)
    shutil.copy(EXAMPLES / "run.c", tmp_path)
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "run.c", "./model.so", "-o", "run"]
    subprocess.run(command, cwd=tmp_path, check=True)
    run = subprocess.run(["./run", "3"], cwd=tmp_path, capture_output=True, text=True, check=True)
    name, *lines = run.stdout.splitlines()
    assert name == "y float32 3x4"
    np.testing.assert_allclose([float(line) for line in lines], expected.ravel(), rtol=1e-5)


def test_the_example_in_python(tmp_path: Path) -> None:
    expected = example_model(tmp_path)
    command = [sys.executable, str(EXAMPLES / "run.py"), "model.so", "model", "3"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    name, *lines = run.stdout.splitlines()
    assert name == "y float32 3x4"
    np.testing.assert_allclose([float(line) for line in lines], expected.ravel(), rtol=1e-5)
