"""`xonnc deploy`: programs built with the simulated runtime give the answers of `xonnc run`."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import xonnc
from xonnc.deployment import deploy
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.deployment.board_program import TEMPLATE
from xonnc.tools.digits import INPUT, read_images, read_model
from xonnc.tools.driver import main

Array = npt.NDArray[Any]

CXX, CC = shutil.which("c++"), shutil.which("cc")
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off"]

needs_compiler = pytest.mark.skipif(CXX is None or CC is None, reason="needs a C and a C++ compiler")

TWO_ENGINES = """<ir_version: 8, opset_import: ["": 17]>
g (float[1, 3, 8, 8] x) => (float[1, 5, 8, 8] y, float[1, 5] z)
<float[5, 3, 1, 1] w, float[5, 5, 1, 1] v, int64 axis = {2}> {
    a = Conv (x, w)  b = CumSum (a, axis)  y = Conv (b, v)  z = ReduceMean <axes = [2, 3], keepdims = 0> (b)
}"""

CONCATENATED = """<ir_version: 8, opset_import: ["": 17]>
g (float[1, 3, 8, 8] x) => (float[1, 5, 8, 8] y)
<float[16, 3, 3, 3] w, float[7, 16, 1, 1] u, float[5, 10, 1, 1] v, int64 axis = {2}> {
    a = Conv <pads = [1, 1, 1, 1]> (x, w)  b = Conv (a, u)  s = CumSum (x, axis)
    c = Concat <axis = 1> (s, b)  y = Conv (c, v)
}"""

HALF = """<ir_version: 8, opset_import: ["": 17]>
g (float16[1, 18, 5, 7] x, float[1, 2, 5, 7] other) => (float[1, 20, 5, 7] y, float[1, 2, 5, 7] doubled)
<float[18, 18, 1, 1] w> {
    f = Cast <to = 1> (x)  a = Conv (f, w)  s = Atan (a)  r = Relu (s)  doubled = Mul (other, other)
    y = Concat <axis = 1> (r, doubled)
}"""


def filled(text: str) -> onnx.ModelProto:
    """Return a model with random weights for the names that have a type but no value."""
    model = onnx.parser.parse_model(text)
    random = np.random.default_rng(1)
    for info in model.graph.value_info:
        shape = [size.dim_value for size in info.type.tensor_type.shape.dim]
        weights = (0.5 * random.standard_normal(shape)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, info.name))
    del model.graph.value_info[:]
    return model


def package(
    folder: Path, text: str, target: str, calibrates: bool, host: str | None = None
) -> tuple[Path, dict[str, Array]]:
    """Write the package of a model; return it with random inputs."""
    model, path = filled(text), folder / "model.xpkg"
    random = np.random.default_rng(2)
    feeds: dict[str, Array] = {}
    for port in model.graph.input:
        kind = port.type.tensor_type
        dtype = np.float16 if kind.elem_type == onnx.TensorProto.FLOAT16 else np.float32
        feeds[port.name] = random.standard_normal([size.dim_value for size in kind.shape.dim]).astype(dtype)
    xonnc.compile(model, target, calibrate=[feeds] if calibrates else None, host=host).save(path)
    return path, feeds


def build(folder: Path, cxx: str = "c++", cc: str = "cc", *flags: str) -> Path:
    """Build a program with the simulated runtime, without CMake."""
    objects: list[str] = []
    for source in (folder / "cubes.c", *(folder / "parts").glob("*.c")):
        objects.append(f"{source}.o")
        options = WARNINGS if source.name == "cubes.c" else ["-O1", "-ffp-contract=off"]
        subprocess.run([cc, "-std=c11", *options, "-c", str(source), "-o", objects[-1]], check=True)
    objects += map(str, (folder / "parts").glob("*[0-9].o"))
    defines = [f'-DXONNC_DATA="{folder / "data"}"', f'-DXONNC_PYTHON="{sys.executable}"']
    sources = [str(folder / name) for name in ("main.cpp", "model.cpp", "simulator/runtime.cpp")]
    includes = [f"-I{folder}", f"-I{folder / 'simulator'}"]
    program = folder / "program"
    command = [cxx, "-std=c++11", *WARNINGS, *flags, *defines, *includes, *sources, *objects, "-lm", "-o"]
    subprocess.run([*command, str(program)], check=True)
    return program


def outputs_of(program: Path, feeds: Mapping[str, Array], outputs: Mapping[str, Array]) -> dict[str, Array]:
    """Run a program on files; return its outputs with the shapes and types of `outputs`."""
    folder = program.parent
    arguments: list[str] = []
    for index, (name, array) in enumerate(feeds.items()):
        array.tofile(folder / f"i{index}.bin")
        arguments += ["--input", f"{name}={folder / f'i{index}.bin'}"]
    for index, name in enumerate(outputs):
        arguments += ["--output", f"{name}={folder / f'o{index}.bin'}"]
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {
        name: np.fromfile(folder / f"o{index}.bin", array.dtype).reshape(array.shape)
        for index, (name, array) in enumerate(outputs.items())
    }


@needs_compiler
@pytest.mark.parametrize(
    ("text", "target", "cpu"),
    [
        (TWO_ENGINES, "nv_small", "c"),
        (TWO_ENGINES, "nv_large", "cpu"),
        (CONCATENATED, "nv_small", "c"),
        (HALF, "nv_full", "c"),
    ],
    ids=["int8-source", "int8-object", "int8-integers-of-the-cpu", "fp16"],
)
def test_programs_give_the_answers_of_run(text: str, target: str, cpu: str, tmp_path: Path):
    path, feeds = package(tmp_path, text, target, target != "nv_full")
    deployment = deploy(path, tmp_path / "board", cpu=cpu)
    kinds = {type(step).__name__ for step in deployment.program.steps}
    assert kinds == {"LoadableStep", "CpuStep"}
    expected = xonnc.load_package(path).run(feeds)
    found = outputs_of(build(deployment.folder), feeds, expected)
    for name, array in expected.items():
        if cpu == "c" and target == "nv_full":
            # The C library's arc tangent is not that of the vectorised kernel.
            np.testing.assert_allclose(found[name], array, rtol=2e-3, atol=1e-3)
        else:
            assert np.array_equal(found[name], array), name


@needs_compiler
def test_a_camera_image_of_a_seven(tmp_path: Path):
    (tmp_path / "digits.onnx").write_bytes(read_model())
    images = read_images()
    samples, path = tmp_path / "samples.npy", tmp_path / "digits.xpkg"
    np.save(samples, images.calibration)
    options = ["--target", "nv_small", "--calibrate", str(samples), "--input-format", "R8"]
    assert (
        main(["compile", str(tmp_path / "digits.onnx"), "-o", str(path), *options, "--input-std", "255"]) == 0
    )
    deployment = deploy(path, tmp_path / "board", name="camera")
    assert deployment.program.values[INPUT].type == "uint8"
    image = images.first(7)
    expected = xonnc.load_package(path).run({INPUT: image})
    pixels = np.rint(image[0, 0] * 255).astype(np.uint8)
    found = outputs_of(build(deployment.folder), {INPUT: pixels}, expected)
    assert np.array_equal(found["scores"], expected["scores"])
    assert found["scores"].argmax() == 7


def test_images_of_two_planes_are_refused():
    """The compiler makes none; loadables of others may have them."""
    cube_of = import_module("xonnc.deployment").__dict__["_cube"]
    image = SimpleNamespace(planes=(1, 2))
    tensor = SimpleNamespace(shape=(1, 3, 8, 8), dtype=np.dtype(np.int8), pixel=image)
    with pytest.raises(
        xonnc.XonncError, match=r"^m: 'x': pixels in two planes; deploy takes formats of one plane$"
    ):
        cube_of("m: 'x'", tensor, SimpleNamespace(type="uint8", shape=(8, 24)), 192)


@needs_compiler
@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_the_readme_builds_it(tmp_path: Path):
    path, feeds = package(tmp_path, TWO_ENGINES, "nv_small", True)
    folder = tmp_path / "board"
    assert main(["deploy", str(path), "-o", str(folder), "--name", "net", "-q"]) == 0
    readme = (folder / "README.md").read_text()
    assert "| x | float32 | 1x3x8x8 |" in readme
    assert "cmake -S . -B build-host -DXONNC_SIMULATOR=ON && cmake --build build-host" in readme
    options = ["-DXONNC_SIMULATOR=ON", f"-DXONNC_PYTHON={sys.executable}"]
    subprocess.run(["cmake", "-S", ".", "-B", "build", *options], cwd=folder, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", "build"], cwd=folder, check=True, capture_output=True)
    program = folder / "build" / "net"
    expected = xonnc.load_package(path).run(feeds)
    assert np.array_equal(outputs_of(program, feeds, expected)["y"], expected["y"])
    for arguments, message in (
        (["--input"], "usage: "),
        ([], "input x is not given"),
        (["--input", f"x={folder / 'README.md'}"], "input x takes 768 (float32 1x3x8x8)"),
        (["--input", f"x={folder / 'absent'}"], "absent: no such file"),
        (["--data", str(folder)], "0.nvdla: no such file"),
    ):
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        assert done.returncode == (2 if arguments == ["--input"] else 1)
        assert message in done.stderr


@pytest.mark.skipif(
    shutil.which("aarch64-linux-gnu-g++") is None or shutil.which("qemu-aarch64") is None,
    reason="needs aarch64-linux-gnu-g++ and qemu-aarch64",
)
def test_a_program_for_aarch64(tmp_path: Path):
    path, feeds = package(tmp_path, TWO_ENGINES, "nv_small", True, "aarch64-linux-gnu")
    folder = deploy(path, tmp_path / "board").folder
    program = build(folder, "aarch64-linux-gnu-g++", "aarch64-linux-gnu-gcc", "-static")
    script = folder / "emulated"
    script.write_text(f'#!/bin/sh\nexec qemu-aarch64 "{program}" "$@"\n')
    script.chmod(0o755)
    expected = xonnc.load_package(path).run(feeds)
    found = outputs_of(script, feeds, expected)
    for name, array in expected.items():
        assert np.array_equal(found[name], array), name


class CCube(ctypes.Structure):
    """`cube` in `cubes.h`."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("images", "channels", "height", "width", "element", "value")),
        *((name, ctypes.c_uint32) for name in ("atom", "line_stride", "surface_stride")),
        *((name, ctypes.c_uint64) for name in ("image_stride", "offset", "bytes")),
        ("scale", ctypes.c_float),
        ("zero_point", ctypes.c_int32),
    ]


@pytest.fixture(scope="module")
def cubes(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if CC is None:
        pytest.skip("needs a C compiler")
    library = tmp_path_factory.mktemp("cubes") / "cubes.so"
    source = str(TEMPLATE / "cubes.c")
    subprocess.run([CC, "-std=c11", *WARNINGS, "-shared", "-fPIC", source, "-lm", "-o", library], check=True)
    return ctypes.CDLL(str(library))


def row(count: int, element: int, value: int, scale: float = 0, zero_point: int = 0) -> CCube:
    """A cube of one row of one channel."""
    size = 2 if element == 2 else 1
    atom = 8
    return CCube(
        1, 1, 1, count, element, value, atom * size, atom * size * count, 0, 0, 0, 0, scale, zero_point
    )


def packed(cubes: ctypes.CDLL, shape: CCube, values: Array, dtype: type[np.generic]) -> Array:
    """Return the first lane of a row that was packed."""
    memory = np.full((values.size, 8), -1, np.int8 if dtype is np.int8 else np.int16)
    source = np.ascontiguousarray(values)
    cubes.cube_pack(
        ctypes.byref(shape), source.ctypes.data_as(ctypes.c_void_p), memory.ctypes.data_as(ctypes.c_void_p)
    )
    assert not memory[:, 1:].any(), "lanes after the last channel are zeros"
    return np.ascontiguousarray(memory[:, 0]).view(dtype)


EDGES = np.array(
    [0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519, 65520, -1e9, 2**-24, 2**-25, 3e-8, 6.1e-5], "f"
)


def test_float16_rounds_as_numpy(cubes: ctypes.CDLL):
    random = np.random.default_rng(0).integers(0, 1 << 32, 50_000, dtype=np.uint32).view(np.float32)
    exact = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    finite = exact[np.isfinite(exact)]
    ties = (finite[:-1] + finite[1:]) / 2
    values = np.concatenate([EDGES, random, exact, ties]).astype(np.float32)
    found = packed(cubes, row(values.size, 2, 3), values, np.float16)
    with np.errstate(all="ignore"):
        expected = values.astype(np.float16)
    is_number = ~np.isnan(values)
    assert np.array_equal(found.view(np.uint16)[is_number], expected.view(np.uint16)[is_number])
    assert np.isnan(found[~is_number]).all()
    memory = np.zeros((1 << 16, 8), np.float16)
    memory[:, 0] = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    back, shape = np.empty(1 << 16, np.float32), row(1 << 16, 2, 3)
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (memory, back))
    cubes.cube_unpack(ctypes.byref(shape), *pointers)
    assert np.array_equal(back, memory[:, 0].astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("zero_point", [0, -7])
def test_quantization_is_that_of_the_simulator(cubes: ctypes.CDLL, zero_point: int):
    grid = QuantizationParameters(0.25, zero_point)
    values = np.concatenate([EDGES, np.arange(-320, 320) / 8]).astype(np.float32)
    found = packed(cubes, row(values.size, 0, 3, 0.25, zero_point), values, np.int8)
    with np.errstate(all="ignore"):
        assert np.array_equal(found, grid.quantize(values))


def test_what_cannot_be_deployed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, _ = package(tmp_path, TWO_ENGINES, "nv_small", True)
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").touch()
    (tmp_path / "model.onnx").write_bytes(read_model())
    dynamic = tmp_path / "dynamic.xpkg"
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[N, 2] x) => (float[N, 2] y) { y = Sin (x) }"""
    xonnc.compile(onnx.parser.parse_model(text), "nv_full").save(dynamic)
    words = tmp_path / "words.xpkg"
    text = """<ir_version: 8, opset_import: ["": 17]> g (string[2] x) => (string[2] y) { y = Identity (x) }"""
    xonnc.compile(onnx.parser.parse_model(text), "nv_full").save(words)
    for arguments, message in (
        ([str(tmp_path / "model.onnx")], "model.onnx: no package; 'xonnc compile MODEL --package' makes one"),
        ([str(path), "--cpu", "z80"], "no processor 'z80'; there are c, cpu, "),
        ([str(path), "-o", str(full)], "full: it exists already; choose another with --output"),
        ([str(path), "--name", "7"], "program '7': names are of letters, digits and _; give one with --name"),
        ([str(dynamic)], "value 'x': its shape is dynamic; fix the shapes of the model's inputs"),
        ([str(words)], "value 'x': no array in C has elements of type string"),
    ):
        assert main(["deploy", "-o", str(tmp_path / "board"), *arguments]) == 1
        assert message in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_dir()) == ["full"]
    assert [each.name for each in full.iterdir()] == ["file"]


def test_operators_without_native_code_are_told(tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[1, 3] x) => (float[1, 3] y) { y = Bernoulli (x) }"""
    path = tmp_path / "model.xpkg"
    xonnc.compile(onnx.parser.parse_model(text), "nv_full").save(path)
    with pytest.raises(xonnc.XonncError, match=r"parts/0\.onnx: .*every operator needs native code"):
        deploy(path, tmp_path / "board")


def test_values_share_memory(tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[1, 8, 8, 8] x) => (float[1, 8, 8, 8] y) <float[8, 8, 1, 1] w, int64 axis = {2}> {
        a = Conv (x, w)  b = CumSum (a, axis)  c = Conv (b, w)  d = CumSum (c, axis)  y = Conv (d, w)
    }"""
    path, _ = package(tmp_path, text, "nv_full", False)
    deployment = deploy(path, tmp_path / "board")
    sizes = [value.bytes for value in deployment.program.values.values()]
    assert len(sizes) == 6
    tables = (deployment.folder / "tables.inc").read_text()
    # The input lives to the end; beside it a step reads one and writes one.
    assert f"ARENA_BYTES = {3 * sizes[0]};" in tables


def test_the_files_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, _ = package(tmp_path, TWO_ENGINES, "nv_small", True)
    assert main(["deploy", str(path), "-o", str(tmp_path / "board"), "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert files.keys() >= {"main.cpp", "data/0.nvdla", "parts/part1.c", "CMakeLists.txt"}
    assert main(["deploy", str(path), "-o", str(tmp_path / "other")]) == 0
    assert "README.md says how to build it" in capsys.readouterr().out
