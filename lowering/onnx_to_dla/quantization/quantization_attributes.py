"""Quantization parameters of a network's inputs and outputs as attributes of its function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, f64, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from xonnc.formats.nvdla.quantization import QuantizationParameters

QPARAMS_ATTRIBUTE = "dla.qparams"
"""The attribute of an argument or result: `{scale = 0.5 : f64, zero = -3 : i64}`."""

Attributes = ArrayAttr[DictionaryAttr]


def set_qparams(function: FuncOp, qparams_by_value: Mapping[SSAValue, QuantizationParameters]) -> None:
    """Store the parameters of arguments and returned values."""
    block = function.body.block
    last = block.last_op
    assert last is not None
    function.arg_attrs = _with_qparams(function.arg_attrs, block.args, qparams_by_value)
    function.res_attrs = _with_qparams(function.res_attrs, last.operands, qparams_by_value)


def _with_qparams(
    attributes: Attributes | None,
    values: Sequence[SSAValue],
    qparams_by_value: Mapping[SSAValue, QuantizationParameters],
) -> Attributes | None:
    if not any(value in qparams_by_value for value in values):
        return attributes
    given = list(attributes) if attributes is not None else [DictionaryAttr({})] * len(values)
    return ArrayAttr(
        [
            DictionaryAttr({**entry.data, QPARAMS_ATTRIBUTE: _encode(qparams_by_value[value])})
            if value in qparams_by_value
            else entry
            for entry, value in zip(given, values, strict=True)
        ]
    )


def _encode(qparams: QuantizationParameters) -> DictionaryAttr:
    return DictionaryAttr(
        {"scale": FloatAttr(qparams.scale, f64), "zero": IntegerAttr(qparams.zero_point, i64)}
    )


def qparams_by_name(attributes: Attributes | None, names: Sequence[str]) -> dict[str, QuantizationParameters]:
    """Return the parameters of arguments or results by name."""
    result: dict[str, QuantizationParameters] = {}
    for entry, name in zip(attributes or (), names, strict=False):
        qparams = entry.data.get(QPARAMS_ATTRIBUTE)
        if not isinstance(qparams, DictionaryAttr):
            continue
        scale, zero = qparams.data.get("scale"), qparams.data.get("zero")
        if isinstance(scale, FloatAttr) and isinstance(zero, IntegerAttr):
            result[name] = QuantizationParameters(scale.value.data, zero.value.data)
    return result
