"""Checks of the inputs of a run, in a form that native code can access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard, cast

import numpy as np

from xonnc.errors import XonncError, suggest
from xonnc.formats.native.program import OnnxMap, RuntimeValue, TensorSpec
from xonnc.runtime.native.instance import CONTIGUOUS, Array

TEXT_KINDS = "OSTU"
"""Kinds of NumPy types that hold texts: objects, bytes, and strings of any and of fixed length."""


def check_feeds(specs: Sequence[TensorSpec], feeds: Mapping[str, object]) -> list[RuntimeValue]:
    """Check inputs and return them in order, in a form that native code can access."""
    checked: list[RuntimeValue] = []
    for spec in specs:
        if spec.name not in feeds:
            break
        checked.append(_check_input(spec, feeds[spec.name]))
    if len(checked) == len(specs) == len(feeds):
        return checked
    known = [spec.name for spec in specs]
    for name in feeds:
        if name not in known:
            raise XonncError(
                f"no input '{name}'{suggest(str(name), known)}; there are {', '.join(known) or 'none'}"
            )
    missing = [name for name in known if name not in feeds]
    raise XonncError(f"input '{missing[0]}' is not given; the model takes {', '.join(known)}")


def _check_input(spec: TensorSpec, fed_value: object) -> RuntimeValue:
    if spec.dtype is None:
        return _check_untyped_input(spec, fed_value)
    array = _array(fed_value)
    if array is None:
        raise XonncError(f"input '{spec.name}': a {type(fed_value).__name__} is not an array")
    if spec.dtype.hasobject:
        if array.dtype.kind not in TEXT_KINDS:
            raise XonncError(f"input '{spec.name}': {array.dtype} was fed, the model takes string")
        array = array.astype(np.object_)
    elif array.dtype != spec.dtype:
        raise XonncError(f"input '{spec.name}': {array.dtype} was fed, the model takes {spec.dtype}")
    if not spec.accepts(array.shape):
        shape = ", ".join("?" if size is None else str(size) for size in spec.shape or ())
        raise XonncError(
            f"input '{spec.name}': the shape {list(array.shape)} was fed, the model takes [{shape}]"
        )
    return array if array.flags.num & CONTIGUOUS == CONTIGUOUS else np.require(array, None, ["C", "A"])


def _check_untyped_input(spec: TensorSpec, fed_value: object) -> RuntimeValue:
    """Check an input that is not a tensor: a sequence, a map, a sequence of maps, or an optional."""
    if _is_map(fed_value):
        return _checked_map(spec, fed_value)
    if _is_list(fed_value):
        return tuple(_checked_map(spec, each) if _is_map(each) else np.asarray(each) for each in fed_value)
    return _array(fed_value)


def _checked_map(spec: TensorSpec, fed_value: Mapping[object, object]) -> OnnxMap:
    """Check a map and convert NumPy scalars in it to Python ones."""
    found: OnnxMap = {}
    for key, value in fed_value.items():
        items = [
            each if isinstance(each, str) else np.asarray(each).reshape(-1).tolist() for each in (key, value)
        ]
        plain = [each[0] if isinstance(each, list) and len(each) == 1 else each for each in items]
        if not isinstance(plain[0], int | str) or not isinstance(plain[1], int | float | str):
            raise XonncError(
                f"input '{spec.name}': {key!r}: {value!r} was fed, keys of maps are integers or strings, "
                "values numbers or strings"
            )
        found[plain[0]] = plain[1]
    return found


def _is_map(fed_value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(fed_value, Mapping)


def _is_list(fed_value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(fed_value, list | tuple)


def _array(given: object) -> Array | None:
    # The common case first: the other checks take as long as a small layer.
    if type(given) is np.ndarray:
        return given
    try:
        if isinstance(given, np.ndarray | np.generic | int | float | bool | list):
            return np.asarray(given)
        # Tensors of other libraries, by the protocols that they share with numpy; without a copy where they
        # lie in memory of the CPU.
        if hasattr(given, "__dlpack__"):
            return np.from_dlpack(cast("Any", given))
        return np.asarray(given) if hasattr(given, "__array__") else None
    except (AttributeError, BufferError, OverflowError, RuntimeError, TypeError, ValueError):
        # Ragged lists, or integers out of the range of every dtype.
        return None
