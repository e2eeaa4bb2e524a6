"""Loop of the reference evaluator equals onnxruntime."""

import numpy as np
import onnx.parser
import pytest

from xonnc.errors import XonncError
from xonnc.formats.onnx.reference_evaluator import reference_of
from xonnc.runtime.verification.reference_engines import Engine

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
g (int64 n, bool c, float[2, 3] x) => (float[2, 3] last, float[?, 2, 3] tables, int64[?] numbers) {
    last, tables, numbers = Loop (LIMIT, CONDITION, x) <body = b
        (int64 i, bool was, float[2, 3] v) => (bool on, float[2, 3] w, float[2, 3] table, int64 square)
        <int64 four = {4}> {
            w = Add (v, x)
            table = Neg (v)
            square = Mul (i, i)
            on = Less (i, four)
        }>
}"""


@pytest.mark.parametrize(("limit", "condition"), [("n", ""), ("n", "c"), ("", "c"), ("", "")])
@pytest.mark.parametrize("count", [0, 1, 3, 9])
@pytest.mark.parametrize("going", [True, False])
def test_loops(limit: str, condition: str, count: int, going: bool) -> None:
    text = MODEL.replace("LIMIT", limit or '""').replace("CONDITION", condition or '""')
    model = onnx.parser.parse_model(text)
    feeds = {
        "n": np.array(count),
        "c": np.array(going),
        "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    }
    expected = Engine(model).run(feeds).values()
    for found, array in zip(reference_of(model)(feeds), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(found), array, strict=True)


def test_an_unknown_shape_of_no_rows() -> None:
    text = MODEL.replace("LIMIT", "n").replace("CONDITION", '""').replace("[2, 3] table,", "[?, 3] table,")
    feeds = {"n": np.array(0), "c": np.array(True), "x": np.ones((2, 3), np.float32)}
    with pytest.raises(XonncError, match="declares no static shape of a scan output"):
        reference_of(onnx.parser.parse_model(text))(feeds)
