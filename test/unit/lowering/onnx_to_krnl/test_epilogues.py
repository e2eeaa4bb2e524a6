"""What follows a convolution is done to its results before they are stored, with the reference's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

Floats = npt.NDArray[np.float32]

CONV = "v = Conv <pads = [1, 1, 1, 1]> (x, w, b)\n"

HARD_SWISH = "a = Add (v, three)\n k = Clip (a, zero, six)\n m = Mul (k, v)\n y = Div (m, six)"

FORMS = {
    "HardSwish": "y = HardSwish (v)",
    "HardSwish as Paddle writes it": HARD_SWISH,
    "HardSwish of HardSigmoid": "s = HardSigmoid <alpha = 0.166667, beta = 0.5> (v)\n y = Mul (v, s)",
    "LeakyRelu": "y = LeakyRelu <alpha = 0.1> (v)",
    "HardSigmoid": "y = HardSigmoid (v)",
    "numbers on both sides": "a = Sub (three, v)\n y = Div (a, six)",
    "Relu of a sum with a number": "a = Add (v, three)\n y = Relu (a)",
    "Clip after a product": "a = Mul (v, three)\n y = Clip (a, zero, six)",
}

OTHERS = {
    "SiLU": ("s = Sigmoid (v)\n y = Mul (v, s)", ["conv", "mul_fused"]),
    "read by others": ("h = HardSwish (v)\n y = Mul (v, h)", ["conv"]),
    "an output in the middle": ("y = HardSwish (v)\n z = Relu (y)", ["conv", "relu"]),
    "a sum with images": ("h = HardSwish (v)\n p = Add (h, r)\n y = Relu (p)", ["conv", "relu_fused"]),
    "after a sum with images": (
        "u = Conv <pads = [1, 1, 1, 1]> (x, w2)\n p = Add (v, u)\n y = HardSwish (p)",
        ["conv", "conv"],
    ),
    "by channel": ("m = Mul (v, scale)\n y = HardSwish (m)", ["conv"]),
    "by depth": ("d = Conv <group = 24> (v, depth)\n y = HardSwish (d)", ["conv", "depthwise", "hardswish"]),
    "transposed": ("t = ConvTranspose <strides = [2, 2]> (x, up)\n y = HardSwish (t)", ["conv"] * 4),
    "longer than an epilogue may be": (
        "".join(f"h{at + 1} = LeakyRelu <alpha = 0.5> (h{at})\n" for at in range(8)).replace("(h0)", "(v)")
        + "y = Neg (h8)",
        ["conv", "neg_fused"],
    ),
}


class Evaluator(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


def model_of(body: str, batch: str = "2", outputs: Sequence[str] = ("y",)) -> onnx.ModelProto:
    numbers = "float zero = {0.0}, float three = {3.0}, float six = {6.0}"
    given = ", ".join(f"float[p,q,s,t] {name}" for name in outputs)
    made = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 18]> g (float[{batch},16,9,7] x) => ({given})'
        f" <{numbers}> {{ {CONV} {body} }}"
    )
    draw = np.random.default_rng(3)
    shapes = {
        "w": (24, 16, 3, 3),
        "b": (24,),
        "r": (2, 24, 9, 7),
        "scale": (24, 1, 1),
        "depth": (24, 1, 3, 3),
    }
    shapes |= {"up": (16, 24, 2, 2), "w2": (24, 16, 3, 3)}
    read = {name for node in made.graph.node for name in node.input}
    for name in sorted(read & shapes.keys()):
        array = draw.normal(size=shapes[name]).astype(np.float32)
        made.graph.initializer.append(numpy_helper.from_array(array, name))
    return made


def images(count: int = 2) -> Floats:
    return np.random.default_rng(4).normal(size=(count, 16, 9, 7)).astype(np.float32)


def compare(model: onnx.ModelProto, session: Session, x: Floats) -> None:
    evaluator: Evaluator = import_module("onnx.reference").ReferenceEvaluator(model)
    for one, other in zip(session.run(None, {"x": x}), evaluator.run(None, {"x": x}), strict=True):
        expected = np.asarray(other, np.float32)
        np.testing.assert_allclose(np.asarray(one, np.float32), expected, rtol=1e-4, atol=1e-3)


def kernels(session: Session) -> list[str]:
    """What computes; not what moves images into blocks of channels and back."""
    names = [name.rpartition("_")[0] for line in session.report() for name in line.what.split()]
    return [name for name in names if name not in ("block", "halo", "unblock")]


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("form", FORMS)
def test_functions_of_the_results_are_part_of_the_kernel(form: str, target: str):
    model = model_of(FORMS[form])
    session = compile_native(model, target)
    compare(model, session, images())
    assert kernels(session) == ["conv"]


@pytest.mark.parametrize("form", OTHERS)
def test_what_else_follows(form: str):
    body, expected = OTHERS[form]
    outputs = ("y", "z") if "z = " in body else ("y",)
    model = model_of(body, outputs=outputs)
    session = compile_native(model)
    compare(model, session, images())
    assert kernels(session) == expected


@pytest.mark.parametrize("form", ["HardSwish", "LeakyRelu"])
def test_of_any_number_of_images(form: str):
    model = model_of(FORMS[form], "N")
    session = compile_native(model)
    for count in (1, 3, 0):
        compare(model, session, images(count))


@pytest.mark.parametrize("form", FORMS)
def test_of_numbers_that_are_none(form: str):
    model = model_of(FORMS[form])
    session = compile_native(model)
    x = images()
    for index, value in enumerate((np.nan, np.inf, -np.inf, -0.0, 1e-42, 3e38)):
        x[0, 0, index, index] = value
    with np.errstate(all="ignore"):
        compare(model, session, x)
