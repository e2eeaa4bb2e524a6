"""
Native code as a level: outputs equal those of the original, invalid inputs are refused, nothing crashes.

A crash of native code ends the process of the fuzzer; the current seed is then the failing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from xonnc.errors import XonncError
from xonnc.fuzzing.differential import CRASHES, DIFFERS, DOES_NOT_RUN, LevelFailure, Original, contradicts
from xonnc.fuzzing.known_differences import Lazy, is_explained
from xonnc.fuzzing.random_models import Array, Feeds
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session
from xonnc.runtime.verification.reference_engines import Outputs
from xonnc.runtime.verification.tolerance import disagreement

NATIVE = "native"
"""Name of the level of native code."""

ACCEPTS_INVALID, LACKS_KERNEL = "takes wrong inputs", "lacks code, and the reference is wrong, for"

REFERENCE_ERRORS = re.compile(r"the reference evaluator fails|Loop\w*: gives .*, the model says ")
"""Errors of the session where an operator has no kernel and the reference evaluator fails on it."""


def native_failure(original: Original) -> LevelFailure | None:
    """The failure of native code on a model, or `None`."""
    try:
        session = compile_native(original.model, cache=False)
        return _difference(session, original) or _input_check_failure(session, original)
    except XonncError as error:
        kind = LACKS_KERNEL if REFERENCE_ERRORS.search(str(error)) else DOES_NOT_RUN
        return LevelFailure(NATIVE, kind, str(error))
    except Exception as error:  # Any other exception is a crash.
        return LevelFailure(NATIVE, CRASHES, f"{type(error).__name__}: {error}")


def _outputs(session: Session, feeds: Feeds) -> Outputs:
    names = [port.name for port in session.outputs]
    return {name: np.asarray(value) for name, value in zip(names, session.run(None, feeds), strict=True)}


def _difference(session: Session, original: Original) -> LevelFailure | None:
    for feeds, expected in original.runs:
        for given, prefix in ((feeds, ""), (_non_contiguous(feeds), "non-contiguous inputs: ")):
            try:
                found = _outputs(session, given)
            except XonncError as error:
                if not contradicts(original, feeds, str(error)):
                    raise
                continue
            perturbed = Lazy(lambda feeds=feeds: original.perturbed(feeds))
            for name, expected_array in expected.items():
                wrong = disagreement({name: expected_array}, {name: found[name]}, perturbed)
                if wrong and contradicts(original, feeds, wrong):
                    continue
                if wrong and not is_explained(original, feeds, name, expected_array, found[name]):
                    return LevelFailure(NATIVE, DIFFERS, prefix + wrong)
    return None


def _input_check_failure(session: Session, original: Original) -> LevelFailure | None:
    """Invalid inputs that are accepted, or that end otherwise than with an `XonncError`."""
    feeds = original.runs[0][0]
    for what, wrong in _invalid_feeds(feeds):
        try:
            session.run(None, wrong)
        except XonncError:
            continue
        return LevelFailure(NATIVE, ACCEPTS_INVALID, what)
    # A loop of 2^63 iterations would not end.
    has_loop = b"Loop" in original.model.SerializeToString()
    for extreme in () if has_loop else _extreme_feeds(session, feeds):
        try:
            session.run(None, extreme)
        except XonncError:
            continue
    return None


def _non_contiguous(feeds: Feeds) -> Feeds:
    """The same arrays with non-contiguous strides."""
    found: dict[str, Array] = {}
    for name, array in feeds.items():
        apart = np.zeros((*array.shape, 2), array.dtype)
        apart[..., 1] = array
        found[name] = apart[..., 1]
    return found


def _invalid_feeds(feeds: Feeds) -> Iterator[tuple[str, Feeds]]:
    """Invalid inputs, with a description."""
    yield "an input of another name", {**feeds, "no such input": np.zeros(1, np.float32)}
    for name, array in feeds.items():
        yield "no input", {other: value for other, value in feeds.items() if other != name}
        yield "an input of another rank", {**feeds, name: array[np.newaxis]}
        other = np.complex128 if array.dtype != np.complex128 else np.float32
        yield "an input of another type", {**feeds, name: np.zeros(array.shape, other)}


def _extreme_feeds(session: Session, feeds: Feeds) -> Iterator[Feeds]:
    """Extreme integers: indices out of range, division by zero, and overflow of the least integer."""
    integers = [name for name, array in feeds.items() if array.dtype.kind in "iu"]
    for name in integers:
        if name not in session.shape_determining:
            limits = np.iinfo(feeds[name].dtype)
            for number in (limits.max, limits.min, 0, -1 if limits.min else 1):
                yield {**feeds, name: np.full(feeds[name].shape, number, feeds[name].dtype)}
