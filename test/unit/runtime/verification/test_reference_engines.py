"""The reference evaluator is not asked about what it gets wrong."""

from __future__ import annotations

import onnx.parser
import pytest

from xonnc.runtime.verification.reference_engines import Engine, UnreliableReferenceError


@pytest.mark.parametrize("operator", ["Hardmax", "Softmax"])
def test_older_versions_flatten_axes(operator: str) -> None:
    text = '<ir_version: 8, opset_import: ["" : {}]> m (float[2,3,5] x) => (float[2,3,5] y) {{ y = {}(x) }}'
    with pytest.raises(UnreliableReferenceError, match="flatten all from it on"):
        Engine(onnx.parser.parse_model(text.format(12, operator)), by_reference=True)
    Engine(onnx.parser.parse_model(text.format(13, operator)), by_reference=True)
