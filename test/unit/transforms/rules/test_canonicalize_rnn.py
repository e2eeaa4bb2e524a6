"""Lengths of sequences are dropped if all are as long as the data, along the axis that the layout says."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from xonnc import simplify

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize(
    ("layout", "lengths", "is_kept"),
    [(0, (3, 3), False), (0, (2, 2), True), (0, (3, 2), True), (1, (3, 3), False), (1, (2, 2), True)],
)
def test_lengths_of_whole_sequences_are_dropped(
    name: str, layout: int, lengths: tuple[int, ...], is_kept: bool
):
    shape = "2, 3, 4" if layout else "3, 2, 4"
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[{shape}] x) => (float[a, b, c, d] y) <int32[2] lengths = {{{lengths[0]}, {lengths[1]}}}> {{
          y = {name}<hidden_size = 5, layout = {layout}>(x, w, r, "", lengths)
        }}""")
    random = np.random.default_rng(1)
    for weight, size in (("w", 4), ("r", 5)):
        array = random.normal(size=(1, 5 * GATES[name], size)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, weight))
    (node,) = (node for node in simplify(model).proto().graph.node if node.op_type == name)
    assert ("lengths" in node.input) == is_kept
