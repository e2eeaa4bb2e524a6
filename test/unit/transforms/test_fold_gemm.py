"""Gemm of constants is what Gemm of inputs is, with factors that are no integers too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from onnx import ValueInfoProto, helper, numpy_helper

from xonnc.native import compile_native
from xonnc.runtime.verification.reference_engines import Engine

FACTORS = [(1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.3, 1.7), (-1.5, -0.5), (2.0, 0.0)]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize(("alpha", "beta"), FACTORS)
def test_folded_is_run(dtype: type[np.generic], alpha: float, beta: float):
    random = np.random.default_rng(5)
    is_signed = np.issubdtype(dtype, np.signedinteger) or np.issubdtype(dtype, np.floating)
    least = -9 if is_signed else 0
    inputs = {
        name: random.integers(least, 9, shape).astype(dtype)
        for name, shape in (("a", (2, 3)), ("b", (3, 4)), ("c", (4,)))
    }
    if np.issubdtype(dtype, np.floating) and beta == 0:
        inputs["c"] = np.array([np.nan, np.inf, -np.inf, 1], dtype)
    node = helper.make_node("Gemm", list(inputs), ["y"], alpha=alpha, beta=beta)
    constants = [numpy_helper.from_array(array, name) for name, array in inputs.items()]
    ports = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    found: list[npt.NDArray[np.generic]] = []
    for graph in (
        helper.make_graph([node], "fed", ports, [ValueInfoProto(name="y")]),
        helper.make_graph([node], "constant", [], [ValueInfoProto(name="y")], constants),
    ):
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        session = compile_native(model, cache=False)
        feeds = inputs if graph.input else {}
        found += (np.asarray(each) for each in session.run(None, feeds))
        if graph.input:
            # The engine leaves Gemm with beta 0 to native code: its shapes are checked less.
            by_reference = Engine(model, by_reference=True).run(inputs).values() if beta else found
            found = [*found, *map(np.asarray, by_reference)]
        else:
            assert session.report() == []
    run, reference, folded = found
    assert run.dtype == reference.dtype == folded.dtype
    np.testing.assert_allclose(run.astype(np.float64), folded.astype(np.float64), rtol=1e-6)
    np.testing.assert_allclose(reference.astype(np.float64), folded.astype(np.float64), rtol=1e-6)
