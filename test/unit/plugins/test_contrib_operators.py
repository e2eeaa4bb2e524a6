"""Operators of com.microsoft: their references and decompositions give what onnxruntime's kernels give."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.contrib import (
    Group,
    after_first,
    check_import,
    check_results,
    expect,
    feeds_of,
    groups_of,
    model_of,
)
from xonnc.contexts import new_context
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.plugins import bundled
from xonnc.runtime.reference import open_session
from xonnc.transforms.decompose_onnx import Decompose
from xonnc.transforms.shape_inference_onnx import infer_shapes

CASES = 12

OPERATORS = {spec.name: spec for spec in bundled.load("microsoft").operators}

NOT_IN_ONNXRUNTIME = frozenset(("bfloat16", "float64", "int4", "uint4"))
"""Element types that its Python interface does not take, or for which it lacks kernels of many operators."""

NOT_DECOMPOSED_FOR_ONNXRUNTIME = frozenset(
    (
        # Masks with one row for all queries, which its Attention does not take.
        *("Attention", "QAttention"),
        # An operator of the compiler that has no ONNX form.
        "ConvTransposeWithDynamicPads",
    )
)


def groups(name: str) -> list[Group]:
    """A few cases of an operator by element type, with results of onnxruntime's kernel where it has one."""
    found = groups_of(OPERATORS[name], CASES)
    for group in found:
        expect(group)
    return found


@pytest.mark.parametrize("name", OPERATORS)
def test_reference_and_types(name: str):
    for group in groups(name):
        check_import(group)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, spec in OPERATORS.items()
        if spec.function("decompose") and name not in NOT_DECOMPOSED_FOR_ONNXRUNTIME
    ],
)
def test_decomposition(name: str):
    for group in groups(name):
        dtypes = {each.dtype.name for case in group.cases for each in case.operands if each is not None}
        if not dtypes.isdisjoint(NOT_IN_ONNXRUNTIME):
            continue
        context = new_context()
        module = import_proto(model_of(group, after_first), context)
        infer_shapes(module)
        Decompose().apply(context, module)
        model = export_proto(module)
        assert not [node for node in model.graph.node if node.domain == "com.microsoft"]
        session, _ = open_session(model.SerializeToString(), name)
        check_results(group, session.run(None, feeds_of(group, after_first)), "decomposition")
