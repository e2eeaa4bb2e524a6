"""3x3 convolutions with fewer multiplications, against the same convolutions in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest
from native_nodes import Reference, is_here

from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.nn import convolution
from xonnc.lowering.onnx_to_krnl.nn.winograd import WinogradOperands
from xonnc.lowering.onnx_to_krnl.planning import select_winograd_onnx
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import ConvFusion
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session
from xonnc.targets.cpu import load_cpu
from xonnc.tools.driver import main
from xonnc.tools.opt import run_opt

Array = npt.NDArray[Any]

RANDOM = np.random.default_rng(23)
PASS = "select-winograd-onnx"


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def model_of(
    given: Sequence[int | str],
    filters: int,
    attributes: Mapping[str, Any] | None = None,
    last: Sequence[onnx.NodeProto] = (),
    constants: Mapping[str, Array] | None = None,
    has_bias: bool = True,
) -> onnx.ModelProto:
    """A model of a 3x3 convolution of `x`, and ops after it, that writes `y`."""
    channels = given[1]
    assert isinstance(channels, int)
    kind, info = onnx.TensorProto.FLOAT, onnx.helper.make_tensor_value_info
    names = ["x", "w", "b"] if has_bias else ["x", "w"]
    conv = onnx.helper.make_node("Conv", names, ["z" if last else "y"], name="conv", **(attributes or {}))
    weights = {"w": floats(filters, channels, 3, 3) / np.float32(3 * channels**0.5), **(constants or {})}
    if has_bias:
        weights["b"] = floats(filters)
    graph = onnx.helper.make_graph(
        [conv, *last],
        "g",
        [info("x", kind, given)],
        [info("y", kind, [None] * 4)],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)


def session_of(model: onnx.ModelProto, threads: int = 1, processor: str = "cpu") -> Session:
    return compile_native(model, processor, cache=False, threads=threads, enable_pass=[PASS])


def exact(model: onnx.ModelProto, x: Array) -> Array:
    """Return what the reference evaluator computes in float64."""
    double = onnx.ModelProto()
    double.CopyFrom(model)
    for constant in double.graph.initializer:
        array = onnx.numpy_helper.to_array(constant)
        if array.dtype == np.float32:
            constant.CopyFrom(onnx.numpy_helper.from_array(array.astype(np.float64), constant.name))
    for value in (*double.graph.input, *double.graph.output):
        value.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(double)
    return np.asarray(reference.run(None, {"x": x.astype(np.float64)})[0])


def check(session: Session, model: onnx.ModelProto, x: Array) -> Array:
    """Compare with float64; return the result."""
    found, expected = np.asarray(session.run(None, {"x": x})[0]), exact(model, x)
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=1.0))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=5e-6 * scale)
    return found


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tiles of the kernels that are made."""
    tiles: list[int] = []
    lower = convolution.lower_winograd

    def recorded(fusion: ConvFusion, tile: int, operands: WinogradOperands, builder: LoweringBuilder) -> None:
        tiles.append(tile)
        lower(fusion, tile, operands, builder)

    monkeypatch.setattr(convolution, "lower_winograd", recorded)
    return tiles


def force(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pass choose a tile for each convolution that has a kernel."""

    def chosen(sizes: tuple[int, int, int, int, int], _: object) -> int | None:
        return tile if min(sizes[3:]) >= tile else None

    monkeypatch.setattr(select_winograd_onnx, "fastest_tile", chosen)


CONVOLUTIONS: Mapping[str, tuple[tuple[int, ...], int, Mapping[str, Any]]] = {
    "whole tiles": ((1, 32, 10, 10), 32, {}),
    "pads": ((1, 16, 8, 12), 48, {"pads": [1] * 4}),
    "a rest of rows and columns": ((1, 32, 9, 11), 16, {"pads": [1] * 4}),
    "as few pixels as a tile": ((1, 16, 6, 6), 16, {}),
    "unequal pads": ((2, 16, 7, 13), 16, {"pads": [0, 2, 1, 0]}),
    "same": ((1, 16, 11, 10), 16, {"auto_pad": "SAME_UPPER"}),
    "channels of results beyond whole vectors": ((1, 48, 15, 14), 40, {"pads": [1] * 4}),
    "several strips": ((1, 64, 56, 60), 64, {"pads": [1] * 4}),
    "weights beyond L2": ((1, 256, 12, 14), 192, {"pads": [1] * 4}),
    "several images": ((3, 16, 13, 8), 24, {"pads": [1] * 4}),
    "a strip of several images": ((5, 16, 5, 7), 16, {"pads": [1] * 4}),
    "several images with weights beyond L2": ((4, 256, 6, 7), 192, {"pads": [1] * 4}),
}


@pytest.mark.covering(2)
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(
    name: str, tile: int, threads: int, lowered: list[int], monkeypatch: pytest.MonkeyPatch
):
    force(tile, monkeypatch)
    shape, filters, attributes = CONVOLUTIONS[name]
    model = model_of(shape, filters, attributes)
    check(session_of(model, threads), model, floats(*shape))
    assert lowered == [tile]


MAKE = onnx.helper.make_node
FUSED: Mapping[str, tuple[Sequence[onnx.NodeProto], Mapping[str, Array]]] = {
    "relu": ([MAKE("Relu", ["z"], ["y"])], {}),
    "clip": (
        [MAKE("Clip", ["z", "low", "high"], ["y"])],
        {"low": np.array(-0.5, np.float32), "high": np.array(0.75, np.float32)},
    ),
    "residual": ([MAKE("Add", ["z", "x"], ["s"]), MAKE("Relu", ["s"], ["y"])], {}),
    "hard swish": ([MAKE("HardSwish", ["z"], ["y"])], {}),
    "leaky relu": ([MAKE("LeakyRelu", ["z"], ["y"], alpha=0.2)], {}),
    "a second convolution": ([MAKE("Conv", ["z", "v"], ["y"], pads=[1] * 4)], {"v": floats(16, 32, 3, 3)}),
    "a join of channels": (
        [
            MAKE("Relu", ["z"], ["r"]),
            MAKE("Conv", ["r", "v"], ["c"]),
            MAKE("Concat", ["r", "c"], ["y"], axis=1),
        ],
        {"v": floats(16, 32, 1, 1)},
    ),
}


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("name", FUSED)
def test_what_is_fused(name: str, tile: int, lowered: list[int], monkeypatch: pytest.MonkeyPatch):
    force(tile, monkeypatch)
    last, constants = FUSED[name]
    model = model_of((1, 32, 11, 13), 32, {"pads": [1] * 4}, last, constants)
    check(session_of(model, 2), model, floats(1, 32, 11, 13))
    assert lowered == [tile] * (2 if name == "a second convolution" else 1)


@pytest.mark.parametrize("count", [1, 3])
def test_a_dynamic_number_of_images(count: int, lowered: list[int], monkeypatch: pytest.MonkeyPatch):
    force(4, monkeypatch)
    model = model_of(("n", 16, 14, 9), 16, {"pads": [1] * 4}, [MAKE("Relu", ["z"], ["y"])])
    session = session_of(model, 2)
    for images in (count, 1, 2 * count):
        check(session, model, floats(images, 16, 14, 9))
    assert set(lowered) == {4}


def test_no_images(monkeypatch: pytest.MonkeyPatch):
    force(4, monkeypatch)
    (found,) = session_of(model_of(("n", 16, 8, 8), 16, has_bias=False)).run(None, {"x": floats(0, 16, 8, 8)})
    assert np.asarray(found).shape == (0, 16, 6, 6)


@pytest.mark.skipif(not is_here("avx2"), reason="no AVX2 here")
@pytest.mark.parametrize("tile", [2, 4])
def test_few_registers(tile: int, monkeypatch: pytest.MonkeyPatch):
    force(tile, monkeypatch)
    model = model_of((1, 24, 13, 10), 24, {"pads": [1] * 4})
    check(session_of(model, processor="avx2"), model, floats(1, 24, 13, 10))


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_reach_only_their_tiles(special: float, monkeypatch: pytest.MonkeyPatch):
    force(4, monkeypatch)
    model = model_of((1, 16, 16, 16), 16, {"pads": [1] * 4})
    session, x = session_of(model), floats(1, 16, 16, 16)
    plain = np.asarray(session.run(None, {"x": x})[0])
    x[0, 3, 6, 9] = special
    found = np.asarray(session.run(None, {"x": x})[0])
    assert not np.isfinite(found[:, :, 5:8, 8:11]).any()
    # The tiles of rows 4 to 7 and columns 8 to 11 read it, and no others.
    np.testing.assert_array_equal(found[:, :, :4], plain[:, :, :4])
    np.testing.assert_array_equal(found[:, :, 8:], plain[:, :, 8:])
    np.testing.assert_array_equal(found[:, :, :, 12:], plain[:, :, :, 12:])


def test_large_and_small_pixels():
    """What a large pixel adds to results of its tile is in the units of its rounding."""
    model = model_of((1, 64, 40, 40), 64, {"pads": [1] * 4})
    x = floats(1, 64, 40, 40) * np.float32(1e30)
    check(session_of(model), model, x)
    check(session_of(model), model, x * np.float32(1e-36))


@pytest.mark.parametrize(("shape", "filters"), [((2, 64, 29, 31), 64), ((1, 256, 12, 14), 192)], ids=str)
def test_equal_runs_with_any_number_of_threads(shape: tuple[int, ...], filters: int):
    """Threads divide strips of tiles among them, or weights that L2 does not hold."""
    model, x = model_of(shape, filters, {"pads": [1] * 4}), floats(*shape)
    first, *others = (
        np.asarray(session_of(model, threads).run(None, {"x": x})[0]) for threads in (1, 2, 3, 8)
    )
    for other in others:
        np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize(
    ("sizes", "tile"),
    [
        ((64, 64, 1, 56, 56), 4),
        ((512, 512, 1, 7, 7), 2),
        # Weights are read once for eight images.
        ((512, 512, 8, 7, 7), 4),
        ((256, 256, 1, 3, 3), None),
        ((64, 64, 1, 1, 9), None),
    ],
    ids=str,
)
def test_the_fastest_tile(sizes: tuple[int, int, int, int, int], tile: int | None):
    assert select_winograd_onnx.fastest_tile(sizes, load_cpu("avx512")) == tile


@pytest.mark.parametrize("output", ["m.ll", "m.c"])
def test_the_command_says_what_it_does(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(model_of((1, 64, 30, 30), 64).SerializeToString())
    assert main(["compile", "m.onnx", "-o", output, "--target", "avx512", "--allow-winograd"]) == 0
    assert "winograd 1 convolution with fewer multiplications" in " ".join(capsys.readouterr().out.split())
    assert "winograd" in Path(output).read_text()


def test_c_source(tmp_path: Path):
    path = tmp_path / "m.onnx"
    path.write_bytes(model_of((1, 32, 13, 10), 40, {"pads": [1] * 4}).SerializeToString())
    source = str(tmp_path / "m.c")
    assert main(["compile", str(path), "-o", source, "--allow-winograd", "-q"]) == 0
    assert "winograd" in Path(source).read_text()
    assert main(["verify", str(path), source, "-q"]) == 0


def test_the_command_says_that_none_would_gain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(model_of((1, 3, 30, 30), 16).SerializeToString())
    assert main(["compile", "m.onnx", "-o", "m.ll", "--allow-winograd"]) == 0
    assert "winograd none would gain" in " ".join(capsys.readouterr().out.split())


def test_it_is_for_native_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(model_of((1, 16, 8, 8), 16).SerializeToString())
    assert main(["compile", "m.onnx", "--target", "nv_full", "--allow-winograd"]) == 1
    assert "--allow-winograd is for native code" in capsys.readouterr().err


def test_every_stage_becomes_the_same_code(tmp_path: Path):
    """After the pass, the IR says which convolutions are meant; before it, the option does."""
    path, folder = tmp_path / "m.onnx", tmp_path / "dump"
    path.write_bytes(model_of((1, 32, 16, 16), 32).SerializeToString())
    output = ["-o", str(tmp_path / "m.ll"), "--dump", str(folder), "-q"]
    assert main(["compile", str(path), "--target", "avx2", "--allow-winograd", *output]) == 0
    dumps = sorted(folder.iterdir())
    expected = run_opt([str(dumps[-1])])[1]
    assert "@winograd" in expected
    seen: set[tuple[str, str]] = set()
    for dump in dumps[:-1]:
        is_before = dump.name < "05"
        options = f"processor=avx2{' enable-pass=select-winograd-onnx' if is_before else ''}"
        if (options, dump.read_text()) not in seen:
            assert run_opt([str(dump), f"--cpu-pipeline={options}"])[1] == expected, dump.name
        # A stage that changed nothing left the same text.
        seen.add((options, dump.read_text()))
