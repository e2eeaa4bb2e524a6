"""Equations of Einsum, and the shape of its result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx.parser
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32

import xonnc
from xonnc.contexts import new_context
from xonnc.dialects.onnx.ops.math import EinsumOp
from xonnc.dialects.onnx.types import tensor_type
from xonnc.formats.onnx.importer import import_proto
from xonnc.transforms.shape_inference_onnx import infer_shapes
from xonnc.transforms.shapes.einsum import Equation, parsed

UNKNOWN = DYNAMIC_INDEX

ATTENTION = """<ir_version: 10, opset_import: ["" : 23]>
g (float[B, 1, 4, 8] q, float[B, 4, 8] k) => (float[B, B, 4, 4] y) <int64[1] axes = {0}> {
    padded = Unsqueeze (k, axes)
    y = Einsum <equation = "...qc,...kc->...qk"> (q, padded)
}"""
"""What jax2onnx makes of attention with a symbolic batch: axes of B and of 1 meet."""


def test_axes_under_an_ellipsis_are_aligned_at_their_end() -> None:
    assert parsed("...ij,jk", [4, 2]) == Equation(("01ij", "jk"), "01ik")
    assert parsed("...i,...j->...ij", [1, 2]) == Equation(("i", "0j"), "0ij")


@pytest.mark.parametrize(
    ("types", "equation", "shape"),
    [
        ("float[N, 1, 4] a, float[1, M, 4] b", "...i,...i->...", (UNKNOWN, UNKNOWN)),
        ("float[N, 5, 4] a, float[3, M, 4] b", "...i,...i->...", (3, 5)),
        ("float[N, 5, 4] a, float[M, 4] b", "...i,...i", (UNKNOWN, 5)),
        ("float[N, 4] a, float[4, M] b", "ij,jk->ki", (UNKNOWN, UNKNOWN)),
        ("float[N, 4] a, float[1, 6] b", "ij,jk", (UNKNOWN, 6)),
        ("float[4, 4] a, float[4] b", "ii,i->i", (4,)),
        ("float[4, 4] a, float[4] b", "ij,j->", ()),
    ],
)
def test_subscripts_of_the_result_have_the_broadcast_size(
    types: str, equation: str, shape: Sequence[int]
) -> None:
    body = f'z = Einsum <equation = "{equation}"> (a, b)  y = ReduceSum <keepdims = 0> (z)'
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 18]> g ({types}) => (float y) {{ {body} }}'
    )
    module = import_proto(model, new_context())
    infer_shapes(module)
    (op,) = (op for op in module.walk() if isinstance(op, EinsumOp))
    assert op.Output.type == tensor_type(shape, f32)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_symbolic_axes_of_an_ellipsis_broadcast(batch: int) -> None:
    """The shape function of the onnx package gives [B, 1]: the kernel wrote behind its buffer."""
    session = xonnc.compile(onnx.parser.parse_model(ATTENTION), target="cpu", threads=1)
    rng = np.random.default_rng(batch)
    q = rng.standard_normal((batch, 1, 4, 8), np.float32)
    k = rng.standard_normal((batch, 4, 8), np.float32)
    found = np.asarray(session.run(None, {"q": q, "k": k})[0], np.float32)
    np.testing.assert_allclose(found, np.einsum("...qc,...kc->...qk", q, k[None]), rtol=1e-4, atol=1e-5)
