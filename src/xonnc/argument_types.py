"""Checks of arguments against annotations: a wrong type is an error that names the parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import wraps
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import IO, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np

from xonnc.errors import ArgumentTypeError

P = ParamSpec("P")
R = TypeVar("R")

NAMES: Mapping[object, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "True or False",
    bytes: "bytes",
    NoneType: "None",
    Path: "a path",
    PathLike: "a path",
    IO: "a binary file",
    Callable: "a function",
    Mapping: "a dictionary",
    Sequence: "a list",
    Collection: "a list",
    AbstractSet: "a set",
    tuple: "a tuple",
}
"""Names of types in messages; other classes go by their own name."""


def checks_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """
    Return `function` with a check of its arguments against their annotations.

    Annotations that exist for type checkers alone are not checked.

    Parameters:
        function: a function of the public API.
    """
    signature = inspect.signature(function)
    expected: dict[str, Any] = {}

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not expected:
            expected.update(_annotations(function, signature))
        # Missing and unknown arguments are left to the call, whose error names the function.
        for name, value in _bound(signature, args, kwargs).items():
            if name in expected and not accepts(expected[name], value):
                raise ArgumentTypeError(_misfit(name, expected[name], value))
        return function(*args, **kwargs)

    return checked


def require_path(path: object) -> Path:
    """
    Return a path given as a string or path; raise `ArgumentTypeError` for anything else.

    Parameters:
        path: the argument.
    """
    if isinstance(path, str | Path):
        return Path(path)
    raise ArgumentTypeError(f"{_shown(path)} is of type {type(path).__name__}; a path is a string or a Path")


def accepts(annotation: Any, value: object) -> bool:
    """
    Return whether a value is of an annotated type; elements of lists and dictionaries are looked at too.

    Parameters:
        annotation: the type.
        value: the value.
    """
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return any(accepts(each, value) for each in args)
    if origin is Literal:
        return any(isinstance(value, type(each)) for each in args)
    if annotation in (str, Path) and isinstance(value, PathLike):
        return annotation is Path
    if annotation is float:
        return isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    kind = origin or annotation
    if kind in (IO, Callable):
        return hasattr(value, "read") if kind is IO else callable(value)
    if not isinstance(kind, type) or kind in (object, Any):
        return True
    if not isinstance(value, kind) or (kind in (Sequence, Collection) and isinstance(value, str | bytes)):
        return False
    return _elements_fit(kind, args, value)


def _elements_fit(kind: type, args: Sequence[Any], value: Any) -> bool:
    if issubclass(kind, Mapping) and len(args) == 2:
        return all(accepts(args[0], key) and accepts(args[1], element) for key, element in value.items())
    if issubclass(kind, Collection) and len(args) == 1:
        return all(accepts(args[0], each) for each in value)
    return True


def _misfit(name: str, annotation: Any, value: Any) -> str:
    """Return the message on an argument of a wrong type, or on the element of it that is."""
    for kind in get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,):
        args = get_args(kind)
        if get_origin(kind) is Mapping and len(args) == 2 and accepts(Mapping, value):
            for key, element in value.items():
                if accepts(args[0], key) and not accepts(args[1], element):
                    return _misfit(f"{name}[{key!r}]", args[1], element)
    return f"{name}: {_shown(value)} is of type {type(value).__name__}; it takes {describe(annotation)}"


def describe(annotation: Any) -> str:
    """
    Return what values of a type are called, such as `a string or a path`.

    Parameters:
        annotation: the type.
    """
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        parts = dict.fromkeys(describe(each) for each in args)
        return " or ".join(parts)
    if origin is Literal:
        return " or ".join(map(repr, args))
    name = NAMES.get(origin or annotation) or getattr(origin or annotation, "__name__", str(annotation))
    if (origin or annotation) in (Sequence, Collection) and len(args) == 1:
        plural = {str: "strings", int: "integers"}.get(args[0])
        return f"{name} of {plural}" if plural else name
    return name


def _annotations(function: Callable[..., object], signature: inspect.Signature) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        annotation: Any = parameter.annotation
        try:
            # An alias may be a string in turn.
            while isinstance(annotation, str):
                annotation = eval(annotation, function.__globals__)
        except (NameError, TypeError):
            # Imported for type checkers alone, or a union with an alias that is a string.
            continue
        found[name] = annotation
    return found


def _bound(
    signature: inspect.Signature, args: Sequence[object], kwargs: Mapping[str, object]
) -> Mapping[str, object]:
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError:
        return {}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
