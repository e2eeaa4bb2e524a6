"""Operators and opset versions of ops, for export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import CustomOp, DimOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp, MaxPoolSingleOutOp
from xonnc.dialects.onnx.types import NONE
from xonnc.errors import XonncError
from xonnc.formats.onnx.captures import captures
from xonnc.formats.onnx.import_scope import IS_NODE
from xonnc.formats.onnx.op_signatures import op_signature_of
from xonnc.formats.onnx.schemas import canonical_domain, newest_opset, schemas_between

OP_TYPE = "onnx.op_type"
"""Attribute of ops that stand for a contributed operator in an older opset, with that operator's name."""


class OpIdentity(NamedTuple):
    """The operator of an op: domain, name, first opset, and the first opset in which it no longer applies."""

    domain: str
    op_type: str
    since: int = 1
    until: int | None = None


CONTRIBUTED: Mapping[str, OpIdentity] = {
    "LayerNormalization": OpIdentity("", "LayerNormalization", since=17),
    "SimplifiedLayerNormalization": OpIdentity("", "RMSNormalization", since=23),
}
"""Operators that onnxruntime defines in the default domain in every opset, and their standard equivalents."""


def contributed(domain: str, op_type: str, results: int) -> OpIdentity | None:
    """Return the standard equivalent of a contributed operator with so many results, or `None`."""
    found = CONTRIBUTED.get(op_type) if domain == "" else None
    if found is None or (found.op_type == "RMSNormalization" and results > 1):
        return None
    return found


LIKE_OPERAND: Mapping[str, int] = {
    "EmbedLayerNormalization": 2,
    "GatherBlockQuantized": 2,
    "MatMulIntegerToFloat": 2,
    "QAttention": 2,
    "QEmbedLayerNormalization": 8,
    "QGemm": 8,
    "QLinearConcat": 1,
    "QLinearWhere": 1,
}
"""The operand whose element type the result of an onnxruntime operator has, where that is not the first."""


def operand_like_result(domain: str, op_type: str, operands: Sequence[Attribute]) -> int:
    """
    Return the operand whose element type the results of a custom operator most likely have.

    It matters where the model declares no types: QLinearMatMul after QGemm is valid for integers only.
    """
    index = LIKE_OPERAND.get(op_type, 0) if domain == "com.microsoft" else 0
    if op_type == "QGemm" and (len(operands) <= index or operands[index] == NONE):
        # Without a scale and zero point for its result it gives floats, as its scales are.
        return 1
    return index if index < len(operands) else 0


_SPECIAL: dict[type[OnnxOp], OpIdentity] = {
    BatchNormalizationInferenceModeOp: OpIdentity("", "BatchNormalization", since=7),
    DimOp: OpIdentity("", "Shape"),
    MaxPoolSingleOutOp: OpIdentity("", "MaxPool"),
}
"""Ops of the compiler that are special cases of operators."""


def identity_of(op: OnnxOp) -> OpIdentity | None:
    """Return the operator of an op, or `None` if ONNX has none."""
    if isinstance(op, CustomOp):
        return OpIdentity(op.domain, op.function_name.data)
    found = identity_of_class(type(op))
    return found._replace(since=1) if found is not None and OP_TYPE in op.attributes else found


def spelled_type(op: OnnxOp, identity: OpIdentity, opset: int) -> str:
    """Return the name of the operator in a model of `opset`."""
    spelled = op.attributes.get(OP_TYPE)
    return spelled.data if isinstance(spelled, StringAttr) and opset < op.SINCE else identity.op_type


def identity_of_class(op_type: type[OnnxOp]) -> OpIdentity | None:
    """Return the operator of an op class, or `None` if ONNX has none or it differs from op to op."""
    if op_type.OP_TYPE:
        return OpIdentity(op_type.DOMAIN, op_type.OP_TYPE, op_type.SINCE, op_type.UNTIL)
    return _SPECIAL.get(op_type)


def is_initializer(op: Operation) -> bool:
    """Return whether an op is a constant that is exported as an initializer."""
    if not isinstance(op, ConstantOp) or IS_NODE in op.attributes:
        return False
    return op.value is not None or op.sparse_value is not None


@dataclass
class _Range:
    """The range of opsets of a domain that all ops admit, with the ops that bound it."""

    oldest: int = 1
    newest: int | None = None
    oldest_op: Operation | None = None
    newest_op: Operation | None = None


def choose_opsets(root: Operation, imported: Mapping[str, int]) -> dict[str, int]:
    """
    Choose the opset of each domain: the imported one if it suits every op, else the nearest that does.

    Raises `XonncError` with two ops that no opset contains both.
    """
    ranges: dict[str, _Range] = {}
    for domain, op, oldest, newest in _uses(root, bool(imported)):
        found = ranges.setdefault(domain, _Range())
        if oldest > found.oldest:
            found.oldest, found.oldest_op = oldest, op
        if newest is not None and (found.newest is None or newest < found.newest):
            found.newest, found.newest_op = newest, op
    spelled = {canonical_domain(domain): domain for domain in imported}
    chosen = dict(imported)
    for domain, found in ranges.items():
        chosen[spelled.get(domain, domain)] = _choose(
            domain, found, imported.get(spelled.get(domain, domain))
        )
    return chosen


def _choose(domain: str, found: _Range, imported: int | None) -> int:
    if found.newest is not None and found.newest < found.oldest:
        assert found.oldest_op is not None
        assert found.newest_op is not None
        raise XonncError(
            f"{describe(found.oldest_op)} ({found.oldest_op.name}) needs opset {found.oldest} and "
            f"{describe(found.newest_op)} ({found.newest_op.name}) at most {found.newest}; no model has both"
        )
    if imported is None:
        return found.newest or newest_opset(domain) or 1
    return max(found.oldest, min(imported, found.newest or imported))


def _uses(root: Operation, has_imports: bool) -> Iterator[tuple[str, Operation, int, int | None]]:
    for op in root.walk():
        if not isinstance(op, OnnxOp) or (has_imports and is_initializer(op)):
            continue
        if (identity := identity_of(op)) is not None:
            newest = None if identity.until is None else identity.until - 1
            yield canonical_domain(identity.domain), op, _first_opset(op, identity), newest


def _first_opset(op: OnnxOp, identity: OpIdentity) -> int:
    """
    Return the first opset whose operator has the operands, results and attributes of an op.

    Later versions of an operator share a class with earlier ones if they only add some that may be absent.
    """
    schemas = schemas_between(
        canonical_domain(identity.domain), identity.op_type, identity.since, identity.until
    )
    if len(schemas) < 2 or isinstance(op, CustomOp | DimOp):
        return identity.since
    operands = _present(op.operands[: len(op.operands) - len(captures(op))])
    results = _present(op.results)
    defaults = op_signature_of(type(op)).defaults
    attributes = {name for name, value in op.properties.items() if defaults.get(name) != value}
    for schema in schemas:
        if (
            operands <= schema.max_input
            and results <= schema.max_output
            and attributes <= schema.attributes.keys()
        ):
            return max(schema.since_version, identity.since)
    return identity.since


def _present(values: Sequence[SSAValue]) -> int:
    """Return the number of values without absent ones at the end."""
    return max((index for index, value in enumerate(values, 1) if value.type != NONE), default=0)
