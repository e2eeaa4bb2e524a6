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

_PROVIDERS: dict[str, Callable[[], object]] = {}
"""Functions that register the operators of a domain, by domain, until the domain is first looked up."""

_provided: set[str] = set()


def provide(domain: str, load: Callable[[], object]) -> None:
    """Call `load`, which registers op classes, at the first look-up of an operator of `domain`."""
    if domain not in _provided:
        _PROVIDERS[domain] = load


def _load_domain(domain: str) -> None:
    load = _PROVIDERS.pop(domain, None)
    if load is not None:
        _provided.add(domain)
        load()


def register(kinds: Sequence[type[OnnxOp]]) -> Sequence[type[OnnxOp]]:
    """Adds op classes from outside; those of the same operator and version that they take the place of."""
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
    _load_domain(domain)
    return _versions().get(("" if domain == "ai.onnx" else domain, op_type), ())


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
    _load_domain(domain)
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
