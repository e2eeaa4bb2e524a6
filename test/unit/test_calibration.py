"""Networks of floats rounded to 8 bits by the ranges that samples show, from data to the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper, parser

from xonnc.calibration import calibrate_module, input_shapes, open_model, read_samples
from xonnc.errors import XonncError
from xonnc.executors.local_processes import LocalProcesses
from xonnc.formats.nvdla.calibration import Range, Ranges, read_calibration, write_calibration
from xonnc.runtime.calibration import METHODS, calibrate
from xonnc.runtime.reference import ReferenceModel
from xonnc.simplifier import simplify
from xonnc.tools.driver import main

SHAPE = (1, 3, 12, 12)

NETWORK = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 3, 12, 12] x) => (float[1, 7] y) {
      [first] a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
      [bend] b = Relu (a)
      [shrink] c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
      [left] d = Conv <pads = [1, 1, 1, 1]> (c, w2)
      [right] e = Conv (c, w3)
      [meet] f = Add (d, e)
      [bend2] g = Relu (f)
      [wide] h = Concat <axis = 1> (g, c)
      [mean] i = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1> (h)
      [all] j = GlobalAveragePool (i)
      [flat] k = Flatten (j)
      [last] y = Gemm (k, w4, b4)
    }
"""
WEIGHTS = {
    "w1": (8, 3, 3, 3),
    "b1": (8,),
    "w2": (16, 8, 3, 3),
    "w3": (16, 8, 1, 1),
    "w4": (24, 7),
    "b4": (7,),
}


@pytest.fixture
def network(tmp_path: Path) -> Path:
    model = parser.parse_model(NETWORK)
    generator = np.random.default_rng(0)
    for name, shape in WEIGHTS.items():
        scale = np.sqrt(np.prod(shape[1:])) if len(shape) == 4 else 2.0
        array = (generator.standard_normal(shape) / scale).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    path = tmp_path / "network.onnx"
    path.write_bytes(model.SerializeToString())
    np.save(tmp_path / "samples.npy", generator.standard_normal((20, *SHAPE[1:])).astype(np.float32))
    np.save(tmp_path / "image.npy", generator.standard_normal(SHAPE).astype(np.float32))
    return path


def compiled(network: Path, *arguments: str) -> Path:
    output = network.with_suffix(".nvdla")
    flags = ["--target", "nv_small", "-o", str(output), "-q"]
    assert main(["compile", str(network), *flags, *arguments]) == 0
    return output


def simulated(loadable: Path) -> np.ndarray[Any, np.dtype[np.float32]]:
    image, scores = loadable.parent / "image.npy", loadable.parent / "scores.npy"
    flags = ["--target", "nv_small", "--input", str(image), "--output", str(scores), "-q"]
    assert main(["simulate", str(loadable), *flags]) == 0
    return np.load(scores)


@pytest.mark.parametrize("method", METHODS)
def test_from_floats_to_nv_small(method: str, network: Path):
    flags = ["--calibrate", str(network.parent / "samples.npy"), "--calibration-method", method]
    found = simulated(compiled(network, *flags)).reshape(-1)
    (expected,) = ReferenceModel(network).run({"x": np.load(network.parent / "image.npy")})
    expected = expected.reshape(-1)
    assert found.dtype == np.float32
    assert found @ expected / np.linalg.norm(found) / np.linalg.norm(expected) > 0.995
    assert np.abs(found - expected).max() < 0.1 * np.abs(expected).max()


def test_a_saved_table_compiles_the_same(network: Path):
    table = network.parent / "table.json"
    samples = network.parent / "samples.npy"
    first = compiled(network, "--calibrate", str(samples), "--save-calib", str(table)).read_bytes()
    assert set(json.loads(table.read_text())) >= {"x", "a", "b", "d", "y"}
    assert compiled(network, "--calib", str(table)).read_bytes() == first


def test_a_table_of_other_targets_is_refused(network: Path, capsys: pytest.CaptureFixture[str]):
    """The SDP of nv_large computes an activation of sums that nv_small rounds first."""
    model = onnx.ModelProto.FromString(network.read_bytes())
    bend = next(node for node in model.graph.node if node.name == "bend")
    bend.CopyFrom(onnx.helper.make_node("Sigmoid", bend.input, bend.output, "bend"))
    network.write_bytes(model.SerializeToString())
    table, samples = network.parent / "table.json", network.parent / "samples.npy"
    command = ["compile", str(network), "-o", str(network.with_suffix(".nvdla")), "-q"]
    measured = ["--calibrate", str(samples), "--save-calib", str(table)]
    assert main([*command, "--target", "nv_large", *measured]) == 0
    assert main([*command, "--target", "nv_full", "--calib", str(table)]) == 0
    capsys.readouterr()
    for others in ([*command, "--target", "nv_small"], ["explain", str(network), "--target", "nv_small"]):
        assert main([*others, "--calib", str(table)]) == 1
        assert capsys.readouterr().err.endswith(
            ": the calibration table has bias corrections for targets that round a convolution to 8 bits "
            "after its activation, nv_small does before it; calibrate for nv_small\n"
        )
    assert main([*command, "--target", "nv_small", *measured]) == 0
    assert main([*command, "--target", "nv_small_256", "--calib", str(table)]) == 0
    assert main([*command, "--target", "nv_large", "--calib", str(table)]) == 1
    assert capsys.readouterr().err.endswith("does after it; calibrate for nv_large\n")


def test_a_table_without_such_activations_is_for_all_targets(network: Path):
    table, samples = network.parent / "table.json", network.parent / "samples.npy"
    command = ["compile", str(network), "-o", str(network.with_suffix(".nvdla")), "-q"]
    measured = ["--calibrate", str(samples), "--save-calib", str(table)]
    assert main([*command, "--target", "nv_large", *measured]) == 0
    assert "corrections" in table.read_text()
    assert main([*command, "--target", "nv_small", "--calib", str(table)]) == 0


def test_values_without_a_range_are_named(network: Path, capsys: pytest.CaptureFixture[str]):
    table = network.parent / "table.json"
    table.write_text('{"x": {"scale": 0.02}, "bend": {"min": 0, "max": 4}}')
    assert main(["compile", str(network), "--target", "nv_small", "--calib", str(table)]) == 1
    error = capsys.readouterr().err
    assert "no range in the calibration table for 'd', 'h', 'i', 'j', 'y'" in error
    assert error.endswith("; calibrate with this model\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no calibration table: "),
        ("[1]", "no calibration table: it maps names of values to scales"),
        ('{"x": 3}', "'x': 3; it is an object of scale, or min and max"),
        ('{"x": {"scale": "a"}}', "it is an object of scale, or min and max"),
        ('{"x": {"scale": 0}}', "'x': from 0 to 0 is no range"),
        ('{"x": {"min": 0, "max": 1, "means": 3}}', "it is an object of scale, or min and max"),
        ('{"x": {"min": 0, "max": 1, "means": [1e999]}}', "'x': means must be finite numbers"),
        (
            '{"x": {"min": 0, "max": 1, "lows": [0, 1], "highs": [1]}}',
            "'x': 2 lows, 1 highs; there is one for each channel",
        ),
        (
            '{"x": {"min": 0, "max": 1, "lows": [0], "highs": [1], "means": [0, 1]}}',
            "2 means, 1 lows, 1 highs;",
        ),
        (
            '{"x": {"min": 0, "max": 1, "lows": [0, 1]}}',
            "'x': lows and highs must have one entry per channel",
        ),
        (
            '{"x": {"min": 0, "max": 1, "images": -1}}',
            "'x': images is -1; it is a number of images, 0 or more",
        ),
        ('{"x": {"min": 0, "max": 1, "images": true}}', "'x': images is True; it is a number of images"),
        (
            '{"x": {"min": 0, "max": 1, "rounded": "here"}}',
            "'x': rounded is 'here'; it is 'sums' or 'results'",
        ),
        ('{"x": {"scale": "1"}}', "it is an object of scale, or min and max"),
        ('{"x": {"scale": true}}', "it is an object of scale, or min and max"),
        ('{"x": {"scale": 1' + "0" * 400 + "}}", "it is an object of scale, or min and max"),
        (
            '{"x": {"min": 0, "max": 1, "lows": [2], "highs": [1]}}',
            "'x': lows and highs must have one entry per channel",
        ),
        (
            '{"x": {"min": 0, "max": 1, "corrections": [1e999]}}',
            "'x': corrections must be finite numbers",
        ),
        ('{"x": {"min": 2, "max": 1}}', "'x': from 2 to 1 is no range"),
    ],
)
def test_damaged_tables(text: str, message: str, tmp_path: Path):
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(XonncError) as caught:
        read_calibration(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_tables_of_others(tmp_path: Path):
    path = tmp_path / "table.json"
    path.write_text('{"a": {"scale": 0.5, "min": 0, "max": 0, "offset": 0}, "b": {"min": -1, "max": 3}}')
    assert read_calibration(path) == {"a": Range(-63.5, 63.5), "b": Range(-1, 3)}
    write_calibration(path, {"a": Range(-2, 1)})
    assert read_calibration(path) == {"a": Range(-2, 1)}
    with pytest.raises(XonncError, match="cannot be read: No such file"):
        read_calibration(tmp_path / "none.json")


def test_damaged_samples_are_one_error(tmp_path: Path):
    np.savez(tmp_path / "whole.npz", x=np.zeros((1, 3, 4)))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:-9])
    np.save(tmp_path / "text.npy", np.full((1, 3, 4), "a"))
    for name, message in (
        ("cut.npz", "no arrays in it"),
        ("text.npy", "elements of type <U1; samples are numbers"),
    ):
        with pytest.raises(XonncError, match=message):
            read_samples(tmp_path / name, {"x": (1, 3, 4)})


def test_samples_of_one_input_and_of_several(tmp_path: Path):
    np.save(tmp_path / "many.npy", np.zeros((5, 3, 4)))
    assert len(read_samples(tmp_path / "many.npy", {"x": (1, 3, 4)})) == 5
    np.savez(tmp_path / "pairs.npz", x=np.zeros((2, 1, 3)), y=np.zeros((2, 4)))
    pairs = read_samples(tmp_path / "pairs.npz", {"x": (1, 3), "y": (4,)})
    assert [{name: array.shape for name, array in sample.items()} for sample in pairs] == [
        {"x": (1, 3), "y": (4,)}
    ] * 2
    (tmp_path / "many.npy").rename(tmp_path / "pairs.npz")
    assert len(read_samples(tmp_path, {"x": (1, 3, 4)})) == 5


@pytest.mark.parametrize(
    ("name", "arrays", "message"),
    [
        ("none.npy", None, "no such file or folder"),
        ("text.npy", None, "no arrays in it"),
        ("other.npz", {"z": (1, 3), "y": (4,)}, "no array for input 'x'; it has z, y"),
        (
            "shape.npz",
            {"x": (2, 5), "y": (4,)},
            "input 'x': an array of [2, 5]; samples are [1, 3], one or many",
        ),
        ("counts.npz", {"x": (2, 1, 3), "y": (3, 4)}, "2 and 3 samples for different inputs"),
    ],
)
def test_samples_that_do_not_fit(
    name: str, arrays: dict[str, tuple[int, ...]] | None, message: str, tmp_path: Path
):
    path = tmp_path / name
    if arrays is not None:
        np.savez(path, allow_pickle=False, **{key: np.zeros(shape) for key, shape in arrays.items()})
    elif name.startswith("text"):
        path.write_text("no array")
    with pytest.raises(XonncError) as caught:
        read_samples(path, {"x": (1, 3), "y": (4,)})
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_an_empty_folder(tmp_path: Path):
    with pytest.raises(XonncError, match=r"no \.npy or \.npz files in it"):
        read_samples(tmp_path, {"x": (1, 3)})


def calibrated(path: Path, samples: list[dict[str, Any]], method: str = METHODS[0], **options: Any) -> Ranges:
    """The ranges of the outputs of the model in a file."""
    model = onnx.ModelProto.FromString(path.read_bytes())
    return calibrate(
        open_model(model), [output.name for output in model.graph.output], samples, method, **options
    )


def test_values_that_are_no_floats_have_no_range(tmp_path: Path):
    path = tmp_path / "model.onnx"
    text = """
        <ir_version: 8, opset_import: ["" : 20]>
        m (string[2] s, float[2] x) => (bool[2] t, float[2] y) {
          t = RegexFullMatch <pattern = "a"> (s)
          y = Relu (x)
        }
    """
    path.write_bytes(parser.parse_model(text).SerializeToString())
    ranges = calibrated(path, [{"s": np.array(["a", "b"]), "x": np.array([-1, 2], np.float32)}], "minmax")
    assert ranges == {"x": Range(-1, 2), "y": Range(0, 2)}


def test_models_that_are_rounded_already_stay(network: Path, capsys: pytest.CaptureFixture[str]):
    model = onnx.ModelProto.FromString(network.read_bytes())
    assert len(model.graph.node) == 12
    text = network.parent / "out.mlir"
    table = network.parent / "table.json"
    table.write_text("{}")
    main(["compile", str(network), "--stop-after", "simplified", "-o", str(text), "--calib", str(table)])
    assert "no range" in capsys.readouterr().err
    assert not text.exists()


def values(tmp_path: Path, text: str, samples: list[dict[str, Any]], **options: Any) -> dict[str, Range]:
    path = tmp_path / "values.onnx"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    return dict(calibrated(path, samples, **options))


DOUBLED = """<ir_version: 8, opset_import: ["" : 17]>
    doubled (float[1, 2, 2] x) => (float[1, 2, 2] y) { y = Add (x, x) }"""


def test_means_and_extremes_of_channels(tmp_path: Path):
    samples = [
        {"x": np.array([[[1, 3], [0, 0]]], np.float32)},
        {"x": np.array([[[4, 4], [-2, 0]]], np.float32)},
    ]
    found = values(tmp_path, DOUBLED, samples, method="minmax")
    assert found["x"] == Range(-2, 4, (3.0, -0.5), (1.0, -2.0), (4.0, 0.0), images=2)
    assert found["y"] == Range(-4, 8, (6.0, -1.0), (2.0, -4.0), (8.0, 0.0), images=2)
    write_calibration(tmp_path / "table.json", found)
    assert read_calibration(tmp_path / "table.json") == found


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_extremes_leave_out_what_is_not_finite_and_then_there_are_no_channels(number: float):
    image = np.array([[[1.0, -2.0], [3.0, number]]], np.float32)
    found = calibrate(lambda feeds: [feeds["x"]], ["y"], [{"x": image}], "minmax")
    assert found["y"] == Range(-2.0, 3.0)


def test_scores_reach_from_above_the_greatest_to_where_they_do_not_count(tmp_path: Path):
    """The samples' greatest are 8 and 16: half their distance is kept free above, 3 below the lower one."""
    samples = [{"x": np.full((1, 2, 2), number, np.float32)} for number in (4, 8)]
    samples[0]["x"][0, 0, 0] = -50
    for method in METHODS:
        found = values(tmp_path, DOUBLED, samples, method=method, scores={"y": 3.0})
        assert (found["y"].least, found["y"].largest) == (5.0, 20.0)


@pytest.mark.parametrize(
    "numbers",
    [
        np.concatenate([[19.98], np.full(1000, 30.0), np.linspace(31, 64, 4000)]),
        np.concatenate([np.repeat(np.arange(8.0, 9.0, 0.25), 1000), np.linspace(0, 60, 1000)]),
    ],
)
def test_entropy_cuts_off_few(numbers: npt.NDArray[np.float64], tmp_path: Path):
    """The lowest number alone is like itself; channels of small range are exact where bins are levels."""
    text = DOUBLED.replace("1, 2, 2", f"1, 1, {numbers.size}")
    signed = numbers.astype(np.float32).reshape(1, 1, -1) * np.float32(-1)
    found = values(tmp_path, text, [{"x": signed}], method="entropy")["y"]
    assert (2 * signed < found.least).mean() <= 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_adjacent_float16_values(method: str, tmp_path: Path):
    """Bins would be narrower than the spacing of float16 values."""
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float16[64] x) => (float16[64] y) { y = Relu(x) }'
    path = tmp_path / "g.onnx"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    numbers = np.linspace(0.5, 0.502, 64).astype(np.float16)
    found = calibrated(path, [{"x": numbers}], method)
    assert 0.4 < found["y"].largest <= 0.51


def test_the_least_error_cuts_what_is_rare(tmp_path: Path):
    numbers = np.random.default_rng(0).standard_normal((1, 2, 5000)).astype(np.float32)
    numbers[0, 0, 0] = 40
    text = DOUBLED.replace("1, 2, 2", "1, 2, 5000")
    found = values(tmp_path, text, [{"x": numbers}], method="mse")["y"]
    step = found.magnitude / 127
    assert 60 < found.magnitude < 79
    rounded = np.clip(np.rint(2 * numbers / step), -127, 127) * step
    coarse = np.rint(2 * numbers / (80 / 127)) * (80 / 127)
    assert np.square(rounded - 2 * numbers).mean() < np.square(coarse - 2 * numbers).mean()


@pytest.mark.parametrize(("key", "found"), [("bias_corrections", ()), ("corrections", (0.5, 0.25))])
def test_corrections_of_older_tables_are_left_out(key: str, found: tuple[float, ...], tmp_path: Path):
    """They are in scales of channels that equalization gives no longer."""
    path = tmp_path / "table.json"
    path.write_text(f'{{"x": {{"min": 0, "max": 1, "{key}": [0.5, 0.25]}}}}')
    (one,) = read_calibration(path).values()
    assert one.bias_corrections == found


@pytest.mark.parametrize("method", ["mse", "minmax"])
def test_workers_find_the_same_ranges(method: str, network: Path):
    module = simplify(network).module
    shapes = input_shapes(module)
    random = np.random.default_rng(1)
    samples = [
        {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
        for _ in range(5)
    ]
    seen: list[tuple[int, int, str]] = []
    expected = calibrate_module(module, samples, method)

    def step(done: int, total: int, phase: str) -> None:
        seen.append((done, total, phase))

    with LocalProcesses(2) as executor:
        found = calibrate_module(module, samples, method, step, executor)
    assert found == expected
    assert seen[-1][0] == seen[-1][1] == len(seen) == (5 if method == "minmax" else 10)


def test_the_error_of_a_worker_is_that_of_the_model(network: Path):
    module = simplify(network).module
    samples: list[dict[str, Any]] = [{"other": np.zeros(1, np.float32)}]
    with LocalProcesses(1) as executor, pytest.raises(XonncError, match="other"):
        calibrate_module(module, samples, executor=executor)


def test_jobs_of_the_commands(network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    samples, tables = network.parent / "samples.npy", [tmp_path / f"{jobs}.json" for jobs in "02"]
    command = ["quantize", str(network), "-o", str(tmp_path / "q.onnx"), "--calibrate", str(samples), "-q"]
    for table in tables:
        assert main([*command, "--save-calib", str(table), "--jobs", table.stem]) == 0
    assert tables[0].read_bytes() == tables[1].read_bytes()
    assert main([*command, "--jobs", "-1"]) == 1
    assert "--jobs -1: a number of processes, or 0 for this process" in capsys.readouterr().err
    assert main([*command, "--scheduler", "nowhere"]) == 1
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--jobs", "1", "--scheduler", "nowhere"])
