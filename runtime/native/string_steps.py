"""
Operators on strings and dictionaries, which the session computes with numpy and Python.

Native code has no strings: they are Python's own objects, in arrays of objects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xonnc.formats.native.program import Dictionary, Held
from xonnc.runtime.native.calls import Array, Call, text_array

Numbers = npt.NDArray[np.generic]


def _cast(call: Call) -> Sequence[Held]:
    """Numbers as Python writes them; strings as the numbers that they are."""
    x = call.array(0)
    to = call.text("to")
    if to == "object":
        return [_written(x)]
    try:
        return [_parsed(call.texts(0).reshape(-1).tolist(), _dtype(to)).reshape(x.shape)]
    except (ValueError, OverflowError) as error:
        raise call.fail(f"a string is no {to}: {error}") from error


def _dtype(name: str) -> np.dtype[np.generic]:
    return np.dtype(getattr(ml_dtypes, name, name))


def _written(x: Array) -> Array:
    if x.dtype.hasobject:
        return x
    if x.dtype.kind not in "biuf":
        x = x.astype(np.float32)
    return text_array([str(each) for each in x.astype(np.str_).reshape(-1)], x.shape)


def _parsed(texts: Sequence[str], dtype: np.dtype[np.generic]) -> Array:
    if dtype.kind in "iu":
        return np.array([int(text) for text in texts], np.int64 if dtype.kind == "i" else np.uint64).astype(
            dtype
        )
    numbers = np.array([float(text) for text in texts], np.float64)
    return (numbers != 0 if dtype.kind == "b" else numbers).astype(dtype)


def _concat_texts(call: Call) -> Sequence[Held]:
    """Both strings, one after the other."""
    try:
        x, y = np.broadcast_arrays(call.texts(0), call.texts(1))
    except ValueError as error:
        raise call.fail(str(error)) from error
    joined = [str(a) + str(b) for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    return [text_array(joined, x.shape)]


def _normalize(call: Call) -> Sequence[Held]:
    """Elements without those that are stop words, in lower or upper case."""
    x = call.texts(0)
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
        raise call.fail(f"it takes one row of strings, found shape {list(x.shape)}")
    action = call.text("case_change_action", "NONE")
    change = {"LOWER": str.lower, "UPPER": str.upper}.get(action, str)
    # Without regard to case words are compared in lower case, whatever becomes of them.
    compared = str if call.setting("is_case_sensitive") else str.lower
    stops = {compared(str(word)) for word in call.listed("stopwords") or ()}
    kept = [change(text) for text in map(str, x.reshape(-1)) if compared(text) not in stops]
    kept = kept or [""]
    return [text_array(kept, [1, len(kept)] if x.ndim == 2 else [len(kept)])]


def _split(call: Call) -> Sequence[Held]:
    """The parts of each string, filled up with empty ones, and how many there are."""
    x = call.texts(0)
    most = call.setting("maxsplit", -1)
    delimiter = call.text("delimiter") or None
    parts = [str(text).split(delimiter, most) for text in x.reshape(-1)]
    width = max(map(len, parts), default=0)
    filled = [part for row in parts for part in [*row, *[""] * (width - len(row))]]
    counts = np.array([len(row) for row in parts], np.int64).reshape(x.shape)
    return [text_array(filled, [*x.shape, width]), counts]


def _matches(call: Call) -> Sequence[Held]:
    """Whether all of a string fits a regular expression."""
    pattern = _regex(call, call.text("pattern"))
    x = call.texts(0)
    found = [pattern.fullmatch(str(text)) is not None for text in x.reshape(-1)]
    return [np.array(found, np.bool_).reshape(x.shape)]


@lru_cache(64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _regex(call: Call, pattern: str) -> re.Pattern[str]:
    try:
        return _compiled(pattern)
    except re.error as error:
        raise call.fail(f"'{pattern}' is no regular expression: {error}") from error


def _tokenize(call: Call) -> Sequence[Held]:
    """`com.microsoft.Tokenizer`: the tokens of each string, rows filled up with a pad."""
    x = call.texts(0)
    least = call.setting("mincharnum", 1)
    rows = [[token for token in _tokens(call, str(text)) if len(token) >= least] for text in x.reshape(-1)]
    if call.setting("mark"):
        rows = [["\x02", *row, "\x03"] for row in rows]
    width, pad = max(map(len, rows), default=0), call.text("pad_value")
    filled = [token for row in rows for token in [*row, *[pad] * (width - len(row))]]
    return [text_array(filled, [*x.shape, width])]


def _tokens(call: Call, text: str) -> Iterator[str]:
    expression = call.text("tokenexp")
    if expression:
        for found in _regex(call, expression).finditer(text):
            if found.group():
                yield found.group()
        return
    separators = [str(each) for each in call.listed("separators") or ()]
    if separators in ([""], []):
        yield from text
        return
    yield from (part for part in _regex(call, "|".join(separators)).split(text) if part)


def _tf_idf(call: Call) -> Sequence[Held]:
    """How often each n-gram of strings is in a row; or whether; times a weight."""
    x = call.texts(0)
    targets = [int(each) for each in call.listed("ngram_indexes") or ()]
    size = max(targets, default=-1) + 1
    known = _known_grams(call, targets)
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    counts = np.zeros((len(rows), size), np.float32)
    for row, texts in enumerate(rows):
        for target, count in Counter(_grams(call, [str(text) for text in texts], known)).items():
            counts[row, target] += count
    mode = call.text("mode")
    if mode == "IDF":
        counts = np.minimum(counts, 1)
    weights = call.listed("weights")
    if weights and mode != "TF":
        counts *= np.array(weights, np.float32)
    return [counts if x.ndim == 2 else counts[0]]


def _known_grams(call: Call, targets: Sequence[int]) -> Mapping[tuple[str, ...], int]:
    """The place in the result of each n-gram."""
    pool = [str(each) for each in call.listed("pool_strings") or ()]
    begins = [*(int(each) for each in call.listed("ngram_counts") or ()), len(pool)]
    found: dict[tuple[str, ...], int] = {}
    places = iter(targets)
    for length, (begin, end) in enumerate(pairwise(begins), 1):
        for start in range(begin, begin + (end - begin) // length * length, length):
            target = next(places, None)
            if target is None or target < 0:
                raise call.fail("n-grams that are not as many as their places")
            found[tuple(pool[start : start + length])] = target
    return found


def _grams(call: Call, texts: Sequence[str], known: Mapping[tuple[str, ...], int]) -> Iterator[int]:
    """The places of all n-grams in a row."""
    least, most = call.setting("min_gram_length", 1), call.setting("max_gram_length", 1)
    for apart in range(1, call.setting("max_skip_count") + 2):
        # How far apart they are says nothing of single strings, which are counted once.
        for length in range(max(least, min(apart, 2)), most + 1):
            for first in range(len(texts) - (length - 1) * apart):
                gram = tuple(texts[first + place * apart] for place in range(length))
                if gram in known:
                    yield known[gram]


def _label_encoder(call: Call) -> Sequence[Held]:
    """The value of the key that an element is, else a default."""
    keys = _first(call, "keys_tensor", "keys_strings", "keys_int64s", "keys_floats")
    values = _first(call, "values_tensor", "values_strings", "values_int64s", "values_floats")
    if keys is None or values is None or len(keys) != len(values):
        raise call.fail("there are not as many keys as values")
    table: dict[object, int | float | str] = dict(zip(map(_key, keys), values, strict=True))
    default = _default(call)
    x = call.texts(0) if call.array(0).dtype.hasobject else call.array(0)
    return [_listed(call, [table.get(_key(each), default) for each in x.reshape(-1).tolist()], x.shape)]


def _key(value: object) -> object:
    """What equal keys have in common; NaN is a key as other numbers are."""
    return "NaN" if isinstance(value, float) and value != value else value, isinstance(value, str)


def _first(call: Call, *names: str) -> Sequence[int | float | str] | None:
    return next((found for name in names if (found := call.listed(name)) is not None), None)


def _default(call: Call) -> int | float | str:
    held = call.listed("default_tensor")
    if held:
        return held[0]
    name = "default_" + {"object": "string", "float32": "float"}.get(call.text("to"), "int64")
    value = call.step.settings.get(name)
    return value if isinstance(value, int | float | str) else ""


def _listed(call: Call, found: Sequence[int | float | str], shape: Sequence[int]) -> Array:
    """A tensor of the type that the model says."""
    to = call.text("to")
    if to == "object":
        return text_array([str(each) for each in found], shape)
    return np.array(found, _dtype(to)).reshape(tuple(shape))


def _category_mapper(call: Call) -> Sequence[Held]:
    """The integer of a string, or the string of an integer."""
    numbers, texts = (call.listed(name) or () for name in ("cats_int64s", "cats_strings"))
    x = call.array(0)
    if x.dtype.hasobject:
        to_number = dict(zip(texts, numbers, strict=True))
        default = call.setting("default_int64", -1)
        found = [to_number.get(str(text), default) for text in call.texts(0).reshape(-1)]
        return [np.array(found, np.int64).reshape(x.shape)]
    to_text = dict(zip(numbers, texts, strict=True))
    default = call.text("default_string", "_Unused")
    return [text_array([str(to_text.get(each, default)) for each in x.reshape(-1).tolist()], x.shape)]


def _one_hot_encoder(call: Call) -> Sequence[Held]:
    """1 at the place of the category that a string is, else 0."""
    x = call.texts(0)
    places = {str(category): place for place, category in enumerate(call.listed("cats_strings") or ())}
    size = len(call.listed("cats_strings") or ())
    found = np.array([places.get(str(text), -1) for text in x.reshape(-1)], np.int64)
    if not call.setting("zeros", 1) and (found < 0).any():
        raise call.fail(f"{int((found < 0).sum())} elements are of no category, and zeros is 0")
    return [(found[:, None] == np.arange(size)).astype(np.float32).reshape(*x.shape, size)]


def _zip_map(call: Call) -> Sequence[Held]:
    """A dictionary of classes and scores for each row."""
    scores = call.array(0)
    labels = _first(call, "classlabels_strings", "classlabels_int64s") or ()
    rows = scores.reshape(1, -1) if scores.ndim < 2 else scores
    if rows.shape[-1] != len(labels):
        raise call.fail(f"{rows.shape[-1]} scores in a row for {len(labels)} classes")
    keys = _keys(labels)
    dictionaries: list[Dictionary] = [dict(zip(keys, row, strict=True)) for row in rows.tolist()]
    return [tuple(dictionaries)]


def _dict_vectorizer(call: Call) -> Sequence[Held]:
    """The values of a dictionary in the order of the vocabulary, 0 for keys that it has not."""
    given = _dictionary(call)
    keys = _keys(_first(call, "string_vocabulary", "int64_vocabulary"))
    unknown = [key for key in given if key not in keys]
    if unknown:
        raise call.fail(f"key {unknown[0]!r} is not in the vocabulary")
    missing: int | str = "" if call.text("to") == "object" else 0
    return [_listed(call, [given.get(key, missing) for key in keys], [1, len(keys)])]


def _keys(found: Sequence[int | float | str] | None) -> list[int | str]:
    """Keys of a map: strings, or integers."""
    return [key if isinstance(key, str) else int(key) for key in found or ()]


def _cast_map(call: Call) -> Sequence[Held]:
    """The values of a dictionary in the order of its keys, or each at the place that its key says."""
    given = _dictionary(call)
    pairs = sorted((int(key), value) for key, value in given.items())
    values: list[int | float | str] = [value for _, value in pairs]
    to = call.text("to")
    if call.text("map_form") == "SPARSE":
        size = call.setting("max_map", 1)
        if pairs and not 0 <= pairs[0][0] <= pairs[-1][0] < size:
            raise call.fail(f"keys {pairs[0][0]} to {pairs[-1][0]} of a map of {size}")
        known = dict(pairs)
        values = [known.get(place, "" if to == "object" else 0) for place in range(size)]
    if to != "object":
        kind = float if to.startswith("float") else int
        values = [kind(value) for value in values]
    return [_listed(call, values, [1, len(values)])]


def _dictionary(call: Call) -> Dictionary:
    held = call.held[0]
    if not isinstance(held, dict):
        raise call.fail("operand 0 is no dictionary")
    return held


STEPS: Mapping[str, Callable[[Call], Sequence[Held]]] = {
    "Cast": _cast,
    "CastLike": _cast,
    "CastMap": _cast_map,
    "CategoryMapper": _category_mapper,
    "DictVectorizer": _dict_vectorizer,
    "LabelEncoder": _label_encoder,
    "OneHotEncoder": _one_hot_encoder,
    "RegexFullMatch": _matches,
    "StringConcat": _concat_texts,
    "StringNormalizer": _normalize,
    "StringSplit": _split,
    "TfIdfVectorizer": _tf_idf,
    "Tokenizer": _tokenize,
    "ZipMap": _zip_map,
}
"""What each operator does."""
