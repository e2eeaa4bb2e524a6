"""Fixtures to compile and simulate small networks; `deviation` is the error against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx import parser as onnx_parser
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from xonnc.dialects.dla import get_dla
from xonnc.dialects.onnx import get_onnx
from xonnc.formats.nvdla.checks.loadable_check import findings
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.formats.onnx import import_proto
from xonnc.lowering.dla_to_loadable.stages import CompiledLoadable, compile_to_loadable
from xonnc.passes import run_pass
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

TARGET = "nv_full"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the golden texts anew")


@pytest.fixture
def context() -> Context:
    context = Context()
    for dialect in (Builtin, Func, get_onnx(), get_dla()):
        context.load_dialect(dialect)
    return context


@pytest.fixture
def build() -> Callable[..., onnx.ModelProto]:
    """Builder of models from nodes in ONNX text syntax, one a line, with given or random weights."""

    def make(
        nodes: str,
        x: tuple[int, ...] = (1, 3, 8, 8),
        weights: Mapping[str, tuple[int, ...] | npt.NDArray[Any]] | None = None,
        outputs: tuple[str, ...] = ("y",),
        opset: int = 13,
        inputs: Mapping[str, tuple[int, ...]] | None = None,
    ) -> onnx.ModelProto:
        generator = np.random.default_rng(5)
        initializers = [
            numpy_helper.from_array(_values(value, generator), name)
            for name, value in (weights or {}).items()
        ]
        lines = [line.strip() for line in nodes.strip().splitlines()]
        parsed = [onnx_parser.parse_node(line) for line in lines]
        for index, node in enumerate(parsed):
            node.name = node.name or f"{node.op_type}_{index}"
        graph = helper.make_graph(
            parsed,
            "network",
            [
                helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
                for name, shape in (inputs or {"x": x}).items()
            ],
            [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs],
            initializers,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)

    return make


def _values(value: tuple[int, ...] | npt.NDArray[Any], generator: np.random.Generator) -> npt.NDArray[Any]:
    if isinstance(value, np.ndarray):
        return value
    scale = np.sqrt(max(1, int(np.prod(value[1:]))))
    return (generator.standard_normal(value) / scale).astype(np.float32)


@pytest.fixture
def simplified(context: Context) -> Callable[[onnx.ModelProto], ModuleOp]:
    """Importer of a model that also runs `simplify-onnx`."""

    def run(model: onnx.ModelProto) -> ModuleOp:
        module = import_proto(model, context)
        run_pass("simplify-onnx", context, module)
        return module

    return run


@pytest.fixture
def compiled(
    context: Context, simplified: Callable[[onnx.ModelProto], ModuleOp]
) -> Callable[[onnx.ModelProto], CompiledLoadable]:
    """Compiler of a model for nv_full; asserts that module and loadable pass verifiers and static checks."""

    def run(model: onnx.ModelProto) -> CompiledLoadable:
        module = simplified(model)
        result = compile_to_loadable(module, TARGET, context)
        module.verify()
        assert findings(result.loadable, load_target(TARGET)) == []
        return result

    return run


@pytest.fixture
def deviation(
    compiled: Callable[[onnx.ModelProto], CompiledLoadable], tmp_path: Path
) -> Callable[[onnx.ModelProto], float]:
    """Maximum error of all outputs, each relative to the largest magnitude of that output (at least 0.01)."""

    def run(model: onnx.ModelProto) -> float:
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        reference = ReferenceModel(path)
        generator = np.random.default_rng(9)
        feeds = {
            port.name: generator.standard_normal([size or 1 for size in port.shape]).astype(np.float32)
            for port in reference.inputs()
        }
        loadable = parse_loadable(to_bytes(compiled(model).loadable))
        simulator = Simulator(loadable, load_target(TARGET))
        arrays = zip(feeds.values(), simulator.inputs, strict=True)
        outputs = simulator.run([array.reshape(tensor.shape) for array, tensor in arrays])
        errors = [
            np.abs(ours.tensor.astype(np.float64).reshape(-1) - theirs.astype(np.float64).reshape(-1)).max()
            / max(float(np.abs(theirs).max()), 1e-2)
            for ours, theirs in zip(outputs, reference.run(feeds), strict=True)
        ]
        return float(max(errors))

    return run
