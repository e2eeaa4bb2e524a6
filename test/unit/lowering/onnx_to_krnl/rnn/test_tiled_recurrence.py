"""LSTM, GRU and RNN with known weights are computed in register tiles, and as onnxruntime does."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from native_nodes import session_of
from onnx import numpy_helper
from onnx import parser as onnx_parser

from xonnc.native import compile_native
from xonnc.runtime.native.session import Session
from xonnc.runtime.verification.reference_engines import engine_for

BOTH = ', direction="bidirectional"'
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
HIDDEN = 20
STEPS = 4
"""The first, two that follow on their like, and the last: each is emitted by itself."""


def model_of(
    operator: str,
    batch: int | str,
    attributes: str,
    *,
    has_states: bool = True,
    has_bias: bool = True,
    has_peephole: bool = False,
    steps: int | str = STEPS,
    weights: str = "wrbp",
) -> onnx.ModelProto:
    states = ["h", "c"] if operator == "LSTM" else ["h"]
    starts = [f"{name}0" for name in states] if has_states else []
    peephole = ([] if has_states else ["", ""]) + ["p"] if has_peephole else []
    operands = ", ".join(["x", "w", "r", "b" if has_bias else "", "", *starts, *peephole]).rstrip(", ")
    count = 2 if BOTH in attributes else 1
    results = ", ".join(f"float[{count}, {batch}, {HIDDEN}] {name}" for name in states)
    shapes: dict[str, tuple[int, ...]] = {
        "w": (count, GATES[operator] * HIDDEN, 5),
        "r": (count, GATES[operator] * HIDDEN, HIDDEN),
    }
    if has_bias:
        shapes["b"] = (count, 2 * GATES[operator] * HIDDEN)
    if has_peephole:
        shapes["p"] = (count, 3 * HIDDEN)
    fed = "".join(
        f", float[{','.join(map(str, shapes[name]))}] {name}" for name in shapes if name not in weights
    )
    text = f"""
        <ir_version: 8, opset_import: ["": 17]>
        g (float[{steps}, {batch}, 5] x{fed}) => (float[{steps}, {count}, {batch}, {HIDDEN}] y, {results}) {{
            y, {", ".join(states)} = {operator}<hidden_size={HIDDEN}{attributes}>({operands})
        }}
    """
    model = onnx_parser.parse_model(text)
    generator = np.random.default_rng(6)
    shapes = {name: shape for name, shape in shapes.items() if name in weights}
    shapes |= {name: (count, batch if isinstance(batch, int) else 1, HIDDEN) for name in starts}
    for name, shape in shapes.items():
        array = (0.3 * generator.normal(size=shape)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


def compared(model: onnx.ModelProto, batch: int, steps: int = STEPS, scale: float = 1.0) -> Session:
    """A session whose results are those of onnxruntime."""
    generator = np.random.default_rng(9)
    feed = {"x": (scale * generator.normal(size=(steps, batch, 5))).astype(np.float32)}
    for each in model.graph.input[1:]:
        shape = [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        feed[each.name] = (0.3 * generator.normal(size=shape)).astype(np.float32)
    session = session_of(model)
    expected = engine_for(model).run(feed)
    names = [each.name for each in model.graph.output]
    for name, given in zip(names, session.run(None, feed), strict=True):
        np.testing.assert_allclose(
            np.asarray(given, np.float32), expected[name], rtol=1e-5, atol=2e-6, err_msg=name
        )
    assert session.host_calls() == []
    return session


def kernels_of(session: Session) -> list[str]:
    """Names of the kernels of the last run."""
    return [each.rpartition("_")[0] for line in session.report() for each in line.what.split()]


CASES = [
    ("LSTM", "", 1),
    ("LSTM", ', direction="reverse"', 1),
    ("LSTM", ", input_forget=1", 1),
    ("LSTM", BOTH + ', activations=["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Relu", "Tanh"]', 2),
    ("LSTM", ", clip=0.5", 1),
    ("GRU", "", 1),
    ("GRU", ', direction="reverse"', 1),
    ("GRU", BOTH, 2),
    ("GRU", ", linear_before_reset=1", 1),
    ("GRU", BOTH + ", linear_before_reset=1, clip=0.5", 2),
    ("GRU", ', activations=["HardSigmoid", "Relu"], activation_alpha=[0.3], activation_beta=[0.4]', 1),
    ("RNN", "", 1),
    ("RNN", ', direction="reverse", activations=["Relu"], clip=1.5', 1),
    ("RNN", BOTH + ', activations=["Tanh", "Sigmoid"]', 2),
]


@pytest.mark.covering(2)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(("has_states", "has_bias"), [(True, True), (False, False)])
@pytest.mark.parametrize(("operator", "attributes", "directions"), CASES)
def test_known_weights(
    operator: str, attributes: str, directions: int, has_states: bool, has_bias: bool, batch: int
):
    session = compared(model_of(operator, batch, attributes, has_states=has_states, has_bias=has_bias), batch)
    assert kernels_of(session).count(f"{operator.lower()}_cell") == STEPS * directions


@pytest.mark.parametrize(("operator", "attributes", "_directions"), CASES)
def test_batches_of_any_size(operator: str, attributes: str, _directions: int):
    model = model_of(operator, "N", attributes, has_states=False)
    for batch in (2, 1, 5):
        session = compared(model, batch)
        assert operator.lower() in " ".join(line.what for line in session.report())


PEEPHOLES = [case for case in CASES if case[0] == "LSTM"]


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(("has_states", "has_bias"), [(True, True), (False, False)])
@pytest.mark.parametrize(("_operator", "attributes", "directions"), PEEPHOLES)
def test_known_peepholes(
    _operator: str, attributes: str, directions: int, has_states: bool, has_bias: bool, batch: int
):
    model = model_of("LSTM", batch, attributes, has_states=has_states, has_bias=has_bias, has_peephole=True)
    session = compared(model, batch)
    assert kernels_of(session).count("lstm_cell") == STEPS * directions


@pytest.mark.parametrize("steps", [1, 9, 600])
def test_peepholes_in_sequences_of_any_length(steps: int):
    compared(model_of("LSTM", 2, BOTH, has_peephole=True, steps="T"), 2, steps)


def test_peepholes_that_are_fed_have_the_general_kernel():
    session = compared(model_of("LSTM", 3, BOTH, has_peephole=True, weights="wrb"), 3)
    assert kernels_of(session).count("lstm") == 2


@pytest.mark.parametrize("operator", GATES)
def test_sequences_of_any_length(operator: str):
    model = model_of(operator, 2, BOTH, steps="T")
    for steps in (1, 9):
        compared(model, 2, steps)


@pytest.mark.parametrize("attributes", ["", ', direction="reverse"', BOTH])
@pytest.mark.parametrize("operator", GATES)
def test_each_step_writes_its_row_of_the_result(operator: str, attributes: str):
    session = compared(model_of(operator, 2, attributes, steps="T", has_states=False), 2, 5)
    directions, states = 2 if attributes == BOTH else 1, 2 if operator == "LSTM" else 1
    # Copies of the last states, none of a sequence.
    assert kernels_of(session).count("state") == directions * states


@pytest.mark.parametrize("attributes", ["", ', direction="reverse"', BOTH])
@pytest.mark.parametrize("operator", GATES)
def test_last_states_alone(operator: str, attributes: str):
    model = model_of(operator, 2, attributes, steps="T")
    model.graph.node[0].output[0] = ""
    del model.graph.output[0]
    for steps in (1, 9):
        compared(model, 2, steps)


@pytest.mark.parametrize("operator", GATES)
def test_sequences_of_no_steps_keep_the_initial_states(operator: str):
    model = model_of(operator, 2, BOTH, steps="T")
    found = [np.asarray(each) for each in compile_native(model).run(None, {"x": np.zeros((0, 2, 5), "f4")})]
    starts = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    assert found[0].shape == (0, 2, 2, HIDDEN)
    for name, last in zip("hc", found[1:], strict=False):
        np.testing.assert_array_equal(last, starts[f"{name}0"])


@pytest.mark.parametrize("operator", GATES)
def test_long_sequences_are_loops_in_one_kernel(operator: str):
    session = compared(model_of(operator, 2, ', direction="reverse"', steps=600), 2, 600)
    assert kernels_of(session).count(operator.lower()) == 1


@pytest.mark.parametrize("operator", GATES)
@pytest.mark.parametrize("weights", ["wr", "wb", "rb"])
def test_weights_that_are_fed_have_the_general_kernel(operator: str, weights: str):
    session = compared(model_of(operator, 3, BOTH, weights=weights), 3)
    names = kernels_of(session)
    assert names.count(operator.lower()) == 2
    assert f"{operator.lower()}_cell" not in names


@pytest.mark.parametrize("attributes", ["", ", linear_before_reset=1"])
def test_saturated_gates(attributes: str):
    compared(model_of("GRU", 2, attributes), 2, scale=1e4)


@pytest.mark.parametrize("operator", GATES)
def test_two_threads(operator: str):
    model = model_of(operator, 3, "")
    feed = {"x": np.random.default_rng(9).normal(size=(STEPS, 3, 5)).astype(np.float32)}
    one, two = (compile_native(model, threads=threads).run(None, feed) for threads in (1, 2))
    for alone, shared in zip(one, two, strict=True):
        np.testing.assert_array_equal(np.asarray(alone), np.asarray(shared))
