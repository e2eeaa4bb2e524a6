"""Functions of a plug-in's operators that fail or return what is no result: errors name node and function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import xonnc
from xonnc.contexts import new_context
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.plugin import Plugin, TensorType, one, operator, optional, register, registered
from xonnc.plugins import registration
from xonnc.transforms.simplify_onnx import Simplify

DOMAIN = "org.failing"
Returned = Callable[[Any, Any], Any]

chosen: dict[str, Returned] = {}
"""What the functions of the operators do in a test."""


def declared() -> Plugin:
    """Operators of one and two results, with functions that do what `chosen` says."""
    plugin = Plugin("failing")

    class Pair:
        inputs = one("T", name="x")
        outputs = (one("T", name="first"), optional("T", name="second"))

        @staticmethod
        def infer(op: Any) -> Any:
            return chosen.get("infer", lambda op, _: [op.x, op.x])(op, None)

        @staticmethod
        def reference(op: Any, x: Any) -> Any:
            return chosen.get("reference", lambda _, x: (x, -x))(op, x)

        @staticmethod
        def decompose(op: Any, b: Any) -> Any:
            return chosen.get("decompose", lambda op, b: (op.x, b.Neg(op.x)))(op, b)

    operator(plugin, domain=DOMAIN, name="Pair")(Pair)
    return plugin


if not any(plugin.name == "failing" for plugin in registered()):
    register(declared())


@pytest.fixture(autouse=True)
def nothing_chosen():
    chosen.clear()


def model(value: str = "x", size: int = 2) -> onnx.ModelProto:
    """A pair of the input, or of a constant, whose sum is zero."""
    numbers = ", ".join(["3"] * size)
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17, "{DOMAIN}": 1]>
    g (float[{size}] x) => (float[{size}] y) <float[{size}] c = {{{numbers}}}> {{
        [pair] a, b = {DOMAIN}.Pair ({value})
        s = Add (a, b)
        y = Add (s, x)
    }}""")


TITLE = "pair (Pair of plug-in failing): "


def fails(op: Any, _: Any) -> object:
    raise op.fail("no luck")


def raises(op: Any, _: Any) -> object:
    raise KeyError("lanes")


def refuses(op: Any, _: Any) -> object:
    raise XonncError("no luck")


RESULTS: list[tuple[str, Returned, str]] = [
    ("infer", raises, "infer raised KeyError: 'lanes'"),
    ("infer", fails, "no luck"),
    ("infer", refuses, "no luck"),
    ("infer", lambda op, _: op.x, "infer gave 1 types for 2 results"),
    ("infer", lambda op, _: None, "infer gave 1 types for 2 results"),
    ("infer", lambda op, _: [op.x] * 3, "infer gave 3 types for 2 results"),
    ("reference", raises, "reference raised KeyError: 'lanes'"),
    ("reference", fails, "no luck"),
    ("reference", lambda _, x: x, "reference gave 1 arrays for 2 results"),
    ("reference", lambda _, x: [], "reference gave 0 arrays for 2 results"),
    ("decompose", raises, "decompose raised KeyError: 'lanes'"),
    ("decompose", fails, "no luck"),
    ("decompose", refuses, "no luck"),
    ("decompose", lambda op, b: op.x, "decompose gave 1 values for 2 results"),
    ("decompose", lambda op, b: [op.x] * 3, "decompose gave 3 values for 2 results"),
    ("decompose", lambda op, b: [op.x, 1], "decompose gave 2 values for 2 results"),
]


@pytest.mark.parametrize(
    ("function", "does", "message"), RESULTS, ids=[f"{name}-{text}" for name, _, text in RESULTS]
)
def test_each_failure_names_the_node_once(function: str, does: Returned, message: str):
    chosen[function] = does
    with pytest.raises(XonncError) as caught:
        xonnc.compile(model("c" if function == "reference" else "x"), cache=False)
    assert str(caught.value).endswith(TITLE + message)
    assert str(caught.value).count("pair") == 1


def test_what_does_not_fail_computes():
    x = np.array([1, 2], np.float32)
    for value in ("x", "c"):
        (y,) = xonnc.compile(model(value), cache=False).run(None, {"x": x})
        np.testing.assert_array_equal(np.asarray(y, np.float32), x)


def folded(size: int) -> bool:
    """Whether the pair of a constant is folded."""
    context = new_context()
    module = import_proto(model("c", size), context)
    Simplify().apply(context, module)
    return all(op.name != "failing.Pair" for op in module.walk())


def test_results_up_to_the_limit_are_folded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registration, "MAX_FOLDED_BYTES", 32)
    assert [folded(size) for size in (1, 7, 8, 9)] == [True, True, True, False]


def test_a_result_that_the_node_leaves_out_needs_no_value():
    one_result = model()
    one_result.graph.node[0].output[1] = ""
    one_result.graph.node[1].input[1] = "a"
    x = np.array([1, 2], np.float32)
    chosen["decompose"] = lambda op, b: [b.Neg(op.x), None]
    (y,) = xonnc.compile(one_result, cache=False).run(None, {"x": x})
    np.testing.assert_array_equal(np.asarray(y, np.float32), -x)
    chosen["decompose"] = lambda op, b: [None, b.Neg(op.x)]
    with pytest.raises(XonncError, match="decompose gave 2 values for 2 results"):
        xonnc.compile(one_result, cache=False)


@pytest.mark.parametrize("types", [None, TensorType(np.dtype(np.float32), None)], ids=["no type", "no shape"])
def test_results_of_unknown_types_compute(types: TensorType | None):
    x = np.array([1, 2], np.float32)
    chosen["infer"] = lambda op, _: [types, types]
    for value in ("x", "c"):
        (y,) = xonnc.compile(model(value), cache=False).run(None, {"x": x})
        np.testing.assert_array_equal(np.asarray(y, np.float32), x)
