"""Convolutions of volumes compute windows of planes as images (`krnl.conv` with `plane_step`)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper

from xonnc.native import compile_native
from xonnc.native_compilation import resolve_processor

RANDOM = np.random.default_rng(3)

WEIGHTS = {
    "w": (20, 18, 3, 3, 3),
    "b": (20,),
    "flat": (16, 18, 1, 3, 2),
    "tall": (33, 18, 2, 1, 1),
    "few": (4, 18, 3, 3, 3),
    "parts": (18, 9, 3, 3, 3),
    "to3": (3, 18, 1, 1, 1),
    "from3": (16, 3, 3, 3, 3),
}

VOLUMES = {
    "dense": "a# = Conv<pads=[1,1,1,1,1,1]>(x, w, b)",
    "strided": "a# = Conv<strides=[2,3,2], pads=[0,1,1,2,0,1]>(x, w)",
    "strides longer than windows": "a# = Conv<strides=[3,2,4], pads=[1,0,0,0,1,1]>(x, tall)",
    "same": 'a# = Conv<auto_pad="SAME_UPPER", strides=[2,2,2]>(x, w, b)',
    "same, last pad first": 'a# = Conv<auto_pad="SAME_LOWER", strides=[1,2,3]>(x, flat)',
    "dilated rows": "a# = Conv<dilations=[1,2,3], pads=[1,2,3,1,2,3]>(x, w)",
    "few channels": "c# = Conv(x, to3)\n a# = Conv<pads=[1,1,1,1,1,1]>(c#, from3)",
}

IM2COL = {
    "dilated planes": "a# = Conv<dilations=[2,1,1], pads=[2,1,1,2,1,1]>(x, w)",
    "few filters": "a# = Conv<pads=[1,1,1,1,1,1]>(x, few)",
}


def model(text: str, sizes: Sequence[int | str]) -> ModelProto:
    shape = ",".join(map(str, (sizes[0], 18, *sizes[1:])))
    head = f'<ir_version: 8, opset_import: ["" : 17]> m (float[{shape}] x) => (float[n,c,p,q,r] y)'
    found = onnx.parser.parse_model(f"{head} {{ {text.replace('#', '')}\n y = Relu(a) }}")
    used = {name for node in found.graph.node for name in node.input}
    for name in sorted(used & WEIGHTS.keys()):
        array = RANDOM.normal(size=WEIGHTS[name]) / np.sqrt(np.prod(WEIGHTS[name][1:]))
        found.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return found


def check(made: ModelProto, shapes: Sequence[tuple[int, ...]], threads: int = 1) -> str:
    """Compare results for volumes of some shapes with onnxruntime; return the kernels."""
    session = compile_native(made, threads=threads)
    reference = import_module("onnxruntime").InferenceSession(made.SerializeToString())
    for volumes, *sizes in shapes:
        x = RANDOM.normal(size=(volumes, 18, *sizes)).astype(np.float32)
        x.reshape(-1)[:1], x.reshape(-1)[-1:] = -0.0, np.inf
        (found,), (expected,) = session.run(None, {"x": x}), reference.run(None, {"x": x})
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-4)
    assert session.compiled == 1
    assert not session.host_calls()
    return " ".join(line.what for line in session.report())


@pytest.mark.parametrize("name", VOLUMES)
def test_any_sizes(name: str):
    kernels = check(model(VOLUMES[name], "ndhw"), [(1, 5, 6, 7), (3, 8, 4, 17), (2, 3, 5, 4)])
    assert "planes_" in kernels
    assert "im2col" not in kernels


@pytest.mark.parametrize("volumes", [1, 2])
def test_known_sizes(volumes: int):
    sizes = volumes, 4, 5, 6
    assert "planes_" in check(model(VOLUMES["strided"], sizes), [sizes], threads=2)


@pytest.mark.parametrize("name", IM2COL)
def test_others_multiply_by_elements_of_windows(name: str):
    assert "im2col" in check(model(IM2COL[name], "ndhw"), [(2, 5, 6, 7)])


@pytest.mark.parametrize("volumes", [1, 2])
def test_flat_volumes_do_not_compute_results_that_are_left_out(volumes: int):
    made = model(VOLUMES["dense"], (volumes, 1, 5, 6))
    assert ("im2col" in check(made, [(volumes, 1, 5, 6)])) == (volumes > 1)


@pytest.mark.parametrize(("columns", "kernel"), [(3, "im2col"), (4, "planes_")])
def test_short_rows_do_not_each_read_weights_from_beyond_l2(columns: int, kernel: str):
    filters = resolve_processor("cpu").core.l2_bytes // (4 * 18 * 27) + 1
    made = model("a# = Conv<pads=[1,1,1,1,1,1]>(x, many)", (1, 1, 2, columns))
    many = RANDOM.normal(size=(filters, 18, 3, 3, 3)).astype(np.float32) / 20
    made.graph.initializer.append(numpy_helper.from_array(many, "many"))
    assert kernel in check(made, [(1, 1, 2, columns)])


def test_groups_are_compiled_for_each_size():
    made = model("a# = Conv<pads=[1,1,1,1,1,1], group=2>(x, parts)", (2, 4, 5, 6))
    assert "im2col" in check(made, [(2, 4, 5, 6)])


def test_no_volumes():
    made = model(VOLUMES["dense"], "ndhw")
    (found,) = compile_native(made).run(None, {"x": np.zeros((0, 18, 4, 5, 6), np.float32)})
    assert np.asarray(found).shape == (0, 20, 4, 5, 6)
