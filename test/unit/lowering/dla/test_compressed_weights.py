"""Compressed weights give the bytes of plain ones on the simulator, and fewer cycles by the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

from xonnc.compiler import Compilation, compile_model
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.formats.nvdla.checks.loadable_check import findings
from xonnc.formats.nvdla.enumerations import WeightFormat
from xonnc.formats.nvdla.records import ConvOp
from xonnc.formats.nvdla.tasks import DlaTask, decode_tasks
from xonnc.lowering.dla import dla_compress_weights
from xonnc.lowering.dla.packing import CompressedSizes, compress
from xonnc.runtime.nvdla.conv_weights import decompress
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.targets import load_target


@dataclass(frozen=True)
class SparseConv:
    """A convolution of random weights, of which `density` are not zero, and another one after it."""

    channels: int
    kernels: int
    kernel: tuple[int, int]
    size: tuple[int, int]
    density: float
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    group: int = 1


CASES = {
    "fully connected": SparseConv(130, 70, (1, 1), (1, 1), 0.3),
    "one group": SparseConv(96, 16, (3, 3), (2, 3), 0.1),
    "odd": SparseConv(33, 37, (3, 1), (4, 3), 0.5),
    "strided": SparseConv(65, 129, (3, 3), (7, 5), 0.2, strides=(2, 1)),
    "dilated": SparseConv(64, 96, (2, 3), (9, 9), 0.25, dilations=(2, 1)),
    "zeros": SparseConv(64, 64, (3, 3), (3, 3), 0.0),
    "depthwise": SparseConv(192, 192, (3, 3), (7, 7), 1.0, group=192),
    "grouped": SparseConv(96, 192, (3, 3), (5, 5), 1.0, group=24),
}


def model_of(case: SparseConv) -> onnx.ModelProto:
    generator = np.random.default_rng(7)
    shape = (case.kernels, case.channels // case.group, *case.kernel)
    weights = generator.standard_normal(shape).astype(np.float32)
    weights *= generator.random(shape) < case.density
    last = generator.standard_normal((8, case.kernels, 1, 1)).astype(np.float32) / 8
    pads = [size // 2 for size in case.kernel]
    nodes = [
        helper.make_node(
            "Conv",
            ["x", "w"],
            ["h"],
            "sparse",
            group=case.group,
            pads=[*pads, *pads],
            strides=case.strides,
            dilations=case.dilations,
        ),
        helper.make_node("Relu", ["h"], ["r"], "relu"),
        helper.make_node("Conv", ["r", "v"], ["y"], "last"),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", 1, (1, case.channels, *case.size))],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(last, "v")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compiled(path: Path, target: str, precision: str) -> Compilation:
    ranges: Ranges = {name: Range(-4.0, 4.0) for name in ("x", "h", "r", "y")}
    return compile_model(path, target, calibrate=None if precision == "fp16" else lambda _: ranges)


def formats(compilation: Compilation) -> list[int]:
    return [
        operation.op.weight_format
        for task in decode_tasks(compilation.loadable)
        if isinstance(task, DlaTask)
        for operation in task.operations
        if isinstance(operation.op, ConvOp)
    ]


def results(compilation: Compilation, target: str) -> npt.NDArray[np.generic]:
    simulator = Simulator(compilation.loadable, load_target(target), mode="exact")
    (bound,) = simulator.inputs
    values = np.random.default_rng(3).standard_normal(bound.model_shape)
    dtype = np.dtype(bound.element_types[0])
    feed = np.clip(values * 30, -128, 127).astype(dtype) if dtype.kind == "i" else values.astype(dtype)
    (output,) = simulator.run([feed])
    return output.tensor


@pytest.mark.parametrize("precision", ["int8", "fp16"])
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_plain_weights(
    name: str, precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(CASES[name]).SerializeToString())
    sparse = compiled(path, "nv_full", precision)
    assert findings(sparse.loadable, load_target("nv_full")) == []
    monkeypatch.setattr(dla_compress_weights, "MAX_RATIO", 0.0)
    plain = compiled(path, "nv_full", precision)
    assert WeightFormat.COMPRESSED in formats(sparse)
    assert WeightFormat.COMPRESSED not in formats(plain)
    assert sparse.report.cycles < plain.report.cycles
    assert np.array_equal(results(sparse, "nv_full").view(np.uint8), results(plain, "nv_full").view(np.uint8))


@pytest.mark.parametrize(
    "target",
    ["nv_large", "nv_small", "nv_small_256", "nv_small_256_full", "nv_medium_512", "nv_medium_1024_full"],
)
def test_other_targets_read_plain_weights(target: str, tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(CASES["one group"]).SerializeToString())
    assert set(formats(compiled(path, target, "int8"))) == {WeightFormat.UNCOMPRESSED}


def test_dense_weights_stay_plain(tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(SparseConv(64, 64, (3, 3), (7, 7), 1.0)).SerializeToString())
    assert set(formats(compiled(path, "nv_full", "int8"))) == {WeightFormat.UNCOMPRESSED}


def test_a_mask_beyond_a_bank_is_not_used(tmp_path: Path):
    # 256 KiB of elements have a mask of 32 KiB, which is a bank.
    for channels, format_ in ((512, WeightFormat.COMPRESSED), (544, WeightFormat.UNCOMPRESSED)):
        path = tmp_path / "model.onnx"
        path.write_bytes(model_of(SparseConv(channels, 512, (1, 1), (1, 1), 0.1)).SerializeToString())
        assert formats(compiled(path, "nv_full", "int8"))[0] == format_


@pytest.mark.parametrize("dtype", [np.int8, np.float16])
@pytest.mark.parametrize(("kernels", "elements"), [(1, 1), (5, 7), (32, 9), (40, 33)])
def test_parts_of_compressed_kernels(dtype: type[np.generic], kernels: int, elements: int):
    generator = np.random.default_rng(kernels)
    packed = (generator.integers(-2, 3, kernels * elements)).astype(dtype)
    size, groups = packed.dtype.itemsize, -(-kernels // 16)
    nonzero = int(np.count_nonzero(packed)) * size
    sizes = CompressedSizes(nonzero + 3, -(-packed.size // 8) + 5, 4 * groups)
    data = np.frombuffer(compress(packed, 16 * elements, sizes), np.uint8)
    assert len(data) == sizes.total
    stream, mask, table = np.split(data, np.cumsum(sizes)[:2])
    assert np.array_equal(decompress(stream, mask, table, packed.size, dtype, "op"), packed)
    assert table.view("<u4")[0] == np.count_nonzero(packed[: 16 * elements]) * size
