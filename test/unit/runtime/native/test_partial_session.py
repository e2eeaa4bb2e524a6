"""Some outputs of a session alone: only what they depend on runs, from the inputs that it reads."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

MODEL = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[4, 6] x, float[6, 5] w, float[4, 5] z) => (float[4, 5] a, float[8, 5] b, float[4, 5] c) {
        m = MatMul(x, w)
        a = Relu(m)
        n = Neg(z)
        b = Concat<axis = 0>(m, n)
        e = Exp(z)
        c = Mul(e, n)
    }
"""
RANDOM = np.random.default_rng(0)
FEEDS = {
    "x": RANDOM.standard_normal((4, 6)).astype(np.float32),
    "w": RANDOM.standard_normal((6, 5)).astype(np.float32),
    "z": RANDOM.standard_normal((4, 5)).astype(np.float32),
}


def compiled(text: str, *, profile: bool = True, threads: int = 2) -> Session:
    return compile_native(parser.parse_model(text), threads=threads, cache=False, profile=profile)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("names", "inputs"),
    [(["a"], "xw"), (["c"], "z"), (["b"], "xwz"), (["c", "a"], "xwz"), (["a", "b", "c"], "xwz"), ([], "")],
)
def test_what_outputs_depend_on(names: list[str], inputs: str, threads: int):
    session = compiled(MODEL, threads=threads)
    expected = session.run(names, FEEDS)
    part = session.with_outputs(names)
    assert [spec.name for spec in part.inputs] == [*inputs]
    assert [spec.name for spec in part.outputs] == names
    for _ in range(2):
        found = part.run(None, {name: FEEDS[name] for name in inputs})
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    # The session itself still runs.
    np.testing.assert_array_equal(np.asarray(session.run(["a"], FEEDS)[0]).shape, (4, 5))


def test_fewer_steps_run():
    session = compiled(MODEL)
    assert 0 < len(session.with_outputs(["a"]).report()) < len(session.report())


def test_control_flow_is_one_step():
    session = compiled("""
        <ir_version: 8, opset_import: ["": 17]>
        g (float[3] x, bool c, float[3] z) => (float[3] y, float[3] w) {
            w = Neg(z)
            y = If(c) <
                then_branch = t () => (float[3] p) { p = Exp(x) },
                else_branch = e () => (float[3] q) { q = Relu(x) }
            >
        }
    """).with_outputs(["y"])
    x = np.array([-1, 0, 2], np.float32)
    for choice in (False, True):
        feeds = {"x": x, "c": np.array(choice), "z": x}
        (y,) = session.run(None, {spec.name: feeds[spec.name] for spec in session.inputs})
        np.testing.assert_allclose(np.asarray(y), np.exp(x) if choice else np.maximum(x, 0), rtol=1e-6)


def test_refusals():
    with pytest.raises(XonncError, match="no output 'd'"):
        compiled(MODEL).with_outputs(["d"])
    dynamic = compiled(
        '<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) { y = Neg(x) }'
    )
    with pytest.raises(XonncError, match="some outputs alone: the model has dynamic shapes"):
        dynamic.with_outputs(["y"])
