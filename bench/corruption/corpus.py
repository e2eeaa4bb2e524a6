"""The seed corpus: valid files of every input format."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from google.protobuf import json_format
from onnx import TensorProto, helper, numpy_helper, parser, printer

from bench.corruption.mutators import (
    Mutator,
    mutate_bytes,
    mutate_json,
    mutate_model,
    mutate_package,
    mutate_words,
)
from xonnc.compiler import compile_model
from xonnc.fuzzing.random_models import random_model
from xonnc.packages import compile_package
from xonnc.targets import FOLDER
from xonnc.tools import translate

Files = Mapping[str, bytes]
"""A sample: its files by name."""

Command = tuple[str, ...]
"""A tool and its arguments; file names are those of the sample or of `valid_files`."""

RANDOM_MODELS = 24
IR_MODELS = 10


@dataclass(frozen=True)
class Format:
    """A file format: its samples, mutators by file suffix, and the commands that read it."""

    name: str
    samples: Callable[[], Sequence[Files]]
    mutators: Mapping[str, Mutator]
    """Mutators by file suffix; one is applied in each case."""
    commands: Sequence[Command]


TEXTS = {
    "cnn": """<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,8,8] x) => (float[1,5] y)
        <float[4,3,3,3] w = {W108}, float[4] b = {0.1,0.2,0.3,0.4}, float[5,64] f = {W320},
            float[5] d = {1,2,3,4,5}>
        { c = Conv <pads = [1,1,1,1], strides = [1,1]> (x, w, b)
          r = Relu(c)
          p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r)
          q = Flatten <axis = 1> (p)
          z = Gemm <transB = 1> (q, f, d)
          y = Softmax <axis = 1> (z) }""",
    "quantized": """<ir_version: 8, opset_import: ["" : 13]> g (float[1,4,6,6] x) => (float[1,4,6,6] y)
        <float s = {0.05}, int8 z = {0}, int8[4,4,1,1] w = {I16}, float[4] ws = {0.1,0.1,0.2,0.1},
            int8[4] wz = {0,0,0,0}>
        { a = QuantizeLinear(x, s, z)
          b = DequantizeLinear(a, s, z)
          v = DequantizeLinear <axis = 0> (w, ws, wz)
          c = Conv(b, v)
          d = QuantizeLinear(c, s, z)
          y = DequantizeLinear(d, s, z) }""",
    "control": """<ir_version: 10, opset_import: ["" : 19]> g (bool c, float[2,3] x, int64 n) => (y, w)
        { y = If (c) <then_branch = t () => (float[2,3] a) { a = Abs(x) },
                      else_branch = e () => (float[2,3] b) { b = Neg(x) }>
          t = Constant <value = bool {1}> ()
          w, s = Loop (n, t, x) <body = l (int64 i, bool k, float[2,3] p) => (bool ko, float[2,3] po,
            float[2,3] so)
            { ko = Identity(k) po = Add(p, x) so = Mul(p, p) }> }""",
    "functions": """<ir_version: 8, opset_import: ["" : 17, "local" : 1]> g (float[2,3] x) => (float[2,3] y)
        { h = local.twice <scale = 2.0> (x) y = local.once(h) }
        <opset_import: ["" : 17], domain: "local"> once (p) => (q) { q = Tanh(p) }
        <opset_import: ["" : 17, "local" : 1], domain: "local"> twice <scale> (p) => (q)
        { f = Constant <value_float : float = @scale> () m = local.once(p) q = Mul(m, f) }""",
    "shapes": """<ir_version: 8, opset_import: ["" : 13]> g (float[N,4,"?"] x, int64[3] k) => (a, b, c, d)
        <int64[3] one = {0, -1, 2}, int64[1] n = {3}, float[2,2] starts = {1,2,3,4}>
        { a = Reshape(x, one)
          h = Shape(x)
          b = Expand(n, h)
          c = ConstantOfShape <value = float[1] {2}> (k)
          i = Concat <axis = 0> (n, n)
          t = Transpose <perm = [2,0,1]> (x)
          d = Gather <axis = 0> (t, i) }""",
    "recurrent": """<ir_version: 8, opset_import: ["" : 14]> g (float[3,1,2] x) => (y, h)
        <float[1,8,2] w = {W16}, float[1,8,2] r = {W16}, float[1,16] b = {W16}>
        { y, h, c = LSTM <hidden_size = 2, activations = ["Sigmoid", "Tanh", "Tanh"]> (x, w, r, b) }""",
    "movement": """<ir_version: 10, opset_import: ["" : 19]> g (float[1,2,4,4] x, int64[3] i) => (a, b,
            c, d, e)
        <float[4] sc = {1,1,2,2}, int64[8] p = {0,0,1,1,0,0,1,1}, int64[2] st = {0,1},
            int64[2] en = {3,4}, int64[2] ax = {2,3},
         int64 depth = {4}, float[2] v = {0,1}>
        { a = Resize <mode = "linear"> (x, , sc)
          b = Pad <mode = "reflect"> (x, p)
          c = Slice(x, st, en, ax)
          d = OneHot <axis = 0> (i, depth, v)
          k, e = TopK <axis = 1> (x, depth1) }""".replace("depth1", "one").replace(
        "int64 depth", "int64[1] one = {1}, int64 depth"
    ),
    "strings": """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]> g (string[3] s,
            float[2,2] x) => (a, z, o)
        { a = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], values_int64s = [1, 2],
            default_int64 = -1> (s)
          l, p = ai.onnx.ml.LinearClassifier <classlabels_strings = ["u", "v"], coefficients = [1.0, 2.0,
            3.0, 4.0], intercepts = [0.0, 1.0]> (x)
          z = ai.onnx.ml.ZipMap <classlabels_strings = ["u", "v"]> (p)
          q = SequenceConstruct(x, p)
          o = ConcatFromSequence <axis = 0> (q) }""",
    "trees": """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]> g (float[2,2] x) => (y)
        { y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = [0,0,0],
            nodes_nodeids = [0,1,2],
            nodes_featureids = [0,0,0], nodes_values = [0.5,0.0,0.0],
            nodes_modes = ["BRANCH_LEQ","LEAF","LEAF"],
            nodes_truenodeids = [1,0,0], nodes_falsenodeids = [2,0,0], target_treeids = [0,0],
            target_nodeids = [1,2],
            target_ids = [0,0], target_weights = [1.0,2.0]> (x) }""",
}
"""Models that cover the features of the format, in ONNX text syntax; `{W16}` stands for 16 weights."""


@cache
def models() -> tuple[onnx.ModelProto, ...]:
    """The models of `TEXTS`, one with sparse weights, and random ones."""
    made = [parser.parse_model(_filled(text)) for text in TEXTS.values()]
    return (*made, _sparse(), *(random_model(seed).model for seed in range(RANDOM_MODELS)))


def _filled(text: str) -> str:
    import re

    def numbers(found: re.Match[str]) -> str:
        values = [(index * 7 % 11 - 5) * (1 if found[1] == "I" else 0.125) for index in range(int(found[2]))]
        return "{" + ",".join(map(str, values)) + "}"

    return re.sub(r"\{([WI])(\d+)\}", numbers, text)


def _sparse() -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
    )
    values = numpy_helper.from_array(np.array([1, 2, 3], np.float32), "w")
    indices = numpy_helper.from_array(np.array([0, 5, 7], np.int64), "i")
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4, 3]))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def small_network() -> onnx.ModelProto:
    """The network of the sample loadables and packages."""
    return models()[0]


def _binary() -> Sequence[Files]:
    return [{"model.onnx": model.SerializeToString()} for model in models()]


def _external() -> Sequence[Files]:
    made: list[Files] = []
    for number, model in enumerate((models()[0], models()[1], models()[5])):
        copy = onnx.ModelProto.FromString(model.SerializeToString())
        data = bytearray()
        for tensor in copy.graph.initializer:
            content = numpy_helper.to_array(tensor).tobytes()
            for field in ("raw_data", "float_data", "int32_data", "int64_data"):
                tensor.ClearField(field)
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (
                ("location", f"m{number}.data"),
                ("offset", str(len(data))),
                ("length", str(len(content))),
            ):
                tensor.external_data.add(key=key, value=value)
            data += content
        made.append({"model.onnx": copy.SerializeToString(), f"m{number}.data": bytes(data)})
    return made


def _text() -> Sequence[Files]:
    return [{"model.onnxtxt": printer.to_text(model).encode()} for model in models()[: len(TEXTS)]]


def _json() -> Sequence[Files]:
    return [{"model.json": json_format.MessageToJson(model).encode()} for model in models()[:16]]


@cache
def _ir() -> Sequence[Files]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        found: list[Files] = []
        for model in models()[: len(TEXTS) + IR_MODELS]:
            (folder / "m.onnx").write_bytes(model.SerializeToString())
            if translate.main([str(folder / "m.onnx"), "-o", str(folder / "m.mlir")]) == 0:
                found.append({"model.mlir": (folder / "m.mlir").read_bytes()})
        return found


@cache
def _stages() -> Sequence[Files]:
    """IR of all dialects: the dumps of the compilation stages."""
    from xonnc.tools import driver

    with TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "m.onnx"
        path.write_bytes(small_network().SerializeToString())
        driver.main(["compile", str(path), "-o", str(folder / "m.nvdla"), "--dump", str(folder / "a"), "-q"])
        driver.main(["compile", str(path), "-o", str(folder / "m.ll"), "--dump", str(folder / "b"), "-q"])
        return [
            {"model.mlir": content}
            for dumped in sorted(folder.glob("?/*.mlir"))
            if len(content := dumped.read_bytes()) < 100_000
        ]


@cache
def _loadables() -> Sequence[Files]:
    with TemporaryDirectory() as name:
        path = Path(name) / "m.onnx"
        path.write_bytes(small_network().SerializeToString())
        compile_model(path, "nv_full").write(Path(name) / "m.nvdla")
        loadable = (Path(name) / "m.nvdla").read_bytes()
        path.write_bytes(models()[1].SerializeToString())
        compile_model(path, "nv_small").write(Path(name) / "m.nvdla")
        return [{"model.nvdla": loadable}, {"model.nvdla": (Path(name) / "m.nvdla").read_bytes()}]


@cache
def _packages() -> Sequence[Files]:
    with TemporaryDirectory() as name:
        path = Path(name) / "m.onnx"
        model = onnx.ModelProto.FromString(small_network().SerializeToString())
        model.graph.node[-1].op_type = "LogSoftmax"
        path.write_bytes(model.SerializeToString())
        compile_package(path, "nv_full").write(Path(name) / "m.xpkg")
        return [{"model.xpkg": (Path(name) / "m.xpkg").read_bytes()}]


def array_file(array: Any) -> bytes:
    """An array as an `.npy` file."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def image() -> Any:
    """An input of the small network."""
    return np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)


def _arrays() -> Sequence[Files]:
    return [{"input.npy": array_file(image())}]


def _archives() -> Sequence[Files]:
    plain, packed = io.BytesIO(), io.BytesIO()
    np.savez(plain, x=image())
    np.savez_compressed(packed, x=np.concatenate([image()] * 3))
    return [{"samples.npz": plain.getvalue()}, {"samples.npz": packed.getvalue()}]


def _targets() -> Sequence[Files]:
    return [{"mine.toml": path.read_bytes()} for path in sorted(FOLDER.glob("nv_*.toml"))]


def _calibrations() -> Sequence[Files]:
    ranges = {
        "x": (-1.0, 1.0),
        "c": (-2.0, 2.0),
        "r": (0.0, 2.0),
        "p": (0.0, 2.0),
        "z": (-9.0, 9.0),
        "y": (0.0, 1.0),
    }
    table = {
        name: {"scale": (high - low) / 254, "min": low, "max": high, "offset": 0}
        for name, (low, high) in ranges.items()
    }
    wide: dict[str, dict[str, Any]] = {
        **table,
        "c": {
            **table["c"],
            "means": [0.0] * 4,
            "lows": [-1.0] * 4,
            "highs": [1.0] * 4,
            "corrections": [0.01] * 4,
        },
    }
    return [{"calib.json": json.dumps(each).encode()} for each in (table, wide)]


def _images() -> Sequence[Files]:
    return [{"input.ppm": b"P6\n8 8\n255\n" + bytes(range(192))}, {"input.pgm": b"P5 8 8 255 " + bytes(64)}]


_MODEL_COMMANDS = (
    ("xonnc", "simplify", "model.onnx", "out.onnx", "-q"),
    ("xonnc", "compile", "model.onnx", "-o", "out.nvdla", "-q"),
    ("xonnc", "compile", "model.onnx", "-o", "out.xpkg", "-q"),
    ("xonnc", "compile", "model.onnx", "-o", "out.c", "-q"),
    ("xonnc", "explain", "model.onnx", "--target", "nv_small"),
    ("onnx-translate", "model.onnx", "-o", "out.mlir"),
    ("session", "model.onnx"),
)

FORMATS = (
    Format("onnx", _binary, {".onnx": mutate_model}, _MODEL_COMMANDS),
    Format("external", _external, {".onnx": mutate_model, ".data": mutate_bytes}, _MODEL_COMMANDS),
    Format(
        "onnxtxt",
        _text,
        {".onnxtxt": mutate_words},
        (
            ("onnx-translate", "model.onnxtxt", "-o", "out.onnx"),
            ("xonnc", "simplify", "model.onnxtxt", "out.onnx", "-q"),
        ),
    ),
    Format(
        "json",
        _json,
        {".json": mutate_json},
        (
            ("onnx-translate", "model.json", "-o", "out.onnx"),
            ("xonnc", "simplify", "model.json", "out.onnx", "-q"),
        ),
    ),
    Format(
        "mlir",
        _ir,
        {".mlir": mutate_words},
        (
            ("onnx-opt", "model.mlir", "-o", "out.mlir"),
            ("onnx-opt", "model.mlir", "--shape-inference", "--canonicalize", "-o", "out.mlir"),
            ("onnx-opt", "model.mlir", "--simplify-onnx", "-o", "out.mlir"),
            ("onnx-opt", "model.mlir", "--constprop-onnx", "--decompose-onnx", "-o", "out.mlir"),
            ("onnx-translate", "model.mlir", "-o", "out.onnx"),
        ),
    ),
    Format(
        "stages",
        _stages,
        {".mlir": mutate_words},
        (
            ("onnx-opt", "model.mlir", "-o", "out.mlir"),
            ("onnx-translate", "model.mlir", "-o", "out.nvdla"),
        ),
    ),
    Format(
        "nvdla",
        _loadables,
        {".nvdla": mutate_bytes},
        (
            ("xonnc", "inspect", "model.nvdla"),
            ("xonnc", "report", "model.nvdla"),
            ("xonnc", "simulate", "model.nvdla", "--input", "there.npy", "-q"),
            ("xonnc", "check", "there.onnx", "model.nvdla", "-n", "1", "-q"),
            ("onnx-translate", "model.nvdla", "-o", "out.txt"),
        ),
    ),
    Format(
        "xpkg",
        _packages,
        {".xpkg": mutate_package},
        (
            ("xonnc", "run", "model.xpkg", "--input", "there.npy", "-q"),
            ("xonnc", "run", "model.xpkg", "--input", "there.npy", "--cpu", "onnxruntime", "-q"),
        ),
    ),
    Format(
        "npy",
        _arrays,
        {".npy": mutate_words},
        (
            ("xonnc", "simulate", "there.nvdla", "--input", "input.npy", "-q"),
            ("xonnc", "run", "there.onnx", "--input", "input.npy", "-q"),
            ("xonnc", "compile", "there.onnx", "--calibrate", "input.npy", "--dry-run", "-q"),
        ),
    ),
    Format(
        "npz",
        _archives,
        {".npz": mutate_bytes},
        (("xonnc", "compile", "there.onnx", "--calibrate", "samples.npz", "--dry-run", "-q"),),
    ),
    Format(
        "toml",
        _targets,
        {".toml": mutate_words},
        (
            ("xonnc", "targets", "mine.toml"),
            ("xonnc", "compile", "there.onnx", "--target", "mine.toml", "--dry-run", "-q"),
        ),
    ),
    Format(
        "calibration",
        _calibrations,
        {".json": mutate_json},
        (
            ("xonnc", "compile", "there.onnx", "--calib", "calib.json", "--dry-run", "-q"),
            ("xonnc", "explain", "there.onnx", "--calib", "calib.json", "--target", "nv_small"),
        ),
    ),
    Format(
        "image",
        _images,
        {".ppm": mutate_words, ".pgm": mutate_words},
        (
            ("xonnc", "simulate", "there.nvdla", "--input", "input.ppm", "-q"),
            ("xonnc", "simulate", "there.nvdla", "--input", "input.pgm", "-q"),
        ),
    ),
)


def valid_files() -> Files:
    """Valid files beside the corrupted one: a model, its loadable and an input."""
    return {
        "there.onnx": small_network().SerializeToString(),
        "there.nvdla": _loadables()[0]["model.nvdla"],
        "there.npy": array_file(image()),
    }
