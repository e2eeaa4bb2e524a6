"""Random layers and networks on the NVDLA; `bench/nvsweep.py` runs thousands of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from oracles.nvdla import sweep
from oracles.nvdla.random_networks import LAYERS, NetworkRecipe, RecipeLayer, model_of, random_recipe
from oracles.nvdla.sweep import outcome_of, reduced
from xonnc.runtime.nvdla.simulator import Output, Simulator

CONFIGURATIONS = (("nv_full", False), ("nv_full", True), ("nv_large", True), ("nv_small", True))


@pytest.mark.covering(1)
@pytest.mark.parametrize(("target", "is_integer"), CONFIGURATIONS)
@pytest.mark.parametrize("seed", range(20))
def test_random_layers(seed: int, target: str, is_integer: bool):
    outcome = outcome_of(random_recipe(seed, is_integer=is_integer, layers=1), target)
    assert not outcome.fails, outcome


@pytest.mark.parametrize(("target", "is_integer"), CONFIGURATIONS)
@pytest.mark.parametrize("seed", range(1000, 1005))
def test_random_networks(seed: int, target: str, is_integer: bool):
    outcome = outcome_of(random_recipe(seed, is_integer=is_integer), target)
    assert not outcome.fails, outcome


FAILED = {
    8589934815: "a clamp in a pass of its own, on integers",
    8589934777: "kernels of which one tap reads the image",
    8589934602: "a row that is concatenated for a convolution that skips it",
}


@pytest.mark.parametrize("seed", FAILED, ids=FAILED.values())
def test_networks_that_failed(seed: int):
    assert outcome_of(random_recipe(seed, is_integer=True), "nv_full").kind == "agrees"


@pytest.mark.parametrize("seed", [755, 1079, 1721])
def test_long_kernels_whose_regions_have_biases_of_their_own(seed: int):
    recipe = random_recipe(seed, is_integer=True, layers=1)
    assert outcome_of(recipe, "nv_small").kind == "agrees"


@pytest.mark.parametrize("kind", LAYERS)
def test_every_kind_of_layer(kind: str):
    outcome = outcome_of(
        NetworkRecipe(5, (16, 9, 8), (RecipeLayer(kind, 11), RecipeLayer("conv", 3)), True), "nv_small"
    )
    assert outcome.kind == "agrees", outcome


FOUND = (
    (
        "nv_small",
        NetworkRecipe(
            1,
            (4, 1, 1),
            (RecipeLayer("concat", 820449), RecipeLayer("residual", 1012508), RecipeLayer("scale", 453330)),
            True,
        ),
    ),
    (
        "nv_small",
        NetworkRecipe(98, (8, 7, 2), (RecipeLayer("transposed", 90965), RecipeLayer("concat", 48037)), True),
    ),
    ("nv_small", NetworkRecipe(3, (1, 1, 1), (RecipeLayer("nearest", 610441),), True)),
    ("nv_small", NetworkRecipe(5, (1, 1, 1), (RecipeLayer("transposed", 56550),), True)),
    (
        "nv_small",
        NetworkRecipe(
            4294967321,
            (8, 1, 2),
            (RecipeLayer("linear", 664101), RecipeLayer("long_kernel", 802630), RecipeLayer("pool", 410745)),
            True,
        ),
    ),
    (
        "nv_full",
        NetworkRecipe(
            3, (1, 1, 2), (RecipeLayer("weighed", 977764), RecipeLayer("added_product", 453330)), False
        ),
    ),
    (
        "nv_full",
        NetworkRecipe(5, (40, 1, 1), (RecipeLayer("transposed", 56550), RecipeLayer("nearest", 3)), False),
    ),
    (
        "nv_full",
        NetworkRecipe(
            2,
            (1, 1, 1),
            (RecipeLayer("gemm", 69260), RecipeLayer("residual", 89858), RecipeLayer("depthwise", 273052)),
            False,
        ),
    ),
)
"""
What sweeps have found: sums of a value and its convolution, written over the value; a pass that reads while
the one before still waits; larger images of a single position, which engines write without gaps; columns that
no tap of a wide dilation reads.
"""


@pytest.mark.parametrize(("target", "recipe"), FOUND)
def test_what_was_found(target: str, recipe: NetworkRecipe):
    assert outcome_of(recipe, target).kind == "agrees"


def test_most_are_taken():
    kinds = [outcome_of(random_recipe(seed, is_integer=True), "nv_small").kind for seed in range(20)]
    assert kinds.count("agrees") >= 18


def test_a_single_wrong_integer_is_found(monkeypatch: pytest.MonkeyPatch):
    run = Simulator.run

    def spoiled(self: Simulator, inputs: Sequence[Any]) -> list[Output]:
        (output,) = run(self, inputs)
        tensor = output.tensor.copy()
        tensor.reshape(-1)[-1] ^= 1
        return [replace(output, tensor=tensor)]

    monkeypatch.setattr(sweep.Simulator, "run", spoiled)
    recipe = NetworkRecipe(3, (5, 7, 3), (RecipeLayer("conv", 7),), True)
    outcome = outcome_of(recipe, "nv_small")
    assert outcome.kind == "differs"
    assert outcome.detail.startswith("1 of ")
    assert outcome.detail.endswith(", by up to 1")


def test_recipes_are_cut_down():
    layers = tuple(RecipeLayer(kind, 5) for kind in ("conv", "pool", "residual", "scale"))
    found = reduced(
        NetworkRecipe(0, (17, 9, 8), layers, True),
        lambda one: any(each.kind == "residual" for each in one.layers),
    )
    assert found == NetworkRecipe(0, (1, 1, 1), (RecipeLayer("residual", 5),), True)


def test_a_recipe_is_always_the_same_model():
    recipe = random_recipe(11, is_integer=True)
    assert recipe == random_recipe(11, is_integer=True)
    assert model_of(recipe).SerializeToString() == model_of(recipe).SerializeToString()
    assert np.array_equal(sweep.image_of(recipe), sweep.image_of(recipe))


def test_no_tile_is_a_single_position_of_a_column():
    """The SDP would take its surfaces as packed; the sweep found it."""
    layers = (RecipeLayer("conv3", 237733), RecipeLayer("conv", 981336))
    recipe = NetworkRecipe(4294976313, (33, 13, 3), layers, True)
    assert outcome_of(recipe, "nv_small").kind == "agrees"


NORMALIZED = """<ir_version: 8, opset_import: ["" : 17]> main (float[1, 4, 3, 2] x) => (float[1, 4, 3, 2] y) {
    s = Constant<value = float {0.05}>()  z = Constant<value = int8 {0}>()
    g = Constant<value = float[4] {1.0, 2.0, 0.5, 1.0}>()
    q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, s, z)
    n = InstanceNormalization(d, g, g)
    r = QuantizeLinear(n, s, z)  y = DequantizeLinear(r, s, z) }"""


def test_integers_beside_nodes_in_fp16_are_not_compared(monkeypatch: pytest.MonkeyPatch):
    """Instance normalization is none of INT8: on nv_full it runs in FP16, with the rounding of that."""

    def normalized(_: NetworkRecipe) -> onnx.ModelProto:
        return onnx.parser.parse_model(NORMALIZED)

    monkeypatch.setattr(sweep, "model_of", normalized)
    recipe = NetworkRecipe(1, (4, 3, 2), (), True)
    assert outcome_of(recipe, "nv_full").kind == "mixed"
