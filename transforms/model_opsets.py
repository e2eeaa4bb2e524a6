"""Which ops the opset of a model has: what simplifies a model must not need a newer one."""

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
"""The version of each domain that a model imports."""

OWN_SINCE: Mapping[type[Operation], int] = {
    BatchNormalizationInferenceModeOp: 7,
    DimOp: 15,
    MaxPoolSingleOutOp: 1,
}
"""Ops of the compiler's own that are a case of an operator of ONNX, and since which opset they can be."""

ONNX_DOMAIN = "ai.onnx"

NEWEST = 1 << 31
"""An opset after all."""


def opsets_of(module: Operation) -> Opsets | None:
    """What a module says of the opsets of its model, `None` if it says nothing."""
    imports = module.attributes.get("onnx.opset_imports")
    if not isinstance(imports, DictionaryAttr):
        return None
    return tuple(
        ("" if domain == ONNX_DOMAIN else domain, version.value.data)
        for domain, version in sorted(imports.data.items())
        if isinstance(version, IntegerAttr)
    )


def is_in(kind: type[Operation], opsets: Opsets) -> bool:
    """Whether a model with these opsets can have ops of this class."""
    if not issubclass(kind, OnnxOp):
        return True
    version = dict(opsets).get(kind.DOMAIN)
    if version is None:
        return False
    if kind in OWN_SINCE:
        return version >= OWN_SINCE[kind]
    return bool(kind.OP_TYPE) and kind.SINCE <= version and (kind.UNTIL is None or version < kind.UNTIL)


def within(opsets: Opsets) -> PlanCheck:
    """The check that a rule makes nothing that a model with these opsets does not have, constants apart."""

    @cache
    def known(kind: type[Operation]) -> bool:
        return is_in(kind, opsets)

    def check(root: Operation, plan: tuple[PlannedValue, ...]) -> str | None:
        """Every new op is of the model's opset."""
        for made in non_constant_ops(plan):
            if not known(made.op_class):
                return f"the opset of the model has no {made.op_class.name}"
        return None

    return check


def version_at(op: Operation) -> int | None:
    """The opset of ONNX of the model that `op` stands in; one after all if the module does not say."""
    above = op
    while (outer := above.parent_op()) is not None:
        above = outer
    found = opsets_of(above)
    return NEWEST if found is None else dict(found).get("")


def form(op_type: str, op: Operation) -> Template | None:
    """An operator of ONNX in the form that it has in the model that `op` stands in."""
    version = version_at(op)
    kind = None if version is None else op_class("", op_type, version)
    return None if kind is None else Template(ONNX, kind.name.removeprefix("onnx."))
