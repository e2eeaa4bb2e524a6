"""Conversion of models to another opset of ONNX's default domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation

from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.errors import CollectedError, XonncError
from xonnc.formats.onnx.op_versions import OpIdentity, identity_of, is_initializer
from xonnc.formats.onnx.schemas import canonical_domain, newest_opset
from xonnc.rewriting.conversion import convert
from xonnc.rewriting.rules import RuleSet
from xonnc.rewriting.statistics import tracing_rules
from xonnc.transforms.legalize_versions_onnx import LegalizeVersions, up_to
from xonnc.transforms.models.opset_schemas import respell, rule_broken
from xonnc.transforms.models.standard_functions import inline_body
from xonnc.transforms.optimization_levels import DEFAULT_PASSES
from xonnc.transforms.recompose_onnx import Recompose
from xonnc.transforms.rules import canonicalize_identity
from xonnc.transforms.rules.lower_versions import RULES as LOWERING
from xonnc.transforms.shape_inference_onnx import infer_shapes
from xonnc.transforms.simplify_onnx import Simplification

OPSETS = "onnx.opset_imports"
FUNCTIONS = "onnx.functions"

_IDENTITIES = canonicalize_identity.RULES
DROPOUTS = _IDENTITIES.without([name for name in _IDENTITIES if not name.startswith("DropoutV")])
"""Rules for Dropout before opset 12, which never trains and so returns its input."""


def convert_opset(module: ModuleOp, opset: int, context: Context) -> None:
    """
    Convert a module in place to an opset of the default domain, newer or older.

    Operators keep their meaning: those of another version are replaced by the opset's, those that it lacks by
    their function bodies. The IR version is raised to one that has the opset.

    Raises `CollectedError` with every node that the opset cannot express and why, `XonncError` for an unknown
    opset and for models with local functions, which have opsets of their own.
    """
    newest = newest_opset("") or 1
    if not 1 <= opset <= newest:
        raise XonncError(f"opset {opset}: opsets are 1 to {newest}")
    imports = module.attributes.get(OPSETS)
    known = dict(imports.data) if isinstance(imports, DictionaryAttr) else {}
    old = {domain for domain in known if canonical_domain(domain) == ""}
    if all(known[domain] == IntegerAttr(opset, i64) for domain in old) and old:
        return
    functions = module.attributes.get(FUNCTIONS)
    if is_array(functions) and functions.data:
        raise XonncError("the model has local functions of its opset; inline them with --inline-functions")
    why: Mapping[Operation, str] = {}
    if any(_misses(op, opset) for op, _ in _operators(module)):
        why = _replace_versions(module, opset, context)
    reasons = [
        reason + (f"; {why[op]}" if op in why else "")
        for op, identity in _operators(module)
        if (reason := _reason(op, identity, opset))
    ]
    if reasons:
        raise CollectedError(reasons)
    retained = {domain: version for domain, version in known.items() if domain not in old}
    module.attributes[OPSETS] = DictionaryAttr({next(iter(old), ""): IntegerAttr(opset, i64), **retained})
    _raise_ir_version(module, opset)


def _replace_versions(module: ModuleOp, opset: int, context: Context) -> Mapping[Operation, str]:
    """Replace operators that are not of the opset; return by op why that failed."""
    rules = up_to(opset) | _inferring(opset) | _down_to(opset)
    why: dict[Operation, str] = {}

    def tell(rule: str, op: Operation, reason: str) -> None:
        if reason:
            why[op] = reason

    infer_shapes(module)
    with tracing_rules(rules, tell):
        convert(module, context, rules, pass_name=LegalizeVersions.name)
    infer_shapes(module)
    for op in [op for op, identity in _operators(module) if identity.since > opset]:
        if isinstance(op, OnnxOp) and not op.regions:
            try:
                inline_body(op, module, context, partial(_prepare, opset=opset, context=context))
            except CollectedError as error:
                _, _, reason = error.reasons[0].partition(": ")
                why[op] = f"in its function body, {reason}"
    pool = DisposablePool.of(context)
    for op in [op for op, _ in _operators(module)]:
        if isinstance(op, OnnxOp):
            respell(op, opset, pool)
    infer_shapes(module)
    return why


def _prepare(body: ModuleOp, opset: int, context: Context) -> None:
    """Fold the shape computations of a function body, and convert it."""
    Simplification(body, context, DEFAULT_PASSES - {Recompose.name}).run()
    convert_opset(body, opset, context)


def _inferring(opset: int) -> RuleSet:
    """Return the rules for versions of Dropout that ended by `opset`."""
    return DROPOUTS.without(
        [
            rule.name
            for kind, alike in DROPOUTS.by_root.items()
            if issubclass(kind, OnnxOp) and (kind.UNTIL or 1) > opset
            for rule in alike
        ]
    )


def _down_to(opset: int) -> RuleSet:
    """Return the rules for versions that start after `opset`."""
    earlier = [
        rule.name
        for kind, alike in LOWERING.by_root.items()
        if issubclass(kind, OnnxOp) and kind.SINCE <= opset
        for rule in alike
    ]
    return LOWERING.without(earlier)


def _raise_ir_version(module: ModuleOp, opset: int) -> None:
    version = module.attributes.get("onnx.ir_version")
    needed = onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)])
    if isinstance(version, IntegerAttr) and version.value.data < needed:
        module.attributes["onnx.ir_version"] = IntegerAttr(needed, i64)


def _operators(module: ModuleOp) -> Iterator[tuple[Operation, OpIdentity]]:
    """Yield the operators of the default domain that are nodes of the model."""
    for op in module.walk():
        identity = identity_of(op) if isinstance(op, OnnxOp) and not is_initializer(op) else None
        if identity is not None and canonical_domain(identity.domain) == "":
            yield op, identity


def _misses(op: Operation, opset: int) -> bool:
    identity = identity_of(op) if isinstance(op, OnnxOp) else None
    return identity is not None and _reason(op, identity, opset) is not None


def _reason(op: Operation, identity: OpIdentity, opset: int) -> str | None:
    """Return why an opset cannot express an operator."""
    if identity.since > opset:
        return f"{describe(op)}: {identity.op_type} as it is here exists from opset {identity.since} on"
    if identity.until is not None and opset >= identity.until:
        return f"{describe(op)}: {identity.op_type} as it is here exists up to opset {identity.until - 1}"
    broken = rule_broken(op, identity, opset) if isinstance(op, OnnxOp) else None
    return None if broken is None else f"{describe(op)}: {broken}"
