"""The reference evaluator is not asked about what it gets wrong."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from xonnc.errors import XonncError
from xonnc.runtime.verification.reference_engines import Engine, UnreliableReferenceError


@pytest.mark.parametrize("operator", ["AveragePool", "LpPool"])
def test_pooling_of_nan_is_wrong(operator: str) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
        m (float[1,1,5] x) => (float[1,1,4] y) {{ y = {operator}<kernel_shape = [2]>(x) }}"""
    with pytest.raises(UnreliableReferenceError, match="takes NaN to be padding"):
        Engine(onnx.parser.parse_model(text), by_reference=True)


@pytest.mark.parametrize(
    "attributes", ["pads = [1, 0]", 'auto_pad = "SAME_UPPER"', "dilations = [2]", "ceil_mode = 1"]
)
def test_windows_beyond_the_operand_are_wrong(attributes: str) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
        m (float[1,1,5] x) => (float[1,1,M] y) { y = MaxPool<kernel_shape = [2] ATTRIBUTES>(x) }"""
    with pytest.raises(UnreliableReferenceError, match="finds too many windows between pads"):
        Engine(onnx.parser.parse_model(text.replace("ATTRIBUTES", f", {attributes}")), by_reference=True)
    plain = onnx.parser.parse_model(text.replace("ATTRIBUTES", ', auto_pad = "VALID", pads = [0, 0]'))
    engine, x = Engine(plain, by_reference=True), np.array([[[3, -1, -2, 5, 4]]], np.float32)
    np.testing.assert_array_equal(engine.run({"x": x})["y"], [[[3, -1, 5, 5]]])
    with pytest.raises(UnreliableReferenceError, match=r"y \(MaxPool\): .* leaves NaN out of a maximum"):
        engine.run({"x": np.full_like(x, np.nan)})


def test_sequences_of_several_shapes_are_no_array() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
        m (float[3] x, float[3,0] y) => (seq(float) s) { s = SequenceConstruct(x, y) }"""
    feeds = {"x": np.ones(3, np.float32), "y": np.ones((3, 0), np.float32)}
    with pytest.raises(XonncError, match="a sequence of tensors of several shapes"):
        Engine(onnx.parser.parse_model(text)).run(feeds)
