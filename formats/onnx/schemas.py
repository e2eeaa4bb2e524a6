"""Memoised access to the operator schemas of the `onnx` package."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import onnx
import onnx.defs


def canonical_domain(domain: str) -> str:
    """Return the domain with `ai.onnx` replaced by the empty string."""
    return "" if domain == "ai.onnx" else domain


def opsets_of(imports: onnx.ModelProto | onnx.FunctionProto) -> dict[str, int]:
    """The opset version of each domain a model or function imports."""
    return {canonical_domain(entry.domain): entry.version for entry in imports.opset_import}


_ADDED: dict[tuple[str, str], list[onnx.defs.OpSchema]] = {}
"""Schemas of plug-ins' operators, the newest version first."""


def register(added: Sequence[onnx.defs.OpSchema]) -> None:
    """Add schemas of operators that the onnx package does not have."""
    for schema in added:
        known = _ADDED.setdefault((schema.domain, schema.name), [])
        known[:] = [each for each in known if each.since_version != schema.since_version]
        known.append(schema)
        known.sort(key=lambda each: -each.since_version)
    for cached in (schema_of, default_of, newest_opset, schemas_between):
        cached.cache_clear()


@cache
def schema_of(domain: str, op_type: str, opset: int) -> onnx.defs.OpSchema | None:
    """The schema in force for an operator at `opset`; `None` if there is none."""
    for added in _ADDED.get((domain, op_type), ()):
        if added.since_version <= opset:
            return added
    try:
        return onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None


@cache
def default_of(domain: str, op_type: str, opset: int, attribute: str) -> onnx.AttributeProto | None:
    """The value of an attribute that is not written; `None` if there is none."""
    schema = schema_of(domain, op_type, opset)
    if schema is None or attribute not in schema.attributes:
        return None
    default = schema.attributes[attribute].default_value
    return default if default.type != onnx.AttributeProto.UNDEFINED else None


@cache
def newest_opset(domain: str) -> int | None:
    """The newest opset of a domain that the installed `onnx` knows; `None` for a domain it does not know."""
    versions = [schema.since_version for schema in onnx.defs.get_all_schemas() if schema.domain == domain]
    versions += [each[0].since_version for (its_domain, _), each in _ADDED.items() if its_domain == domain]
    return max(versions, default=None)


@cache
def schemas_between(
    domain: str, op_type: str, since: int, until: int | None = None
) -> Sequence[onnx.defs.OpSchema]:
    """The versions of an operator in force from opset `since` on and before `until`, the oldest first."""
    end = until if until is not None else 1 + max(since, newest_opset(domain) or since)
    found = (schema_of(domain, op_type, opset) for opset in range(since, end))
    return tuple({schema.since_version: schema for schema in found if schema is not None}.values())
