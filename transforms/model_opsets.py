"""Opset membership of ops: a simplified model must not need a newer opset than the original."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr
from xdsl.ir import Operation

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import DimOp
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp, MaxPoolSingleOutOp
from xonnc.dialects.onnx.registry import op_class
from xonnc.rewriting.onnx import ONNX
from xonnc.rewriting.patterns import Template
from xonnc.rewriting.plans import PlanCheck, PlannedValue, non_constant_ops

Opsets = tuple[tuple[str, int], ...]
"""Imported version of each domain."""

OWN_SINCE: Mapping[type[Operation], int] = {
    BatchNormalizationInferenceModeOp: 7,
    DimOp: 15,
    MaxPoolSingleOutOp: 1,
}
"""Ops of the compiler that are special cases of an ONNX operator, and the first opset that has it."""

ONNX_DOMAIN = "ai.onnx"

NEWEST = 1 << 31
"""An opset newer than all others."""


def opsets_of(module: Operation) -> Opsets | None:
    """Return the opset imports of a module, or `None` if it has none."""
    imports = module.attributes.get("onnx.opset_imports")
    if not isinstance(imports, DictionaryAttr):
        return None
    return tuple(
        ("" if domain == ONNX_DOMAIN else domain, version.value.data)
        for domain, version in sorted(imports.data.items())
        if isinstance(version, IntegerAttr)
    )


def is_in(kind: type[Operation], opsets: Opsets) -> bool:
    """Return whether a model of these opsets can have ops of this class."""
    if not issubclass(kind, OnnxOp):
        return True
    version = dict(opsets).get(kind.DOMAIN)
    if version is None:
        return False
    if kind in OWN_SINCE:
        return version >= OWN_SINCE[kind]
    return bool(kind.OP_TYPE) and kind.SINCE <= version and (kind.UNTIL is None or version < kind.UNTIL)


def within(opsets: Opsets) -> PlanCheck:
    """Return the check that a rule creates only ops of these opsets, constants excepted."""

    @cache
    def known(kind: type[Operation]) -> bool:
        return is_in(kind, opsets)

    def check(root: Operation, plan: tuple[PlannedValue, ...]) -> str | None:
        """Every new op is in the opsets of the model."""
        for made in non_constant_ops(plan):
            if not known(made.op_class):
                return f"the opset of the model has no {made.op_class.name}"
        return None

    return check


def version_at(op: Operation) -> int | None:
    """Return the ONNX opset of the model around `op`; `NEWEST` if the module has no imports."""
    above = op
    while (outer := above.parent_op()) is not None:
        above = outer
    found = opsets_of(above)
    return NEWEST if found is None else dict(found).get("")


def form(op_type: str, op: Operation) -> Template | None:
    """Return the template of an ONNX operator in the version of the model around `op`, or `None`."""
    version = version_at(op)
    kind = None if version is None else op_class("", op_type, version)
    return None if kind is None else Template(ONNX, kind.name.removeprefix("onnx."))
