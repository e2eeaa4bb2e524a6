"""Operators of onnxruntime without a kernel: which node it is, and what to do, before there is any output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from xonnc.artifacts import compile_artifact
from xonnc.errors import RefusalError, XonncError
from xonnc.native import compile_native

TOKEN_LOOP = (
    "words: GreedySearch of com.microsoft chooses tokens in a loop; compile the graph of its attribute "
    "'decoder' as a model, and choose tokens in a program"
)
OTHER = (
    "words: QOrderedGelu of com.microsoft is not implemented; a plug-in can add it "
    "(--plugin FILE, docs/plugins.md)"
)
REASONS = [("GreedySearch", TOKEN_LOOP), ("QOrderedGelu", OTHER)]


def model_with(operator: str, sizes: str = "2, 3") -> onnx.ModelProto:
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> '
        f"g (int32[{sizes}] ids, int32[1] max_length) => (int32[2, 5] sequences) "
        f"{{ [words] sequences = com.microsoft.{operator} <eos_token_id = 0> (ids, max_length) }}"
    )
    if operator == "GreedySearch":
        decoder = parser.parse_graph(
            "decoder (int32[b, s] ids) => (float[b, s] logits) { logits = Cast <to = 1> (ids) }"
        )
        model.graph.node[0].attribute.append(onnx.helper.make_attribute("decoder", decoder))
    return model


@pytest.mark.parametrize("sizes", ["2, 3", "b, s"])
@pytest.mark.parametrize(("operator", "reason"), REASONS)
def test_no_file_is_written_whatever_the_sizes(
    tmp_path: Path, operator: str, sizes: str, reason: str
) -> None:
    with pytest.raises(RefusalError) as caught:
        compile_artifact(model_with(operator, sizes), tmp_path / "net.so")
    assert str(caught.value) == reason
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("operator", "reason"), REASONS)
def test_a_session_says_so_where_it_gets_there(operator: str, reason: str) -> None:
    session = compile_native(model_with(operator))
    assert session.host_calls() == [operator]
    feeds = {"ids": np.zeros((2, 3), np.int32), "max_length": np.array([5], np.int32)}
    with pytest.raises(XonncError) as caught:
        session.run(None, feeds)
    assert reason.removeprefix("words: ") in str(caught.value)
    assert str(caught.value).startswith("words: there is no native code for it (")


def test_operators_that_the_session_computes_are_no_such(tmp_path: Path) -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> g (string[2] x) => (string[2, n] y) '
        '{ [split] y = com.microsoft.Tokenizer <mark = 0, mincharnum = 1, pad_value = "#", '
        'separators = [" "]> (x) }'
    )
    with pytest.raises(RefusalError, match=r"split: .* by the session, which is Python|input 'x'"):
        compile_artifact(model, tmp_path / "net.so")


def test_an_undefined_operator_is_named_before_those_that_need_its_shape():
    """As in models that onnxruntime saves after all its optimizations."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "com.microsoft.nchwc" : 1]>
        g (float[n, 3, 4, 4] x) => (float[n, 3, 4, 4] y) {
          [order] h = com.microsoft.nchwc.ReorderOutput <channels = 3> (x)
          y = com.microsoft.FusedMatMul (h, h)
        }"""
    )
    with pytest.raises(RefusalError, match=r"order: ReorderOutput .* save with ORT_ENABLE_EXTENDED"):
        compile_native(model)
