"""Numbers of the tokens of texts: StringNormalizer, Tokenizer and TfIdfVectorizer in one step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

from xonnc.formats.native.program import RuntimeValue
from xonnc.runtime.native.operator_call import Implementation, OperatorAttributes, OperatorCall
from xonnc.runtime.native.string_operators import change_case, ngram_weights, tokens_of

CLASS = re.compile(r"\[[\w-]+\]\+", re.ASCII)
"""Expressions for one or more characters of a class of ASCII characters, none of which is white space."""

ASCII = 128
SPACE, NEWLINE = b" \n"

INDEX, COUNT = np.dtype(np.intp), np.dtype(np.float32)

RowsOf = Callable[[list[str]], list[list[str]] | list[list[bytes]]]
"""Return the tokens of each text."""


def count_tokens(settings: OperatorAttributes) -> Implementation:
    """Count the tokens of each text that are in the vocabulary."""
    words = [str(word) for word in settings.list_attribute("pool_strings") or ()]
    targets = [int(each) for each in settings.list_attribute("ngram_indexes") or ()]
    size = max(targets) + 1
    # Shorter tokens are dropped, whatever the vocabulary.
    least = settings.int_attribute("mincharnum", 1)
    known = {word: target for word, target in zip(words, targets, strict=True) if len(word) >= least}
    is_class = CLASS.fullmatch(settings.string_attribute("tokenexp")) is not None
    rows_of = _rows_of_class(settings) if is_class else _rows_of_texts(settings)
    keys = ((word.encode("utf-8", "surrogatepass") if is_class else word) for word in known)
    target_of, unknown = dict(zip(keys, known.values(), strict=True)).get, repeat(size)
    mode = settings.string_attribute("mode")
    weights = ngram_weights(settings, targets, size)
    width = size + 1
    """A row has one more count than words: that of unknown ones."""

    @lru_cache(1)
    def starts_of(rows: int) -> npt.NDArray[np.intp]:
        return np.arange(0, rows * width, width)

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        tokens = rows_of(call.strings(0))
        rows = len(tokens)
        found = np.fromiter(map(target_of, _joined(tokens), unknown), INDEX)
        found += starts_of(rows).repeat(np.fromiter(map(len, tokens), INDEX, rows))
        counts = np.bincount(found, minlength=rows * width).reshape(rows, width)[:, :size].astype(COUNT)
        if mode == "IDF":
            counts = np.minimum(counts, 1)
        if weights is not None:
            counts *= weights
        return [counts]

    return perform


def _joined(rows: list[list[str]] | list[list[bytes]]) -> Iterable[str | bytes]:
    return chain.from_iterable(rows)


def _rows_of_texts(settings: OperatorAttributes) -> RowsOf:
    """Split each text with the tokenizer's expression or separators."""
    change, tokens = change_case(settings), tokens_of(settings)
    return lambda texts: tokens(list(map(change, texts)))


def _rows_of_class(settings: OperatorAttributes) -> RowsOf:
    """
    Split texts at all characters that are not of the class.

    They are encoded as one text of bytes: what is not ASCII is not of the class. Changing the case of all at
    once makes the same, as a line break is no letter.
    """
    change = change_case(settings)
    expression = re.compile(settings.string_attribute("tokenexp"))
    kept = [code for code in range(ASCII) if expression.fullmatch(chr(code))]
    table = bytearray([SPACE]) * 256
    for code in (*kept, NEWLINE):
        table[code] = code
    split_at = bytes(table)

    def rows(texts: list[str]) -> list[list[bytes]]:
        joined = "\n".join(texts)
        if joined.count("\n") >= len(texts):
            joined = "\n".join(text.replace("\n", " ") for text in texts)
        data = change(joined).encode("utf-8", "surrogatepass").translate(split_at)
        return list(map(bytes.split, data.split(b"\n")))

    return rows
