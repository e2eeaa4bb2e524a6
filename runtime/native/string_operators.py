"""
Operators on strings and maps (ONNX, ai.onnx.ml and com.microsoft), computed with NumPy and Python.

Native code does not support strings: they are Python objects in object arrays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, pairwise

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xonnc.formats.native.program import OnnxMap, RuntimeValue
from xonnc.runtime.native.lookup import Lookup, key_of
from xonnc.runtime.native.ngrams import Ngrams
from xonnc.runtime.native.operator_call import (
    Array,
    Implementation,
    OperatorAttributes,
    OperatorCall,
    PrepareImplementation,
    string_tensor,
)

Numbers = npt.NDArray[np.generic]

INDEX, NUMBER, TEXT = (np.dtype(each) for each in (np.intp, np.int64, np.object_))


def _cast(call: OperatorCall) -> Sequence[RuntimeValue]:
    """Cast: numbers to strings as NumPy prints them, strings to numbers by parsing."""
    x = call.array(0)
    to = call.string_attribute("to")
    if to == "object":
        return [_to_strings(x)]
    try:
        return [_parse(call.string_array(0).reshape(-1).tolist(), _dtype(to)).reshape(x.shape)]
    except (ValueError, OverflowError) as error:
        raise call.fail(f"a string cannot be parsed as {to}: {error}") from error


def _dtype(name: str) -> np.dtype[np.generic]:
    return np.dtype(getattr(ml_dtypes, name, name))


def _to_strings(x: Array) -> Array:
    if x.dtype.hasobject:
        return x
    if x.dtype.kind not in "biuf":
        x = x.astype(np.float32)
    return string_tensor([str(each) for each in x.astype(np.str_).reshape(-1)], x.shape)


def _parse(texts: Sequence[str], dtype: np.dtype[np.generic]) -> Array:
    if dtype.kind in "iu":
        return np.array([int(text) for text in texts], np.int64 if dtype.kind == "i" else np.uint64).astype(
            dtype
        )
    numbers = np.array([float(text) for text in texts], np.float64)
    return (numbers != 0 if dtype.kind == "b" else numbers).astype(dtype)


def _concat_texts(call: OperatorCall) -> Sequence[RuntimeValue]:
    """StringConcat: concatenate elementwise."""
    try:
        x, y = np.broadcast_arrays(call.string_array(0), call.string_array(1))
    except ValueError as error:
        raise call.fail(str(error)) from error
    joined = [str(a) + str(b) for a, b in zip(x.reshape(-1).tolist(), y.reshape(-1).tolist(), strict=True)]
    return [string_tensor(joined, x.shape)]


def change_case(settings: OperatorAttributes) -> Callable[[str], str]:
    """Return the function that changes the case of a text as attribute `case_change_action` says."""
    action = settings.string_attribute("case_change_action", "NONE")
    return {"LOWER": str.lower, "UPPER": str.upper}.get(action, str)


def _normalize(settings: OperatorAttributes) -> Implementation:
    """StringNormalizer: remove stop words and change case."""
    change = change_case(settings)
    # Case-insensitive comparison is in lower case, independently of `case_change_action`.
    compared = str if settings.int_attribute("is_case_sensitive") else str.lower
    stops = {compared(str(word)) for word in settings.list_attribute("stopwords") or ()}

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        shape = call.array(0).shape
        if len(shape) not in (1, 2) or (len(shape) == 2 and shape[0] != 1):
            raise call.fail(f"it takes one row of strings, found shape {list(shape)}")
        texts = call.strings(0)
        if stops:
            texts = [text for text in texts if compared(text) not in stops]
        remaining = list(map(change, texts)) or [""]
        return [string_tensor(remaining, [1, len(remaining)] if len(shape) == 2 else [len(remaining)])]

    return perform


def _split(call: OperatorCall) -> Sequence[RuntimeValue]:
    """StringSplit: substrings, padded with empty strings, and their numbers."""
    shape = call.array(0).shape
    most = call.int_attribute("maxsplit", -1)
    delimiter = call.string_attribute("delimiter") or None
    parts = [text.split(delimiter, most) for text in call.strings(0)]
    counts = np.array(list(map(len, parts)), np.int64).reshape(shape)
    width = max(map(len, parts), default=0)
    for row in parts:
        if len(row) < width:
            row += [""] * (width - len(row))
    return [string_tensor(list(chain.from_iterable(parts)), [*shape, width]), counts]


def _matches(call: OperatorCall) -> Sequence[RuntimeValue]:
    """RegexFullMatch: whether a regular expression matches a whole string."""
    pattern = _regex(call, call.string_attribute("pattern"))
    found = [pattern.fullmatch(text) is not None for text in call.strings(0)]
    return [np.array(found, np.bool_).reshape(call.array(0).shape)]


@lru_cache(64)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _regex(call: OperatorAttributes, pattern: str) -> re.Pattern[str]:
    try:
        return _compile_pattern(pattern)
    except re.error as error:
        raise call.fail(f"'{pattern}' is not a regular expression: {error}") from error


def _tokenize(settings: OperatorAttributes) -> Implementation:
    """`com.microsoft.Tokenizer`: tokens of each string, with rows padded to the longest."""
    min_length, has_marks, pad = (
        settings.int_attribute("mincharnum", 1),
        settings.int_attribute("mark"),
        settings.string_attribute("pad_value"),
    )
    tokens = tokens_of(settings)

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        rows = tokens(call.strings(0))
        if min_length > 1:
            rows = [[token for token in row if len(token) >= min_length] for row in rows]
        if has_marks:
            rows = [["\x02", *row, "\x03"] for row in rows]
        width = max(map(len, rows), default=0)
        for row in rows:
            if len(row) < width:
                row += [pad] * (width - len(row))
        return [string_tensor(list(chain.from_iterable(rows)), [*call.array(0).shape, width])]

    return perform


def tokens_of(settings: OperatorAttributes) -> Callable[[list[str]], list[list[str]]]:
    """Return a function that splits strings into tokens, none of which is empty."""
    expression = settings.string_attribute("tokenexp")
    if expression:
        finder = _regex(settings, expression)
        if finder.groups:
            return lambda texts: [
                [token for found in finder.finditer(text) if (token := found.group())] for text in texts
            ]
        return partial(_matches_in, finder.findall)
    separators = [str(each) for each in settings.list_attribute("separators") or ()]
    if separators in ([""], []):
        return lambda texts: list(map(list, texts))
    splitter = _regex(settings, "|".join(separators))
    return lambda texts: [[part for part in splitter.split(text) if part] for text in texts]


def _matches_in(find: Callable[[str], list[str]], texts: list[str]) -> list[list[str]]:
    """Return the matches in each text of an expression without groups, except empty ones."""
    rows = list(map(find, texts))
    # Few expressions match the empty string, and one search in all rows is faster than a loop.
    return [list(filter(None, row)) for row in rows] if "" in chain.from_iterable(rows) else rows


def _tf_idf(settings: OperatorAttributes) -> Implementation:
    """TfIdfVectorizer: counts (TF), presence (IDF) or weighted counts of n-grams in each row."""
    targets = [int(each) for each in settings.list_attribute("ngram_indexes") or ()]
    size = max(targets, default=-1) + 1
    ngrams = Ngrams(_ngram_indices(settings, targets), size)
    numbers = Lookup(ngrams.numbers.items(), ngrams.unknown)
    least, most = (settings.int_attribute(f"{name}_gram_length", 1) for name in ("min", "max"))
    max_skip = settings.int_attribute("max_skip_count")
    mode = settings.string_attribute("mode")
    weights = ngram_weights(settings, targets, size)

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        shape = call.array(0).shape
        rows, length = shape if len(shape) == 2 else (1, call.array(0).size)
        # A row has one more count than n-grams: that of unknown ones.
        total = rows * (size + 1)
        starts = np.arange(0, total, size + 1)[:, None]
        counts = np.zeros(total, np.int64)
        words = numbers.of(call, INDEX).astype(np.intp, copy=False).reshape(rows, length)
        for found in ngrams.targets(words, least, most, max_skip):
            counts += np.bincount((found + starts).ravel(), minlength=total)
        counts = counts.reshape(rows, size + 1)[:, :size].astype(np.float32)
        if mode == "IDF":
            counts = np.minimum(counts, 1)
        if weights is not None:
            counts *= weights
        return [counts if len(shape) == 2 else counts[0]]

    return perform


def ngram_weights(
    settings: OperatorAttributes, targets: Sequence[int], size: int
) -> npt.NDArray[np.float32] | None:
    """Return the weight of each output of a TfIdfVectorizer; `None` if there are none."""
    given = settings.list_attribute("weights")
    if not given or settings.string_attribute("mode") == "TF":
        return None
    # A weight is of an n-gram of the pool, not of an output.
    weights = np.ones(size, np.float32)
    weights[targets] = given
    return weights


def _ngram_indices(call: OperatorAttributes, targets: Sequence[int]) -> Mapping[tuple[str, ...], int]:
    """Return the output index of each n-gram of the pool."""
    pool = [str(each) for each in call.list_attribute("pool_strings") or ()]
    begins = [*(int(each) for each in call.list_attribute("ngram_counts") or ()), len(pool)]
    found: dict[tuple[str, ...], int] = {}
    indices = iter(targets)
    for length, (begin, end) in enumerate(pairwise(begins), 1):
        for start in range(begin, begin + (end - begin) // length * length, length):
            target = next(indices, None)
            if target is None or target < 0:
                raise call.fail(
                    "attribute ngram_indexes: there must be one non-negative index for each n-gram"
                )
            found[tuple(pool[start : start + length])] = target
    return found


def _label_encoder(settings: OperatorAttributes) -> Implementation:
    """LabelEncoder: map each element by a table of keys and values, else to a default."""
    keys = _first_attribute(settings, "keys_tensor", "keys_strings", "keys_int64s", "keys_floats")
    values = _first_attribute(settings, "values_tensor", "values_strings", "values_int64s", "values_floats")
    if keys is None or values is None or len(keys) != len(values):
        raise settings.fail("there must be as many values as keys")
    to = settings.string_attribute("to")
    *made, default = (
        map(str, (*values, _default(settings))) if to == "object" else (*values, _default(settings))
    )
    table, dtype = Lookup(zip(map(key_of, keys), made, strict=True), default), _dtype(to)

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        return [table.of(call, dtype)]

    return perform


def _first_attribute(settings: OperatorAttributes, *names: str) -> Sequence[int | float | str] | None:
    return next((found for name in names if (found := settings.list_attribute(name)) is not None), None)


def _default(settings: OperatorAttributes) -> int | float | str:
    value = settings.list_attribute("default_tensor")
    if value:
        return value[0]
    name = "default_" + {"object": "string", "float32": "float"}.get(settings.string_attribute("to"), "int64")
    value = settings.step.attributes.get(name)
    return value if isinstance(value, int | float | str) else ""


def _tensor_maker(
    settings: OperatorAttributes,
) -> Callable[[Sequence[int | float | str], Sequence[int]], Array]:
    """Return a function that makes a tensor of the output type from elements and a shape."""
    to = settings.string_attribute("to")
    if to == "object":
        return lambda found, shape: string_tensor([str(each) for each in found], shape)
    dtype = _dtype(to)
    return lambda found, shape: np.array(found, dtype).reshape(tuple(shape))


def _category_mapper(settings: OperatorAttributes) -> Implementation:
    """CategoryMapper: map strings to integers or integers to strings."""
    numbers, texts = (settings.list_attribute(name) or () for name in ("cats_int64s", "cats_strings"))
    number, text = (
        settings.int_attribute("default_int64", -1),
        settings.string_attribute("default_string", "_Unused"),
    )
    to_number = Lookup(zip(texts, numbers, strict=True), number)
    to_text = Lookup(zip(numbers, map(str, texts), strict=True), text)

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        if call.array(0).dtype.hasobject:
            return [to_number.of(call, NUMBER)]
        return [to_text.of(call, TEXT)]

    return perform


def _one_hot_encoder(settings: OperatorAttributes) -> Implementation:
    """OneHotEncoder on strings."""
    categories = [str(category) for category in settings.list_attribute("cats_strings") or ()]
    rows = np.eye(len(categories) + 1, len(categories), dtype=np.float32)
    """The row of each category; the last row, of zeros, is for unknown strings."""
    indices = Lookup(((category, index) for index, category in enumerate(categories)), len(categories))
    takes_others = settings.int_attribute("zeros", 1)

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        found = indices.of(call, INDEX).astype(np.intp, copy=False)
        if not takes_others and (unknown := np.count_nonzero(found == len(categories))):
            raise call.fail(f"{unknown} elements are not in any category, which zeros = 0 forbids")
        return [rows.take(found, 0)]

    return perform


def _zip_map(settings: OperatorAttributes) -> Implementation:
    """ZipMap: a map of class to score for each row."""
    keys = _keys(_first_attribute(settings, "classlabels_strings", "classlabels_int64s"))
    dictionaries = _dictionary_maker(keys)

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        scores = call.array(0)
        rows = scores if scores.ndim > 1 else scores.reshape(1, -1)
        if rows.shape[-1] != len(keys):
            raise call.fail(f"{rows.shape[-1]} scores in a row for {len(keys)} classes")
        return [tuple(dictionaries(rows.tolist()))]

    return perform


MAX_DISPLAYED_KEYS = 32
"""Keys of a map up to which a display makes it: `{k0: v0, k1: v1}`."""


def _dictionary_maker(keys: Sequence[int | str]) -> Callable[[list[list[int | float]]], list[OnnxMap]]:
    """Return a function that makes a map of keys to values for each row of values."""
    if not 0 < len(keys) <= MAX_DISPLAYED_KEYS:
        return lambda rows: [dict(zip(keys, row, strict=True)) for row in rows]
    # A display takes a third of the time of `dict(zip(…))`, but its length is known only now. All that the
    # text has of the model is the number of keys.
    numbers = range(len(keys))
    names, values = (", ".join(f"{letter}{number}" for number in numbers) for letter in "kv")
    pairs = ", ".join(f"k{number}: v{number}" for number in numbers)
    text = f"lambda {names}: lambda rows: [{{{pairs}}} for {values}, in rows]"
    return eval(text)(*keys)


def _dict_vectorizer(call: OperatorCall) -> Sequence[RuntimeValue]:
    """DictVectorizer: the values of a map in the order of the vocabulary; 0 or "" for missing keys."""
    given = _dictionary(call)
    keys = _keys(_first_attribute(call, "string_vocabulary", "int64_vocabulary"))
    unknown = [key for key in given if key not in keys]
    if unknown:
        raise call.fail(f"key {unknown[0]!r} is not in the vocabulary")
    missing: int | str = "" if call.string_attribute("to") == "object" else 0
    return [_tensor_maker(call)([given.get(key, missing) for key in keys], [1, len(keys)])]


def _keys(found: Sequence[int | float | str] | None) -> list[int | str]:
    """Return the keys of a map: strings or integers."""
    return [key if isinstance(key, str) else int(key) for key in found or ()]


def _cast_map(call: OperatorCall) -> Sequence[RuntimeValue]:
    """CastMap: the values of a map in the order of its keys, or (SPARSE) at the indices given by the keys."""
    given = _dictionary(call)
    pairs = sorted((int(key), value) for key, value in given.items())
    values: list[int | float | str] = [value for _, value in pairs]
    to = call.string_attribute("to")
    if call.string_attribute("map_form") == "SPARSE":
        size = call.int_attribute("max_map", 1)
        if pairs and not 0 <= pairs[0][0] <= pairs[-1][0] < size:
            raise call.fail(f"keys {pairs[0][0]} to {pairs[-1][0]} of a map of {size}")
        known = dict(pairs)
        values = [known.get(index, "" if to == "object" else 0) for index in range(size)]
    if to != "object":
        kind = float if to.startswith("float") else int
        values = [kind(value) for value in values]
    return [_tensor_maker(call)(values, [1, len(values)])]


def _dictionary(call: OperatorCall) -> OnnxMap:
    value = call.operands[0]
    if not isinstance(value, dict):
        raise call.fail("operand 0 is not a map")
    return value


IMPLEMENTATIONS: Mapping[str, Implementation] = {
    "Cast": _cast,
    "CastLike": _cast,
    "CastMap": _cast_map,
    "DictVectorizer": _dict_vectorizer,
    "RegexFullMatch": _matches,
    "StringConcat": _concat_texts,
    "StringSplit": _split,
}
"""The implementation of each operator."""

PREPARED_IMPLEMENTATIONS: Mapping[str, PrepareImplementation] = {
    "CategoryMapper": _category_mapper,
    "LabelEncoder": _label_encoder,
    "OneHotEncoder": _one_hot_encoder,
    "StringNormalizer": _normalize,
    "TfIdfVectorizer": _tf_idf,
    "Tokenizer": _tokenize,
    "ZipMap": _zip_map,
}
"""Operators with expensive attributes, which are prepared once."""
