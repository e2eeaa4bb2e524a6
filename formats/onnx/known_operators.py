"""Refusal of operators that neither the ONNX standard nor onnxruntime defines."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

import onnx.defs
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from xonnc.dialects.onnx.interface_names import are_dictionaries
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.dialects.onnx.registry import added_classes, versions_of
from xonnc.errors import UndefinedOperatorError
from xonnc.formats.onnx.schemas import canonical_domain

VENDORS = ("com.microsoft", "com.ms.")
"""Prefixes of the domains of onnxruntime's contributed operators."""


def require_known_operators(module: ModuleOp) -> None:
    """Raise `UndefinedOperatorError` with every undefined operator and the most similar one that exists."""
    reasons = unknown_operators(module)
    if reasons:
        raise UndefinedOperatorError(list(reasons), list(reasons.values()))


def is_standard(op: CustomOp) -> bool:
    """Return whether an op is in a domain of the ONNX standard."""
    domain = canonical_domain(op.domain)
    return any(domain == known for _, known in _standard())


def unknown_operators(module: ModuleOp) -> dict[str, Operation]:
    """Return undefined operators by what is wrong with them, with the most similar one that exists."""
    own = _own_functions(module)
    reasons: dict[str, Operation] = {}
    for op in module.walk():
        if not isinstance(op, CustomOp):
            continue
        domain = canonical_domain(op.domain)
        name = op.function_name.data
        if (domain, name) in own or _exists(domain, name):
            continue
        versions = sorted(kind.SINCE for kind in versions_of(domain, name))
        if versions:
            known = " and ".join(map(str, versions))
            problem = f"operator '{name}' of domain '{domain}' is there since version {known}"
            reasons[f"{describe(op)}: {problem}; import one of these versions, or a later one"] = op
            continue
        problem = f"no operator '{name}' in domain '{domain or 'ai.onnx'}'"
        reasons[f"{describe(op)}: {problem}{_hint(domain, name)}"] = op
    return reasons


def _own_functions(module: ModuleOp) -> set[tuple[str, str]]:
    attribute = module.attributes.get("onnx.functions")
    if not are_dictionaries(attribute):
        return set()
    return {(_text(each.data, "domain"), _text(each.data, "name")) for each in attribute}


def _text(entry: Mapping[str, Any], key: str) -> str:
    attribute = entry.get(key)
    return canonical_domain(attribute.data) if isinstance(attribute, StringAttr) else ""


def _exists(domain: str, name: str) -> bool:
    if any(name == known for known, its_domain in _standard() if its_domain == domain):
        return True
    vendor = _of_vendor()
    if vendor is None:
        return domain.startswith(VENDORS)
    return (name, domain) in vendor


def _hint(domain: str, name: str) -> str:
    """Suggest the most similar operator of the domain, else of any domain."""
    every = [*_standard(), *(_of_vendor() or ()), *((kind.OP_TYPE, kind.DOMAIN) for kind in added_classes())]
    near = get_close_matches(name, [known for known, its_domain in every if its_domain == domain], 1, 0.7)
    if near:
        return f"; did you mean '{near[0]}'?"
    near = get_close_matches(name, [known for known, _ in every], 1, 0.8)
    if not near:
        return "; load a plug-in that has it (--plugin FILE), or give the model a function of this name"
    found = next(its_domain for known, its_domain in every if known == near[0])
    plugin = " or load a plug-in that has it (--plugin FILE)" if domain else ""
    return f"; '{found or 'ai.onnx'}' has '{near[0]}'{plugin}"


@cache
def _standard() -> tuple[tuple[str, str], ...]:
    return tuple(sorted({(schema.name, schema.domain) for schema in onnx.defs.get_all_schemas()}))


@cache
def _of_vendor() -> frozenset[tuple[str, str]] | None:
    """Return the operators of the installed onnxruntime, or `None` if it is absent or does not list them."""
    try:
        state = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
        return frozenset((schema.name, schema.domain) for schema in state.get_all_operator_schema())
    except (ImportError, AttributeError):
        return None
