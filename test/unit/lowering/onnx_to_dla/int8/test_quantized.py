"""Quantized networks on every target: the simulator's integers against onnxruntime's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pytest
from quantized_networks import (
    NETWORKS,
    Array,
    Kind,
    Make,
    Net,
    conv,
    refused_when_quantized,
    windows_beyond_padding,
    windows_cut_much,
)
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.dla.engines import ConvOp, SdpOp
from xonnc.dialects.dla.engines import PdpOp as PoolOp
from xonnc.errors import RefusalError
from xonnc.formats.nvdla.checks.loadable_check import check_loadable
from xonnc.formats.nvdla.enumerations import MemoryType
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.records import PdpOp, PdpSurface
from xonnc.formats.nvdla.tasks import Operation, decode_tasks
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.lowering.dla import dla_fuse
from xonnc.lowering.dla_to_loadable.stages import compile_to_loadable
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import NvdlaTarget, load_target

TARGETS = ("nv_small", "nv_large", "nv_full")
MORE: Sequence[tuple[str, Kind]] = (
    *((target, np.uint8) for target in TARGETS),
    *((target, np.int8) for target in ("nv_small_256", "nv_small_256_full")),
    *((target, np.int8) for target in ("nv_medium_512", "nv_medium_1024_full")),
)
"""Kinds and configurations for networks in turn: other zero points, and other sizes of the same units."""


@pytest.fixture
def compiled(context: Context, simplified: Callable[[onnx.ModelProto], ModuleOp]):
    def run(model: onnx.ModelProto, target: str):
        result = compile_to_loadable(simplified(model), target, context)
        assert check_loadable(result.loadable, load_target(target)) == []
        return parse_loadable(to_bytes(result.loadable))

    return run


@lru_cache(4)
def onnxruntime_results(name: str, kind: Kind) -> tuple[Mapping[str, Array], Array]:
    """Inputs of a network, and its result in onnxruntime: the same for all configurations."""
    model, _ = NETWORKS[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model(Net(kind)).SerializeToString())
        reference = ReferenceModel(path)
    generator = np.random.default_rng(9)
    feeds = {
        port.name: generator.standard_normal([size or 1 for size in port.shape]).astype(np.float32)
        for port in reference.inputs()
    }
    (expected,) = reference.run(feeds)
    return feeds, expected


@pytest.mark.parametrize(
    ("name", "target", "kind"),
    [
        (name, target, kind)
        for name, more in zip(NETWORKS, cycle(MORE), strict=False)
        for target, kind in (*((target, np.int8) for target in TARGETS), more)
    ],
)
def test_steps_from_onnxruntime(name: str, target: str, kind: Kind, compiled: Any):
    (make, most), (feeds, expected) = NETWORKS[name], onnxruntime_results(name, kind)
    simulator = Simulator(compiled(make(Net(kind)), target), load_target(target))
    (output,) = simulator.run(
        [feed.reshape(one.shape) for feed, one in zip(feeds.values(), simulator.inputs, strict=True)]
    )
    assert output.grid is not None
    steps = np.abs(output.numbers.reshape(-1) - expected.reshape(-1)) / output.grid.scale
    assert expected.std() / output.grid.scale > 5
    assert steps.max() < most + 0.5
    assert steps.mean() < 0.5 * most


POOLINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "greatest": ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "greatest with padding": ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
    "greatest of more rows": ("MaxPool", {"kernel_shape": [3, 2], "strides": [3, 1], "ceil_mode": 1}),
}
"""Poolings after a convolution; some leave the last of its 13 rows over."""


@pytest.mark.parametrize("name", POOLINGS)
@pytest.mark.parametrize("target", TARGETS)
def test_poolings_on_the_fly_give_the_bytes_of_those_from_memory(
    name: str, target: str, compiled: Any, monkeypatch: pytest.MonkeyPatch
):
    net = Net()
    op, attributes = POOLINGS[name]
    y = net.rounded(net("Relu", net("Conv", net.rounded("x0"), net.kernels(20, 6, 3, 3), pads=[1] * 4)), 0.02)
    y = net(op, y, **attributes)
    z = net("Conv", net.rounded(y, 0.02), net.kernels(9, 20, 3, 3))
    model = net.model(net.rounded(net(op, net.rounded(z), **attributes)), (1, 6, 13, 17))

    def outputs() -> tuple[list[int], bytes]:
        loadable = compiled(model, target)
        surfaces = [
            operation.surface
            for task in decode_tasks(loadable)
            for operation in task.operations
            if isinstance(operation, Operation) and isinstance(operation.op, PdpOp)
        ]
        types = [surface.src_data.type for surface in surfaces if isinstance(surface, PdpSurface)]
        simulator = Simulator(loadable, load_target(target))
        integers = np.random.default_rng(4).integers(-128, 128, simulator.inputs[0].shape)
        return types, simulator.run([integers.astype(np.int8)])[0].raw

    def from_memory(conv: ConvOp, producer: SdpOp, pooling: PoolOp, target: NvdlaTarget) -> bool:
        return False

    sources, flowing = outputs()
    assert MemoryType.HW in sources
    monkeypatch.setattr(dla_fuse, "flows_faster", from_memory)
    sources, stored = outputs()
    assert MemoryType.HW not in sources
    assert flowing == stored


def test_sums_of_wide_rows_are_looked_up(compiled: Any, tmp_path: Path):
    net = Net()
    sums = net("Conv", net.rounded("x0"), net.kernels(3, 4000, 1))
    model = net.model(net.rounded(net("Sigmoid", sums), 1 / 127), (1, 4000, 152))
    simulator = Simulator(compiled(model, "nv_large"), load_target("nv_large"))
    image = np.random.default_rng(2).standard_normal((1, 4000, 152)).astype(np.float32)
    (output,) = simulator.run([image.reshape(simulator.inputs[0].shape)])
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    expected = np.asarray(ReferenceModel(path).run({"x0": image})[0])
    assert np.abs(output.numbers.reshape(expected.shape) - expected).max() < 1.5 / 127


@pytest.mark.parametrize("zero", [-128, -3, 90])
@pytest.mark.parametrize("target", TARGETS)
def test_sums_of_stored_cubes_are_rounded_once(target: str, zero: int, compiled: Any):
    """The zero of one is no integer multiple of the scale of the other."""
    net = Net()
    a, b = net.rounded("x0", 0.031, zero), net.rounded("x1", 0.017, zero)
    model = net.model(net.rounded(net("Add", a, b), 0.04, zero // 2), (1, 4, 5, 6), (1, 4, 5, 6))
    simulator = Simulator(compiled(model, target), load_target(target))
    generator = np.random.default_rng(2)
    integers = [generator.integers(-40, 40, port.shape).astype(np.int8) for port in simulator.inputs]
    (output,) = simulator.run(integers)
    assert output.grid is not None
    grids = [port.grid for port in simulator.inputs if port.grid is not None]
    numbers = [grid.dequantize(each).astype(np.float64) for grid, each in zip(grids, integers, strict=True)]
    exact = np.clip(sum(numbers) / output.grid.scale + output.grid.zero_point, -128, 127)
    assert np.abs(output.tensor - exact).max() < 0.51


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", ["GlobalAveragePool", "AveragePool"])
def test_means_in_finer_steps_are_rounded_once(op: str, target: str, compiled: Any):
    """The PDP would round to steps of the source, ten times as coarse."""
    net = Net()
    attributes = {} if op == "GlobalAveragePool" else {"kernel_shape": [7, 5]}
    model = net.model(net.rounded(net(op, net.rounded("x0", 0.1, -9), **attributes), 0.01, 4), (1, 20, 7, 5))
    simulator = Simulator(compiled(model, target), load_target(target))
    (port,) = simulator.inputs
    integers = np.random.default_rng(2).integers(-25, 10, port.shape).astype(np.int8)
    (output,) = simulator.run([integers])
    assert output.grid is not None
    exact = (integers.astype(np.float64) + 9).mean(axis=(2, 3)) * 0.1
    levels = np.clip(exact / output.grid.scale + output.grid.zero_point, -128, 127)
    assert np.abs(output.tensor.reshape(levels.shape) - levels).max() < 0.51


@pytest.mark.parametrize("zero", [-9, 0])
@pytest.mark.parametrize("shape", [(56, 56), (17, 30), (70, 9)])
def test_means_of_large_images_are_nearly_rounded_once(shape: tuple[int, int], zero: int, compiled: Any):
    """The PDP takes means of blocks, some of them padded, and a convolution adds those exactly."""
    net = Net()
    output = net.rounded(net("GlobalAveragePool", net.rounded("x0", 0.1, zero)), 0.01, 4)
    simulator = Simulator(compiled(net.model(output, (1, 9, *shape)), "nv_small"), load_target("nv_small"))
    (port,) = simulator.inputs
    integers = np.random.default_rng(2).integers(-25, 10, port.shape).astype(np.int8)
    (output,) = simulator.run([integers])
    assert output.grid is not None
    exact = (integers.astype(np.float64) - zero).mean(axis=(2, 3)) * 0.1
    levels = np.clip(exact / output.grid.scale + output.grid.zero_point, -128, 127)
    # The PDP alone would be off by up to 5 levels.
    assert np.abs(output.tensor.reshape(levels.shape) - levels).max() < 3


@pytest.mark.parametrize("shape", [(1, 4, 40, 36), (1, 4, 6, 5)])
@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum"])
def test_reductions_of_rows_and_columns(op: str, shape: tuple[int, ...], compiled: Any):
    """A convolution with ones adds up to 32 rows and columns; beyond them the PDP takes means."""
    net = Net()
    axes = {"axes": [2, 3]} if op == "ReduceMean" else {}
    operands = (net.rounded("x0", 0.1, -9), *(() if axes else (net.held(np.array([2, 3])),)))
    count = 1 if op == "ReduceMean" else shape[2] * shape[3]
    model = net.model(net.rounded(net(op, *operands, **axes), 0.1 * count, 4), shape)
    simulator = Simulator(compiled(model, "nv_small"), load_target("nv_small"))
    (port,) = simulator.inputs
    of_channel = np.array([-60, -20, 20, 60]).reshape(1, 4, 1, 1)
    integers = (np.random.default_rng(2).integers(-25, 10, port.shape) + of_channel).astype(np.int8)
    (output,) = simulator.run([integers])
    assert output.grid is not None
    exact = (integers.astype(np.float64) + 9).mean(axis=(2, 3)) * 0.1 * count
    levels = np.clip(exact / output.grid.scale + output.grid.zero_point, -128, 127)
    assert np.abs(output.tensor.reshape(levels.shape) - levels).max() < 1.5


def test_sums_over_branches_of_many_channels(compiled: Any):
    """As selective kernels (SKNet) add their branches: a matrix of ones of 180 kB."""
    net = Net()
    branches = net("Reshape", net.rounded("x0", 0.1, -9), net.held(np.array([1, 2, 300, 3, 3])))
    total = net.rounded(net("ReduceSum", branches, net.held(np.array([1])), keepdims=0), 0.2, 4)
    simulator = Simulator(compiled(net.model(total, (1, 600, 3, 3)), "nv_small"), load_target("nv_small"))
    integers = np.random.default_rng(2).integers(-40, 40, (1, 600, 3, 3)).astype(np.int8)
    (output,) = simulator.run([integers])
    assert output.grid is not None
    exact = (integers.astype(np.float64) + 9).reshape(1, 2, 300, 3, 3).sum(axis=1) * 0.1
    levels = np.clip(exact / output.grid.scale + output.grid.zero_point, -128, 127)
    assert np.abs(output.tensor.reshape(levels.shape) - levels).max() < 0.51


def unquantized(net: Net) -> onnx.ModelProto:
    return net.model(net.rounded(net("Conv", net("Relu", "x0"), net.kernels(4, 4, 1, 1))), (1, 4, 3, 3))


def open_end(net: Net) -> onnx.ModelProto:
    return net.model(net("Conv", net.rounded("x0"), net.kernels(4, 4, 1, 1)), (1, 4, 3, 3))


def scaled_by_channel(net: Net) -> onnx.ModelProto:
    grid = net.held(np.full(4, 0.1, np.float32)), net.held(np.zeros(4, net.kind))
    x = net("DequantizeLinear", net("QuantizeLinear", "x0", *grid), *grid)
    return net.model(x, (1, 4, 3, 3))


def difference(net: Net) -> onnx.ModelProto:
    x = net.rounded("x0")
    return net.model(net.rounded(net("Sub", net("Conv", x, net.kernels(4, 4, 1, 1)), x)), (1, 4, 3, 3))


def one_large_kernel(net: Net) -> onnx.ModelProto:
    y = net("Conv", net.rounded("x0"), net.kernels(1, 8192, 4, 4))
    return net.model(net.rounded(y), (1, 8192, 4, 4))


def two_sums(net: Net) -> onnx.ModelProto:
    x = net.rounded("x0")
    y = net("Add", net("Conv", x, net.kernels(4, 4, 1, 1)), net("Conv", x, net.kernels(4, 4, 1, 1)))
    return net.model(net.rounded(y), (1, 4, 3, 3))


def cumulated(net: Net) -> onnx.ModelProto:
    return net.model(net.rounded(net("CumSum", net.rounded("x0"), net.held(np.int64(1)))), (1, 4, 3, 3))


def mean_of_channels_and_many_rows(net: Net) -> onnx.ModelProto:
    x = net.rounded("x0")
    return net.model(net.rounded(net("ReduceMean", x, axes=[1, 2, 3])), (1, 4, 40, 36))


def product(net: Net) -> onnx.ModelProto:
    a, b = net.rounded("x0", zero=3), net.rounded("x1", zero=4)
    return net.model(net.rounded(net("Mul", a, b)), (1, 4), (1, 4))


def with_row(net: Net, op: str) -> onnx.ModelProto:
    """A row is broadcast to rows, though its cube has as many channels as the other and one position."""
    a, b = net.rounded("x0"), net.rounded("x1")
    return net.model(net.rounded(net(op, a, b)), (1, 8, 8, 8), (1, 8))


def quotient(net: Net) -> onnx.ModelProto:
    return net.model(net.rounded(net("Div", net.rounded("x0"), net.rounded("x1"))), (1, 4), (1, 4))


def zero_divisor(net: Net) -> onnx.ModelProto:
    divisor = net.held(np.array([1, 0, 2, 3], np.float32))
    return net.model(net.rounded(net("Div", net.rounded("x0"), divisor)), (1, 4))


def late_quotient(net: Net) -> onnx.ModelProto:
    rectified = net("Relu", net.rounded("x0"))
    return net.model(net.rounded(net("Div", rectified, net.numbers(4))), (1, 4))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            unquantized,
            "relu0 (Relu): a float input that no QuantizeLinear reads; quantize it, or calibrate",
        ),
        (open_end, "a float output; insert QuantizeLinear and DequantizeLinear after it, or calibrate"),
        (scaled_by_channel, "4 scales for one tensor of activations (the engines take one)"),
        (
            difference,
            "more than one operand is not quantized as it is added; quantize all but one (of a subtraction "
            "the first), or calibrate",
        ),
        (
            one_large_kernel,
            "a 8192x4x4 kernel does not fit the convolution buffer of 131072 bytes (partial sums would be "
            "quantized to int8)",
        ),
        (two_sums, "more than one operand is not quantized as it is added; quantize all but one"),
        (cumulated, "(CumSum): the DLA has no int8 form of this operator; in a package"),
        (quotient, "(Div): a divisor that is not constant (the SDP multiplies only); in a package"),
        (zero_divisor, "(Div): the divisor contains zeros; in a package"),
        (late_quotient, "(Div): a factor after a clamp or a sum; quantize in between"),
        (
            mean_of_channels_and_many_rows,
            "[1, 4, 40, 36] to [1, 1, 1, 1]: a reduction of channels too (the PDP takes rows and columns)",
        ),
        (product, "both factors have zero points other than 0"),
        *(
            (partial(refused_when_quantized, op=op, **attributes), message)
            for op, attributes, message in (
                (
                    "MaxPool",
                    {"kernel_shape": [2, 2], "dilations": [2, 2]},
                    "maxpool2 (MaxPool): dilations [2, 2] (the PDP takes 1)",
                ),
                ("SpaceToDepth", {"blocksize": 9}, "spacetodepth2 (SpaceToDepth): stride 9"),
            )
        ),
        *(
            (partial(windows_beyond_padding, size=size), "a last window beyond the padding")
            for size in (3, 9)
        ),
        (windows_cut_much, "factors of 1.91 to 37.3 for means whose windows padding cuts (8 bits are too"),
        *(
            (partial(with_row, op=op), "a selection of [8, 1, 1] to [8, 8, 8] that mixes channels, rows and")
            for op in ("Add", "Mul", "Max")
        ),
    ],
)
def test_refusals(make: Make, message: str, compiled: Any):
    with pytest.raises(RefusalError) as caught:
        compiled(make(Net()), "nv_small")
    assert message in str(caught.value)


def test_floats_are_no_task_for_nv_small(build: Callable[..., onnx.ModelProto], compiled: Any):
    with pytest.raises(RefusalError, match="nv_small computes in int8; the model needs fp16"):
        compiled(build("y = Relu(x)"), "nv_small")


def test_an_input_that_is_an_output_too_is_on_two_grids(compiled: Any):
    net = Net(np.uint8)
    net.rounded("x0", 2.0, 0)
    model = net.model("v0", (1, 6))
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.UINT8
    simulator = Simulator(compiled(model, "nv_small"), load_target("nv_small"))
    given = np.array([0, 2, 3, 1000, -254, -1000], np.float32).reshape(1, 6, 1, 1)
    (output,) = simulator.run([given])
    assert output.numbers.reshape(-1).tolist() == [128, 129, 130, 255, 1, 0]


def test_integers_go_in_and_out(compiled: Any):
    model = conv(Net(np.int8))
    simulator = Simulator(compiled(model, "nv_small"), load_target("nv_small"))
    (port,) = simulator.inputs
    assert port.grid is not None
    assert port.grid.zero_point == -5
    numbers = np.random.default_rng(1).standard_normal(port.shape).astype(np.float32)
    (from_numbers,), (from_integers,) = simulator.run([numbers]), simulator.run([port.grid.quantize(numbers)])
    assert from_numbers.tensor.dtype == np.int8
    assert np.array_equal(from_numbers.tensor, from_integers.tensor)
