"""Lookup of the op class of an ONNX operator at an opset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module

from xonnc.dialects.onnx.op import OnnxOp

MODULES = (
    "builtin",
    "constant",
    "controlflow",
    "extra",
    "generator",
    "image",
    "logical",
    "math",
    "ml",
    "nn",
    "object_detection",
    "optional",
    "preview",
    "quantization",
    "reduction",
    "rnn",
    "sequence",
    "tensor",
    "text",
    "training",
)
"""The modules of `xonnc.dialects.onnx.ops`; each lists its classes as `OPS`."""


_ADDED: list[type[OnnxOp]] = []
"""Op classes of plug-ins, whose names have prefixes of their own."""

_PROVIDERS: dict[tuple[str, str], Callable[[], object]] = {}
"""
Functions that register operators, by domain and operator, until one of them is first looked up.

The operator "" stands for all of the domain.
"""

_provided: set[tuple[str, str]] = set()


def provide(load: Callable[[], object], operators: Sequence[tuple[str, str]]) -> None:
    """
    Call `load`, which registers op classes, at the first look-up of one of `operators`.

    They are pairs of a domain and an operator, "" for all operators of the domain.
    """
    if _provided.isdisjoint(operators):
        _PROVIDERS.update(dict.fromkeys(operators, load))


def _load_operator(domain: str, op_type: str) -> None:
    load = _PROVIDERS.get((domain, "")) or _PROVIDERS.get((domain, op_type))
    if load is None:
        return
    for key in [key for key, each in _PROVIDERS.items() if each is load]:
        del _PROVIDERS[key]
        _provided.add(key)
    load()


def register(kinds: Sequence[type[OnnxOp]]) -> Sequence[type[OnnxOp]]:
    """Add op classes from outside; those of the same operator and version that they replace."""
    new = {(kind.DOMAIN, kind.OP_TYPE, kind.SINCE) for kind in kinds}
    replaced = [kind for kind in _ADDED if (kind.DOMAIN, kind.OP_TYPE, kind.SINCE) in new]
    _ADDED[:] = [*kinds, *(kind for kind in _ADDED if kind not in replaced)]
    _versions.cache_clear()
    return replaced


def added_classes() -> Sequence[type[OnnxOp]]:
    """The op classes of plug-ins."""
    return _ADDED


def versions_of(domain: str, op_type: str) -> Sequence[type[OnnxOp]]:
    """The classes of an operator, of every version."""
    domain = "" if domain == "ai.onnx" else domain
    _load_operator(domain, op_type)
    return _versions().get((domain, op_type), ())


@cache
def op_classes() -> tuple[type[OnnxOp], ...]:
    """Return all ops of the dialect, including those that are not ONNX operators."""
    return tuple(_load())


def op_class(domain: str, op_type: str, opset: int) -> type[OnnxOp] | None:
    """
    Return the class of operator `op_type` of `domain` at `opset`, or `None` if there is none.

    `ai.onnx` is the empty domain. An opset newer than the dialect gets the newest class.
    """
    domain = "" if domain == "ai.onnx" else domain
    _load_operator(domain, op_type)
    for found in _versions().get((domain, op_type), ()):
        if found.SINCE <= opset and (found.UNTIL is None or opset < found.UNTIL):
            return found
    return None


@cache
def _versions() -> dict[tuple[str, str], list[type[OnnxOp]]]:
    versions: dict[tuple[str, str], list[type[OnnxOp]]] = {}
    # Those of plug-ins first: one that overrides an operator wins.
    for found in (*_ADDED, *op_classes()):
        if found.OP_TYPE:
            versions.setdefault((found.DOMAIN, found.OP_TYPE), []).append(found)
    return versions


def _load() -> Iterator[type[OnnxOp]]:
    for name in MODULES:
        yield from import_module(f"xonnc.dialects.onnx.ops.{name}").OPS
