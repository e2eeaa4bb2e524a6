"""The reference evaluator is not asked about what it gets wrong."""

from __future__ import annotations

import onnx.parser
import pytest

from xonnc.runtime.verification.reference_engines import Engine, UnreliableReferenceError


@pytest.mark.parametrize("operator", ["AveragePool", "LpPool"])
def test_pooling_of_nan_is_wrong(operator: str) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
        m (float[1,1,5] x) => (float[1,1,4] y) {{ y = {operator}<kernel_shape = [2]>(x) }}"""
    with pytest.raises(UnreliableReferenceError, match="takes NaN to be padding"):
        Engine(onnx.parser.parse_model(text), by_reference=True)
