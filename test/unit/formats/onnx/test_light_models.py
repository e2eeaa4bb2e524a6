"""Light models with seeded weights."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest

from xonnc.errors import XonncError
from xonnc.formats.onnx.light_models import light_model, light_names

CHECK: Callable[[onnx.ModelProto], None] = vars(onnx.checker)["check_model"]
"""The checker of the reference library, whose own annotation is incomplete."""


def test_squeezenet_is_whole_and_always_the_same() -> None:
    model = light_model("squeezenet")
    CHECK(model)
    assert model.SerializeToString() == light_model("squeezenet").SerializeToString()
    assert model.SerializeToString() != light_model("squeezenet", seed=1).SerializeToString()
    assert not [node for node in model.graph.node if node.op_type == "ConstantOfShape"]
    weights = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    assert weights["conv1_w_0"] == (64, 3, 3, 3)
    assert sum(len(tensor.raw_data) for tensor in model.graph.initializer) > 4_900_000


def test_an_unknown_network_is_refused() -> None:
    with pytest.raises(XonncError, match=r"no light model 'vgg20'; there are .*vgg19"):
        light_model("vgg20")
    assert "resnet50" in light_names()
