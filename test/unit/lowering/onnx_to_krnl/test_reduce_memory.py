"""Convolutions that are changed where a model needs the most memory: the same numbers in fewer bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from native_nodes import Reference
from onnx import numpy_helper

from xonnc.artifacts import planned_module
from xonnc.dialects.krnl.memory import CallOp
from xonnc.lowering.native.module_memory_map import memory_map
from xonnc.native import compile_native
from xonnc.verification_models import open_compiled_c

Array = npt.NDArray[Any]

RANDOM = np.random.default_rng(7)

CHANGES = "reduce-memory-onnx"


def weights(*shape: int) -> Array:
    return (RANDOM.standard_normal(shape) / 8).astype(np.float32)


def model_of(
    nodes: str, shape: Sequence[int | str], constants: Mapping[str, Array], rank: int = 4
) -> onnx.ModelProto:
    sizes, result = ",".join(map(str, shape)), ",".join(f"d{axis}" for axis in range(rank))
    ends = f"(float[{sizes}] x) => (float[{result}] y)"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 19]> g {ends} {{ {nodes} }}')
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return model


def expected(model: onnx.ModelProto, x: Array) -> Array:
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    return np.asarray(reference.run(None, {"x": x})[0], np.float32)


def check(model: onnx.ModelProto, x: Array, threads: int) -> Array:
    """Results are bit for bit those without the pass; return them."""
    sessions = [
        compile_native(model, cache=False, threads=threads, disable_pass=disabled)
        for disabled in ((), (CHANGES,))
    ]
    found, without = (np.asarray(session.run(None, {"x": x})[0]) for session in sessions)
    np.testing.assert_array_equal(found, without)
    return found


def check_numbers(model: onnx.ModelProto, x: Array, threads: int = 1) -> None:
    """Results are also those of the reference evaluator."""
    np.testing.assert_allclose(check(model, x, threads), expected(model, x), rtol=2e-4, atol=2e-4)


POOLED = {
    "an epilogue, odd sizes, pads": (
        "a = Conv<pads=[3,3,3,3],strides=[2,2]>(x, w, b) h = HardSwish(a)"
        " y = MaxPool<kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]>(h)",
        (1, 3, 45, 39),
        {"w": weights(64, 3, 7, 7), "b": weights(64)},
    ),
    "bounds, read twice, with the halo of one reader": (
        "a = Conv<pads=[1,1,1,1]>(x, w, b) l = Constant<value_float=-0.5>() m = Constant<value_float=0.5>()"
        " r = Clip(a, l, m) p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(r)"
        " c = Conv<pads=[1,1,1,1]>(p, v) d = Relu(c) y = Add(d, p)",
        (1, 16, 30, 22),
        {"w": weights(64, 16, 3, 3), "b": weights(64), "v": weights(64, 64, 3, 3)},
    ),
    "a mean, many channels, no bias": (
        "a = Conv(x, w) p = AveragePool<kernel_shape=[3,3],pads=[0,0,1,1],strides=[3,3]>(a) y = Exp(p)",
        (1, 5, 32, 32),
        {"w": weights(256, 5, 1, 1)},
    ),
    "dilations and a pool that counts pads": (
        "a = Conv<dilations=[2,2],pads=[2,2,2,2]>(x, w, b) r = Relu(a)"
        " p = AveragePool<kernel_shape=[2,2],pads=[1,1,1,1],strides=[2,2],count_include_pad=1>(r) y = Neg(p)",
        (1, 32, 17, 23),
        {"w": weights(128, 32, 3, 3), "b": weights(128)},
    ),
    "the result of the model": (
        "a = Conv(x, w, b) y = MaxPool<kernel_shape=[2,2],strides=[2,2],ceil_mode=1>(a)",
        (1, 3, 33, 30),
        {"w": weights(64, 3, 3, 3), "b": weights(64)},
    ),
}


def kernels_of(nodes: str, shape: tuple[int, ...], constants: Mapping[str, Array], threads: int) -> list[str]:
    """Compare the numbers of a model of nodes; return the names of its kernels."""
    model = model_of(nodes, shape, constants)
    check_numbers(model, RANDOM.standard_normal(shape).astype(np.float32), threads)
    return [name for line in compile_native(model, cache=False).report() for name in line.what.split()]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", POOLED)
def test_pooled_convolutions_are_split(name: str, threads: int):
    nodes = POOLED[name][0]
    kernels = kernels_of(*POOLED[name], threads)
    assert sum(kernel.startswith("conv") for kernel in kernels) > nodes.count("Conv"), kernels


def test_numbers_that_are_not_finite_stay_in_their_channels_and_windows():
    nodes, shape, constants = POOLED["the result of the model"]
    x = RANDOM.standard_normal(shape).astype(np.float32)
    x[0, 0, 4, 4], x[0, 1, 20, 9], x[0, 2, 30, 20] = np.nan, np.inf, -np.inf
    found = check(model_of(nodes, shape, constants), x, threads=1)
    assert 0 < np.count_nonzero(np.isinf(found)) < found.size / 4


def test_one_spatial_axis():
    nodes = "a = Conv<pads=[2,2]>(x, w) r = Relu(a) y = MaxPool<kernel_shape=[4],strides=[4]>(r)"
    model = model_of(nodes, (1, 3, 500), {"w": weights(64, 3, 5)}, rank=3)
    check_numbers(model, RANDOM.standard_normal((1, 3, 500)).astype(np.float32))


@pytest.mark.parametrize("shape", [(2, 3, 20, 20), ("n", 3, 20, 20)])
def test_several_images_and_dynamic_batches(shape: Sequence[int | str]):
    nodes = "a = Conv(x, w) r = Relu(a) y = MaxPool<kernel_shape=[2,2],strides=[2,2]>(r)"
    model = model_of(nodes, shape, {"w": weights(64, 3, 3, 3)})
    for count in (2,) if shape[0] == 2 else (0, 1, 3):
        check_numbers(model, RANDOM.standard_normal((count, 3, 20, 20)).astype(np.float32))


def planned(model: onnx.ModelProto) -> int:
    return memory_map(planned_module(model, "avx512")).size


def test_the_plan_is_smaller():
    layers = "p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(r) g = GlobalAveragePool(p) y = Exp(g)"
    model = model_of(f"a = Conv(x, w) r = Relu(a) {layers}", (1, 3, 64, 64), {"w": weights(64, 3, 1, 1)})
    image, pooled = 64 * 64 * 64 * 4, 64 * 32 * 32 * 4
    assert planned(model) == image // 2 + pooled


TAKEN = {
    "the branches of a residual block": (
        "r = Relu(x) m = Conv(r, e) s = Relu(m) a = Conv(s, u) b = Relu(a)"
        " c = Conv<pads=[1,1,1,1],strides=[2,2]>(b, v) d = Conv<strides=[2,2]>(s, w, o)"
        " t = Add(c, d) q = Relu(t) y = Neg(q)",
        (1, 16, 28, 28),
        {"e": weights(64, 16, 1, 1), "u": weights(32, 64, 1, 1), "v": weights(128, 32, 3, 3),
         "w": weights(128, 64, 1, 1), "o": weights(128)},
    ),
    "odd sizes, strides of each axis, two images": (
        "m = Conv<pads=[1,1,1,1]>(x, e) s = HardSwish(m) a = Conv<pads=[1,1,1,1]>(s, v)"
        " g = GlobalAveragePool(a) d = Conv<strides=[3,2]>(s, w) y = Mul(d, g)",
        (2, 16, 25, 27),
        {"e": weights(48, 16, 3, 3), "v": weights(16, 48, 3, 3), "w": weights(16, 48, 1, 1)},
    ),
    "one reader": (
        "m = Conv(x, e) s = Relu(m) d = Conv<strides=[2,2]>(s, w) y = Neg(d)",
        (1, 3, 31, 29),
        {"e": weights(64, 3, 1, 1), "w": weights(256, 64, 1, 1)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", TAKEN)
def test_pixels_are_taken_from_an_image_that_no_one_else_reads(name: str, threads: int):
    kernels = kernels_of(*TAKEN[name], threads)
    assert sum(kernel.startswith("pixels") for kernel in kernels) == 1, kernels


def test_pixels_that_are_not_finite_are_taken_as_they_are():
    nodes, shape, constants = TAKEN["one reader"]
    x = RANDOM.standard_normal(shape).astype(np.float32)
    x[0, :, 4, 4], x[0, :, 5, 5] = np.nan, np.inf
    found = check(model_of(nodes, shape, constants), x, threads=1)
    assert np.isnan(found[0, :, 2, 2]).all()
    assert np.isnan(found).sum() == found.shape[1]


def test_pixels_lie_where_the_image_did():
    nodes, shape, constants = TAKEN["the branches of a residual block"]
    model = model_of(nodes, shape, constants)
    image, branch = 64 * 28 * 28 * 4, 32 * 29 * 29 * 4
    # The image and the result of its reader, with a halo above and to the left.
    assert planned(model) == image + branch
    calls = [op for op in planned_module(model, "avx512").walk() if isinstance(op, CallOp)]
    (taking,) = [call for call in calls if call.sequential is not None]
    assert taking.func_name.data.startswith("pixels")
    assert taking.in_place_pairs == [(0, 1)]


@pytest.mark.parametrize(
    "name",
    [
        "a mean, many channels, no bias",
        "dilations and a pool that counts pads",
        "the result of the model",
        "odd sizes, strides of each axis, two images",
    ],
)
def test_c_source_gives_the_same_numbers(name: str):
    """
    Of the models above, those of each kernel: split convolutions with both pools, taken pixels, and a pool in
    parts that have to follow each other.
    """
    nodes, shape, constants = {**POOLED, **TAKEN}[name]
    model = model_of(nodes, shape, constants)
    x = RANDOM.standard_normal(shape).astype(np.float32)
    compiled = open_compiled_c(model, "model")
    found = np.asarray(compiled.run({"x": x})[0], np.float32)
    np.testing.assert_allclose(found, expected(model, x), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("negative_zero", [0.0, -0.0])
def test_a_mean_of_one_element_is_that_element(negative_zero: float):
    model = model_of("y = AveragePool<kernel_shape=[1,1],strides=[2,3]>(x)", (1, 2, 5, 7), {})
    x = RANDOM.standard_normal((1, 2, 5, 7)).astype(np.float32)
    x[0, 0, 0, :4] = negative_zero, 1, np.nan, np.inf
    found = np.asarray(compile_native(model, cache=False).run(None, {"x": x})[0], np.float32)
    np.testing.assert_array_equal(found.view(np.int32), x[:, :, ::2, ::3].copy().view(np.int32))
