"""
The models of the benchmarks, made once and kept in a folder of the temporary directory.

Networks are the onnx package's light graphs with seeded weights of the real size (`formats/onnx/light`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

from xonnc.formats.onnx.light import light_model
from xonnc.formats.onnx.tensors import AnyArray, proto


def folder() -> Path:
    """Where the models are: `$XONNC_BENCH_MODELS`, else a folder in the temporary directory."""
    default = Path(tempfile.gettempdir()) / f"xonnc-bench-models-{os.getuid()}"
    path = Path(os.environ.get("XONNC_BENCH_MODELS", default))
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def path_of(name: str) -> Path:
    """The file of the model `name`, made now if it is not there; `KeyError` for a name that is none."""
    path = folder() / name / "model.onnx"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_suffix(".part")
        MODELS[name](unfinished)
        unfinished.rename(path)
    return path


def size_of(path: Path) -> int:
    """Bytes of a model and its external data."""
    return sum(file.stat().st_size for file in path.parent.iterdir())


def random(count: int, seed: int) -> AnyArray:
    """`count` float32 values of a normal distribution."""
    return np.random.default_rng(seed).standard_normal(count, np.float32)


def big_matmul(path: Path) -> None:
    """One product with a weight of 128 MiB."""
    weight = random(8192 * 4096, 0).reshape(8192, 4096)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"], "matmul")],
        "big_matmul",
        [onnx.helper.make_tensor_value_info("x", 1, ["batch", 8192])],
        [onnx.helper.make_tensor_value_info("y", 1, ["batch", 4096])],
        [proto(weight, "w")],
    )
    _write(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), path)


def chain(count: int, elements: int) -> Callable[[Path], None]:
    """`count` additions, each with a weight of `elements` floats."""

    def make(path: Path) -> None:
        values = [onnx.helper.make_tensor_value_info(f"v{i}", 1, [elements]) for i in (0, count)]
        nodes = [
            onnx.helper.make_node("Add", [f"v{i}", f"w{i}"], [f"v{i + 1}"], f"add{i}") for i in range(count)
        ]
        weights = [proto(random(elements, index), f"w{index}") for index in range(count)]
        graph = onnx.helper.make_graph(nodes, "chain", values[:1], values[1:], weights)
        _write(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), path)

    return make


def network(name: str) -> Callable[[Path], None]:
    """A light network with its weights."""
    return lambda path: _write(light_model(name), path)


def network_with_external_data(name: str) -> Callable[[Path], None]:
    """The same, its weights in a second file."""

    def make(path: Path) -> None:
        from onnx.external_data_helper import convert_model_to_external_data

        model = light_model(name)
        convert_model_to_external_data(model, location="weights.bin")
        vars(onnx)["save"](model, path)

    return make


def _write(model: onnx.ModelProto, path: Path) -> None:
    path.write_bytes(model.SerializeToString())


MODELS: dict[str, Callable[[Path], None]] = {
    "big_matmul": big_matmul,
    "resnet50": network("resnet50"),
    "vgg19": network("vgg19"),
    "many_256k": chain(3000, 65536),
    "many_14k": chain(3000, 3584),
    "resnet50_external": network_with_external_data("resnet50"),
}
"""The models by name: what writes one to a path."""
