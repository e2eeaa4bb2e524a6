"""NNVM's build: graph, library and parameters, saved apart and loaded in another process."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from onnx import numpy_helper

import xonnc
from xonnc import graph_executor
from xonnc.errors import ArgumentTypeError, XonncError
from xonnc.formats.native.graph_json import graph_from_json
from xonnc.transforms.optimization_levels import DEFAULT_LEVEL

Array = npt.NDArray[Any]

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[N, 3, 8, 8] x) => (float[N, 4, 8, 8] y, float[N, 4, 8, 8] z) {
        [conv] c = Conv <pads = [1, 1, 1, 1]> (x, w)
        [bend] y = Relu (c)
        [flip] z = Neg (y)
    }"""
)
WEIGHTS = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
MODEL.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "w"))
SHAPE = {"x": (2, 3, 8, 8)}
X = np.random.default_rng(1).standard_normal(SHAPE["x"]).astype(np.float32)


def expected(model: onnx.ModelProto = MODEL) -> list[Array]:
    return [np.asarray(each) for each in xonnc.compile(model).run(None, {"x": X})]


@pytest.fixture(scope="module")
def built() -> Any:
    return xonnc.build(MODEL, shape=SHAPE)


def test_graph_library_and_parameters(built: Any):
    graph, lib, params = built
    module = graph_executor.create(graph, lib)
    assert (module.get_num_inputs(), module.get_num_outputs()) == (1, 2)
    module.set_input(**params)
    module.set_input(0, X)
    module.run()
    y, z = expected()
    np.testing.assert_array_equal(np.asarray(module.get_output(0)), y)
    np.testing.assert_array_equal(np.asarray(module.get_output("z")), z)
    out = np.empty_like(z)
    assert module["get_output"](1, out) is out
    np.testing.assert_array_equal(out, z)
    module.run(x=-X)
    assert not np.array_equal(np.asarray(module.get_output(0)), y)
    assert module.get_input("x") is not X
    assert {node for _, node, _ in graph.data["kernels"]} >= {"conv"}
    assert {"format", "inputs", "outputs", "params", "kernels", "program", "library"} <= graph.data.keys()
    assert graph_from_json(graph.json()).json() == graph.json()


FRESH = """
import sys
from pathlib import Path
import numpy as np
from xonnc import graph_executor
folder, library = Path(sys.argv[1]), sys.argv[2]
module = graph_executor.create((folder / "g.json").read_text(), graph_executor.load_module(folder / library))
module.load_params((folder / "g.params").read_bytes())
module.run(x=np.load(folder / "x.npy"))
np.save(folder / "y.npy", module.get_output(0))
"""


@pytest.mark.parametrize(("library", "threads"), [("m.so", 2), ("m.tar", 1), ("m.o", 1)])
def test_a_fresh_process_runs_it(library: str, threads: int, tmp_path: Path):
    graph, lib, params = xonnc.build(MODEL, shape=SHAPE, threads=threads)
    assert lib.export_library(tmp_path / library) == tmp_path / library
    (tmp_path / "g.json").write_text(graph.json())
    (tmp_path / "g.params").write_bytes(xonnc.save_params(params))
    np.save(tmp_path / "x.npy", X)
    subprocess.run([sys.executable, "-c", FRESH, str(tmp_path), library], check=True)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected()[0], rtol=1e-5, atol=1e-6)
    if library == "m.tar":
        first = (tmp_path / library).read_bytes()
        lib.export_library(tmp_path / library)
        assert (tmp_path / library).read_bytes() == first


def test_a_forked_process_starts_its_own_threads(tmp_path: Path):
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]>
        g (float[64, 512] x, float[512, 64] w) => (float[64, 64] y) { y = MatMul (x, w) }"""
    )
    graph, lib, params = xonnc.build(model, threads=2)
    lib.export_library(tmp_path / "m.so")
    module = graph_executor.create(graph, graph_executor.load_module(tmp_path / "m.so"))
    feeds = {"x": np.ones((64, 512), np.float32), "w": np.ones((512, 64), np.float32)}
    module.run(**params, **feeds)
    if (child := os.fork()) == 0:
        module.run(x=-feeds["x"])
        os._exit(0 if np.all(np.asarray(module.get_output(0)) == -512) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_dynamic_shapes_and_other_parameters():
    other = np.ones_like(WEIGHTS)
    graph, lib, params = xonnc.build(MODEL, params={"w": other}, dtype="float32")
    changed = onnx.ModelProto()
    changed.CopyFrom(MODEL)
    changed.graph.initializer[0].CopyFrom(numpy_helper.from_array(other, "w"))
    module = graph_executor.create(graph, lib)
    module.load_params(xonnc.save_params(params))
    for count in (1, 2):
        module.run(x=X[:count])
        np.testing.assert_allclose(np.asarray(module.get_output(0)), expected(changed)[0][:count], rtol=1e-5)


def test_layouts():
    graph, lib, params = xonnc.build(MODEL, shape={"x": (2, 8, 8, 3)}, layout={"x": "NHWC"})
    module = graph_executor.create(graph, lib)
    module.set_input(**params)
    module.run(x=np.ascontiguousarray(X.transpose(0, 2, 3, 1)))
    np.testing.assert_allclose(np.asarray(module.get_output(0)), expected()[0], rtol=1e-5, atol=1e-6)


def test_code_for_another_processor_is_exported(tmp_path: Path):
    graph, lib, _ = xonnc.build(MODEL, "aarch64", shape=SHAPE)
    lib.export_library(tmp_path / "m.tar")
    assert graph.data["target"] == "aarch64"
    module = graph_executor.create(graph, lib)
    module.set_input(**xonnc.build(MODEL, "aarch64", shape=SHAPE).params)
    with pytest.raises(XonncError, match=r"the library: code for aarch64.*, which does not run here"):
        module.run(x=X)


def test_build_config():
    with xonnc.build_config(opt_level=1) as outer:
        assert (outer.opt_level, outer.disabled_pass) == (1, ())
        with xonnc.build_config(disabled_pass=["recompose-onnx"], add_pass=["fuse-onnx"]) as inner:
            assert inner.opt_level == 1
            assert inner.required_pass == ("fuse-onnx",)
            fused = xonnc.build(MODEL, shape=SHAPE).graph.data["kernels"]
        single = xonnc.build(MODEL, shape=SHAPE).graph.data["kernels"]
    assert len(single) > len(fused)
    with xonnc.build_config() as plain:
        assert plain.opt_level == DEFAULT_LEVEL


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optlevel": 1}, "build_config: no option 'optlevel'; did you mean 'opt_level'"),
        ({"opt_level": 7}, "level: 7; there are 0, 1, 2, 3"),
        ({"opt_level": "1"}, "opt_level: '1'; it takes 0 to 3"),
        ({"disabled_pass": "cse"}, "disabled_pass: 'cse'; it takes a list of names of passes"),
        ({"required_pass": ["fuse-onxn"]}, "fuse-onxn.*; did you mean 'fuse-onnx'"),
    ],
)
def test_wrong_configurations(options: dict[str, Any], message: str):
    with pytest.raises(XonncError, match=message), xonnc.build_config(**options):
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": {"x": "2"}}, r"shape\['x'\]: '2' is of type str; it takes a list of integers"),
        ({"shape": {"z": [1]}}, "no input 'z'"),
        ({"dtype": {"z": "float32"}}, "dtype: no input 'z'; there are x"),
        ({"dtype": "float16"}, "input 'x': float32 in the model, dtype says float16"),
        ({"params": {"v": WEIGHTS}}, "params: no initializer 'v'"),
        (
            {"params": {"w": WEIGHTS[0]}},
            r"params: 'w': float32 \[3, 3, 3\]; the model has float \[4, 3, 3, 3\]",
        ),
        ({"threads": 0}, "threads: 0; 1 to 256 can share a run"),
        ({"target": "nv_small"}, "no target 'nv_small'"),
    ],
)
def test_wrong_builds(options: dict[str, Any], message: str):
    with pytest.raises(XonncError, match=message):
        xonnc.build(MODEL, **options)


def test_a_wrong_type_is_a_type_error_too():
    shape: Any = {"x": "2"}
    with pytest.raises(TypeError) as caught:
        xonnc.build(MODEL, shape=shape)
    assert isinstance(caught.value, ArgumentTypeError)


def test_models_that_need_more_than_kernels():
    strings = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 20]> g (string[2] x) => (string[2] y) { y = StringConcat (x, x) }'
    )
    with pytest.raises(XonncError, match=r"xonnc\.compile runs it"):
        xonnc.build(strings)


def test_what_is_shown_is_short(built: Any, tmp_path: Path):
    graph, lib, params = built
    assert re.fullmatch(r"<Graph for \w+: 1 inputs, 2 outputs, \d+ params, \d+ kernels>", repr(graph))
    assert re.fullmatch(r"<GraphLibrary: [\d,]+ bytes>", repr(lib))
    assert repr(graph_executor.load_module(lib.export_library(tmp_path / "m.so"))).endswith("m.so>")
    module = graph_executor.create(graph, lib)
    assert re.fullmatch(r"<GraphModule \(x\) -> \(.*\), \d+ parameters not set>", repr(module))
    module.set_input(**params)
    assert repr(module).endswith(")>")


def test_wrong_modules(built: Any, tmp_path: Path):
    graph, lib, params = built
    module = graph_executor.create(graph, lib)
    wrong: list[tuple[Any, str]] = [
        (lambda: module.get_input(0), "input 'x' is not set"),
        (lambda: module.run(x=X), "parameter 'p0'.* is not set; load_params sets all"),
        (lambda: module.set_input("z", X), "no input 'z'; there are x"),
        (lambda: module.set_input("x", X[:, :1]), r"input 'x': the shape \[.*\] was set, the graph takes \["),
        (lambda: module.set_input(0, X[0]), r"input 'x': the shape \[.*\] was set, the graph takes \["),
        (lambda: module.set_input(1, X), "no input 1; there are 1"),
        (lambda: module.run(z=X), "no input or parameter 'z'"),
        (lambda: module.set_input(p0=X[0]), "parameter 'p0': .*; the graph takes"),
        (lambda: module.get_output(0), "output 'y': there was no run"),
        (lambda: module.get_output(2), "no output 2; there are 2"),
        (lambda: module["go"], "no function 'go'; there are "),
        (lambda: module.load_params(b"x" * 50), "invalid parameters file format: it does not begin"),
        (lambda: graph_executor.create(graph, lib, "cuda"), "no device 'cuda'; there is cpu"),
        (lambda: graph_executor.create("{}", lib), "the graph: not the JSON of a graph of xonnc"),
        (lambda: graph_executor.create(graph.json().replace('"arena": ', '"arena": 1'), lib), "is damaged"),
        (lambda: lib.export_library(tmp_path / "m.dll"), r"a library is exported to \.so, \.tar, \.o"),
        (lambda: graph_executor.load_module(tmp_path / "m.dll"), r"a library is one of \.so, \.tar, \.o"),
        (lambda: graph_executor.load_module(tmp_path / "no.so"), "no.so: cannot be read: No such file"),
    ]
    for call, message in wrong:
        with pytest.raises(XonncError, match=message):
            call()
    other = xonnc.build(MODEL, shape={"x": (1, 3, 8, 8)})
    mixed = graph_executor.create(graph, other.lib)
    mixed.set_input(**params)
    with pytest.raises(XonncError, match="the library: not the code that was built with this graph"):
        mixed.run(x=X)
    other.lib.export_library(tmp_path / "other.so")
    loaded = graph_executor.load_module(tmp_path / "other.so")
    mixed = graph_executor.create(graph, loaded)
    mixed.set_input(**params)
    with pytest.raises(XonncError, match=r"other\.so: not the code that was built with this graph"):
        mixed.run(x=X)
    with pytest.raises(XonncError, match=r"the library was loaded from .*other\.so; copy that file"):
        loaded.export_library(tmp_path / "again.so")
    for name, content in {"a.tar": b"", "b.so": b"text", "c.o": b""}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(XonncError, match=r"no archive with lib.o|no machine code in ELF"):
            graph_executor.load_module(tmp_path / name)
    fake = graph_from_json(graph.json())
    foreign = type(fake)({**fake.data, "processor": "z80 +none"})
    with pytest.raises(XonncError, match="the graph: code for a z80 processor and its features"):
        graph_executor.create(foreign, lib)


PARAMS: dict[str, Array] = {
    "w": np.array([[1, -2.5, np.nan], [np.inf, -0.0, 3]], np.float32),
    "empty": np.zeros((0, 3), np.int64),
    "scalar": np.array(-7, np.int8),
    "mask": np.array([True, False]),
    "half": np.array([1.5], np.float16),
    "brain": np.array([1.5, -2], ml_dtypes.bfloat16),
    "tiny": np.array([1.5, -2], ml_dtypes.float8_e4m3fn),
    "größe": np.array([1, 2**63], np.uint64),
}


def test_parameters_in_the_format_of_nnvm():
    data = xonnc.save_params(PARAMS)
    found = xonnc.load_params(data)
    assert list(found) == list(PARAMS)
    for name, array in PARAMS.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()
    # As TVM writes a single float32 of two elements.
    golden = struct.pack("<QQQQ1sQ", 0xF7E58D4F05049CB7, 0, 1, 1, b"w", 1)
    golden += struct.pack("<QQiiiBBHqqff", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, 2, 8, 1.0, -2.0)
    assert xonnc.save_params({"w": np.array([1, -2], ">f4")}) == golden


def test_damaged_parameters():
    data = xonnc.save_params({"w": np.ones(3, np.float32)})
    tensor = data.index(struct.pack("<Q", 0xDD5E40F096B4A13F))
    code = tensor + 28

    def changed(at: int, *numbers: int) -> bytes:
        return data[:at] + bytes(numbers) + data[at + len(numbers) :]

    cases = [
        (b"", "the data end early"),
        (data[:-1], "the data end early"),
        (data + b"x", "1 bytes after the last tensor"),
        (changed(0, 1), "does not begin with 0xF7E58D4F05049CB7"),
        (changed(tensor, 0), "'w' does not begin with 0xDD5E40F096B4A13F"),
        (changed(tensor - 8, 2), "the numbers of names and tensors differ"),
        (changed(tensor + 24, 255), "'w' has 255 dimensions"),
        (changed(code, 9), "parameter 'w': type code 9, 32 bits, 1 lanes is no type of NumPy"),
        (changed(code + 2, 4), "parameter 'w': type code 2, 32 bits, 4 lanes"),
        (changed(code + 4, 4), r"'w' of \[4\] float32 has 12 bytes"),
    ]
    for wrong, message in cases:
        with pytest.raises(XonncError, match=message):
            xonnc.load_params(wrong)
    with pytest.raises(XonncError, match=r"parameter 's': .* has no code in the format of NNVM"):
        xonnc.save_params({"s": np.array(["text"])})
