"""Text vectorizers in one step: the same counts as operator by operator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx.parser
import pytest

from xonnc.native import compile_native

MODEL = """<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
model (string[n,1] x) => (float[n,4] y) {
  row = Constant<value = int64[1] {-1}>()
  flat = Reshape(x, row)
  cased = StringNormalizer<case_change_action = "ACTION">(flat)
  tokens = com.microsoft.Tokenizer<mark = MARK, mincharnum = LEAST, pad_value = "#", SPLIT>(cased)
  rows = Flatten<axis = 1>(tokens)
  y = TfIdfVectorizer<mode = "MODE", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
    weights = [0.5, 2.0, 3.0, 0.25], ngram_counts = [0], ngram_indexes = [2, 0, 1, 3],
    pool_strings = ["cat", "a", "straße", "σας"]>(rows)
}"""

TEXTS = (
    "The cat,\na CAT! a",
    "",
    "\n",
    "a straße STRASSE a\0a",
    "ΣΑΣ σας ΣΑΣ",
    "cat\x0bcat \u00e4cat",
    "\udc80cat a",
)


def counts(text: str, texts: Sequence[str], *disabled: str) -> tuple[list[object], list[str]]:
    session = compile_native(onnx.parser.parse_model(text), disable_pass=disabled)
    (found,) = session.run(None, {"x": np.array(texts, np.object_).reshape(-1, 1)})
    assert isinstance(found, np.ndarray)
    assert session.host_calls() == []
    return found.tolist(), [line.what for line in session.report()]


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("action", ["NONE", "LOWER", "UPPER"])
@pytest.mark.parametrize(
    "split", ['tokenexp = "[a-zA-Z0-9_]+"', 'tokenexp = "\\\\w+"', 'separators = [" ", ","]']
)
def test_counts_are_those_of_the_operators(mode: str, action: str, split: str):
    for mark, least in ((0, 1), (1, 2)):
        text = MODEL.replace("ACTION", action).replace("SPLIT", split).replace("MODE", mode)
        text = text.replace("MARK", str(mark)).replace("LEAST", str(least))
        found, steps = counts(text, TEXTS)
        assert steps == ["CountTokens"]
        expected, separate = counts(text, TEXTS, "fuse-onnx")
        assert "Tokenizer" in separate
        assert found == expected
        # Line breaks in no text: one text is split as it is.
        assert counts(text, TEXTS[:1])[0] == expected[:1]
