"""Operators of com.microsoft on drawn operands: onnxruntime, `reference`, `infer` and native code agree."""

from __future__ import annotations

import numpy as np
import pytest

from xonnc.plugins import bundled
from xonnc.plugins.operators import OperatorSpec, bind
from xonnc.plugins.registration import run_reference
from xonnc.runtime.reference import open_session
from xonnc.tools.plugin_checks import NodeSample, check_operator, sample_model, with_absent

OPERATORS = {spec.name: spec for spec in bundled.load("microsoft").operators}

WITHOUT_PEER = frozenset(
    (
        "BiasAdd BiasDropout BiasSoftmax BiasSplitGelu FusedMatMulActivation GemmFastGelu GroupNorm"
        " MulInteger QLinearReduceMean SkipGroupNorm"
    ).split()
)
"""Operators that onnxruntime has no kernel for on CPUs."""

SEEDS = range(3)


def samples(spec: OperatorSpec, seed: int) -> list[NodeSample]:
    draw = spec.function("samples")
    assert draw is not None
    found: list[NodeSample] = []
    for operands, attributes in draw(np.random.default_rng(seed)):
        given = with_absent(spec, operands)
        results = run_reference(spec, bind(spec, spec.name, given, attributes), given, 1)
        found.append(NodeSample(given, attributes, results))
    return found


def has_peer(sample: NodeSample) -> bool:
    """Whether onnxruntime's Python interface takes the operands: it takes no arrays of 4 bits."""
    return not any(
        "int4" in str(each.dtype) for each in (*sample.operands, *sample.results) if each is not None
    )


@pytest.mark.parametrize("name", sorted(OPERATORS.keys() - WITHOUT_PEER))
def test_references_agree_with_onnxruntime(name: str):
    spec = OPERATORS[name]
    count = 0
    for sample in (each for seed in SEEDS for each in samples(spec, seed) if has_peer(each)):
        model = sample_model(spec, sample).SerializeToString()
        session, _ = open_session(model, "model")
        feeds = {f"x{index}": each for index, each in enumerate(sample.operands) if each is not None}
        for found, wanted in zip(session.run(None, feeds), sample.results, strict=True):
            assert isinstance(found, np.ndarray)
            assert found.dtype == wanted.dtype
            assert found.shape == wanted.shape
            values = found.astype(np.float64), wanted.astype(np.float64)
            np.testing.assert_allclose(*values, rtol=1e-3, atol=1e-3)
        count += 1
    assert count


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_types_decompositions_and_native_code_agree_with_references(name: str):
    failures = [finding for finding in check_operator(OPERATORS[name]) if finding.outcome != "ok"]
    assert not failures
