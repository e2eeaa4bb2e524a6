"""Whole networks of the `onnx` package with seeded weights of the real size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xonnc.formats.nvdla.text import dump_text
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.formats.onnx.light_models import light_model
from xonnc.lowering.dla_to_loadable.stages import CompiledLoadable, compile_to_loadable

Compiled = Callable[[onnx.ModelProto], CompiledLoadable]
Simplified = Callable[[onnx.ModelProto], ModuleOp]


@pytest.mark.parametrize(
    ("name", "engines", "peak"),
    [
        ("squeezenet", {"CONV": 94, "SDP": 95, "PDP": 8, "EMU": 1}, 1_964_288),
        ("resnet50", {"CONV": 251, "SDP": 251, "PDP": 5, "EMU": 1}, 2_609_152),
        ("inception_v2", {"CONV": 264, "SDP": 264, "PDP": 16, "EMU": 1}, 2_007_040),
    ],
)
def test_layers_and_memory(name: str, engines: dict[str, int], peak: int, compiled: Compiled):
    report = compiled(light_model(name)).report
    assert report.layers_by_engine == engines
    assert report.activation_bytes == report.activation_lower_bound == peak


def test_shuffled_groups_take_as_little_as_any_order_allows(compiled: Compiled):
    # Cubes that several layers write part by part, beside ones that they read alike: 1,605,632 as given.
    report = compiled(light_model("shufflenet")).report
    assert report.activation_bytes == report.activation_lower_bound == 1_455_104


def test_activations_take_as_little_as_any_order_allows(
    build: Callable[..., onnx.ModelProto], compiled: Compiled
):
    # The narrow branch last, the sum in the place of an operand: in the order given, 576 KiB are alive.
    model = build(
        "a = Conv(x, wa)\nb = Conv(x, wb)\nc = Conv(x, wc)\nd = Conv(a, wd)\ne = Conv(c, we)\ns = Add(d, e)\n"
        "y = GlobalAveragePool(b)\nz = GlobalAveragePool(s)",
        x=(1, 16, 32, 32),
        weights={
            "wa": (128, 16, 1, 1),
            "wb": (16, 16, 1, 1),
            "wc": (32, 16, 1, 1),
            "wd": (128, 128, 1, 1),
            "we": (128, 32, 1, 1),
        },
        outputs=("y", "z"),
    )
    report = compiled(model).report
    assert (
        report.activation_bytes == report.activation_peak == report.activation_lower_bound == 2 * 256 * 1024
    )


def test_squeezenet_agrees_with_onnxruntime(deviation: Callable[[onnx.ModelProto], float]):
    assert deviation(light_model("squeezenet")) < 0.01


def test_the_same_network_gives_the_same_bytes(build: Callable[..., onnx.ModelProto], compiled: Compiled):
    model = build(
        "c = Conv<pads=[1,1,1,1]>(x, w, b)\nr = Relu(c)\ns = Add(r, x)\ny = MaxPool<kernel_shape=[2,2]>(s)",
        weights={"w": (3, 3, 3, 3), "b": (3,)},
    )
    first, second = (to_bytes(compiled(model).loadable) for _ in range(2))
    assert first == second


def test_stages_are_shown_in_order(
    build: Callable[..., onnx.ModelProto], simplified: Simplified, context: Context
):
    seen: list[tuple[str, bool]] = []

    def on_stage(stage: str, module: ModuleOp) -> None:
        module.verify()
        seen.append((stage, "dla.surface" in str(module)))

    compile_to_loadable(simplified(build("y = Relu(x)")), "nv_full", context, on_stage)
    assert seen == [("dla", False), ("scheduled", False), ("allocated", True)]


def test_tensors_keep_their_names_and_shapes(build: Callable[..., onnx.ModelProto], compiled: Compiled):
    model = build("a = Relu(x)\nb = Neg(z)", inputs={"x": (1, 3, 4, 5), "z": (1, 7)}, outputs=("b", "a"))
    loadable = compiled(model).loadable
    tensors = [(tensor.name, tensor.c, tensor.h, tensor.w) for tensor in loadable.tensors]
    assert tensors == [("x", 3, 4, 5), ("z", 7, 1, 1), ("b", 7, 1, 1), ("a", 3, 4, 5)]
    memories = [loadable.memories[tensor.mem_id] for tensor in loadable.tensors]
    assert [memory.bind_id for memory in memories] == [0, 1, 0, 1]


def test_an_emulated_operation_is_a_task_between_tasks(
    build: Callable[..., onnx.ModelProto], compiled: Compiled
):
    loadable = compiled(build("s = Softmax(x)\nr = Neg(s)\ny = Softmax(r)", x=(1, 32))).loadable
    assert [task.interface for task in loadable.tasks] == [2, 1, 2]
    assert [submit.task_id for submit in loadable.submits] == [(0,), (1,), (2,)]


def test_padded_averages_need_no_pass_of_their_own_before_a_convolution(
    build: Callable[..., onnx.ModelProto], compiled: Compiled
):
    model = build(
        "a = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)\nc = Conv(a, w)\ny = Relu(c)",
        weights={"w": (16, 3, 1, 1)},
    )
    assert compiled(model).report.layers_by_engine == {"PDP": 1, "CONV": 1, "SDP": 1}


def test_an_unused_input(build: Callable[..., onnx.ModelProto], compiled: Compiled):
    loadable = compiled(build("y = Relu(x)", inputs={"x": (1, 3, 4, 4), "z": (1, 3, 4, 4)})).loadable
    assert [tensor.name for tensor in loadable.tensors] == ["x", "z", "y"]


def test_nodes_are_counted_by_engine(build: Callable[..., onnx.ModelProto], compiled: Compiled):
    model = build(
        "c = Conv(x, w)\nr = Relu(c)\np = MaxPool<kernel_shape=[6,6]>(r)\nf = Flatten(p)\ny = Softmax(f)",
        weights={"w": (16, 3, 3, 3)},
    )
    report = compiled(model).report
    assert report.nodes_by_engine == {"CONV": 1, "EMU": 1, "PDP": 1, "SDP": 1, "view": 1}
    assert report.layers_by_engine == {"CONV": 1, "EMU": 1, "PDP": 1, "SDP": 1}


def test_a_constant_cube_counts_by_surface(build: Callable[..., onnx.ModelProto], compiled: Compiled):
    weights = {"w": (1, 40, 4, 4)}
    report = compiled(build("y = Add(x, w)", inputs={"x": (1, 40, 4, 4)}, weights=weights)).report
    # 40 FP16 channels are three surfaces of 16, of 32 bytes a position.
    assert report.weight_bytes == 3 * 16 * 32


def test_a_report_counts_the_work(build: Callable[..., onnx.ModelProto], compiled: Compiled):
    weights = {"w": (16, 3, 3, 3), "b": (16,)}
    report = compiled(build("c = Conv(x, w, b)\ny = Relu(c)", weights=weights)).report
    assert report.macs == 16 * 3 * 3 * 3 * 6 * 6
    assert report.weight_bytes == 16 * 27 * 2 + 32 + (-(16 * 27 * 2) % 128)
    (layer,) = report.layers
    assert layer.engines == ("CONV", "SDP")
    assert layer.node == "Relu_1"
    # Input 8x8 in one surface, output 6x6 in one, the weights.
    assert layer.traffic_bytes == 64 * 32 + 36 * 32 + report.weight_bytes
    assert layer.cycles == layer.end > layer.traffic_bytes / 10
    assert report.milliseconds == pytest.approx(report.cycles / 1e6)
    assert report.dram_bytes == report.activation_bytes + report.weight_bytes + 64 * 32 + 36 * 32


def test_weights_are_packed_only_when_written(build: Callable[..., onnx.ModelProto], compiled: Compiled):
    loadable = compiled(build("y = Conv(x, w)", weights={"w": np.ones((16, 3, 3, 3), np.float32)})).loadable
    weights = loadable.by_name["tb-0"].data
    assert not isinstance(weights, bytes | memoryview)
    assert np.frombuffer(bytes(weights), np.float16)[: 16 * 27].tolist() == [1.0] * 16 * 27
    assert "tb-0" in dump_text(loadable)
