"""Convolutions in parts: those whose windows reach into the pads alike."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import numpy as np
import pytest
from native_nodes import Reference
from onnx import numpy_helper, parser

from xonnc.lowering.onnx_to_krnl.planning.subpixel_convolution import dilated_sub_convolutions
from xonnc.native import compile_native


def test_parts_of_a_result_read_no_pads():
    sub_convolutions = dilated_sub_convolutions((3, 3), (1, 1), (12, 12), (12, 12), (10, 33), (10, 33))
    assert sub_convolutions is not None
    assert [(each.rows, each.columns, each.first, each.out_first, each.out) for each in sub_convolutions] == [
        ([1], [1, 2], (0, 0), (0, 0), (10, 12)),
        ([1], [0, 1, 2], (0, 0), (0, 12), (10, 9)),
        ([1], [0, 1], (0, 9), (0, 21), (10, 12)),
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ((3, 3), (1, 1), (2, 2), (2, 2), (65, 65), (65, 65)),
        ((1, 1), (1, 1), (2, 2), (8, 8), (4, 4), (20, 20)),
    ],
)
def test_few_pads_and_windows_of_pads_alone_stay(arguments: Sequence[tuple[int, int]]):
    kernel, strides, dilations, begins, sizes, out = arguments
    assert dilated_sub_convolutions(kernel, strides, dilations, begins, sizes, out) is None


@pytest.mark.parametrize(("min_saved", "smallest"), [(0.2, 3), (0.5, 8)])
def test_a_fraction_of_the_multiplications_must_be_saved(min_saved: float, smallest: int):
    def saves(dilation: int) -> bool:
        # Three windows of 10 rows, of which two reach beyond the image by the dilation.
        pads = (dilation, 0)
        return bool(
            dilated_sub_convolutions((3, 1), (1, 1), (dilation, 1), pads, (10, 1), (10, 1), min_saved)
        )

    assert [dilation for dilation in range(1, 10) if saves(dilation)] == list(range(smallest, 10))


@pytest.mark.parametrize(
    ("size", "dilation", "pad", "stride", "groups"),
    [(10, 12, 12, 1, 1), (14, 4, 4, 1, 1), (15, 5, 5, 2, 1), (11, 9, 9, 1, 16), (9, 4, 6, 1, 1)],
)
def test_dilated_convolutions_with_wide_pads(size: int, dilation: int, pad: int, stride: int, groups: int):
    random = np.random.default_rng(size)
    conv = (
        f"Conv <dilations = [{dilation}, {dilation + 1}], pads = [{pad}, {pad + 1}, {pad}, {pad}], "
        f"strides = [{stride}, {stride}], group = {groups}> (x, w, b)"
    )
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[2, 16, {size}, {size}] x) => (float[2, 16, p, q] y) {{
          c = {conv}  d = {conv}  r = Relu (d)  s = Add (c, r)  y = Relu (s)
        }}"""
    )
    weights = random.normal(size=(16, 16 // groups, 3, 3)).astype(np.float32)
    bias = random.normal(size=16).astype(np.float32)
    model.graph.initializer.extend(
        (numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b"))
    )
    x = random.normal(size=(2, 16, size, size)).astype(np.float32)
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    (expected,) = reference.run(None, {"x": x})
    (found,) = compile_native(model, cache=False).run(None, {"x": x})
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-4, atol=1e-4)
