"""Strings; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import broadcast, rank_is
from xonnc.dialects.onnx.checks.values import integer_in, one_of
from xonnc.dialects.onnx.constraints import INT_ATTR, STRING_ARRAY_ATTR, STRING_ATTR, STRINGS, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class RegexFullMatchOp(OnnxOp):
    """Which strings match the pattern from end to end."""

    name = "onnx.RegexFullMatch"

    OP_TYPE: ClassVar = "RegexFullMatch"
    SINCE: ClassVar = 20

    T1: ClassVar = types("T1", "string")
    T2: ClassVar = types("T2", "i1")

    X = operand_def(T1)

    Y = result_def(T2)

    pattern = opt_prop_def(STRING_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class StringConcatOp(OnnxOp):
    """Strings put together, element by element, broadcast as in numpy."""

    name = "onnx.StringConcat"

    OP_TYPE: ClassVar = "StringConcat"
    SINCE: ClassVar = 20

    T: ClassVar = types("T", "string")

    X = operand_def(T)
    Y = operand_def(T)

    Z = result_def(T)

    traits = traits_def(Pure(), Checks(broadcast("X", "Y")))


@irdl_op_definition
class StringNormalizerOp(OnnxOp):
    """Strings without stop words and in one case."""

    name = "onnx.StringNormalizer"

    OP_TYPE: ClassVar = "StringNormalizer"
    SINCE: ClassVar = 10

    X = operand_def(STRINGS)

    Y = result_def(STRINGS)

    case_change_action = prop_def(STRING_ATTR, string_attr("NONE"))
    is_case_sensitive = prop_def(INT_ATTR, int_attr(0))
    locale = opt_prop_def(STRING_ATTR)
    stopwords = opt_prop_def(STRING_ARRAY_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            one_of("case_change_action", "LOWER", "UPPER", "NONE"),
            rank_is("X", 1, 2),
            integer_in("is_case_sensitive", 0, 1),
        ),
    )


@irdl_op_definition
class StringSplitOp(OnnxOp):
    """The parts of each string, and how many there are."""

    name = "onnx.StringSplit"

    OP_TYPE: ClassVar = "StringSplit"
    SINCE: ClassVar = 20

    T1: ClassVar = types("T1", "string")
    T2: ClassVar = types("T2", "string")
    T3: ClassVar = types("T3", "i64")

    X = operand_def(T1)

    Y = result_def(T2)
    Z = result_def(T3)

    delimiter = opt_prop_def(STRING_ATTR)
    maxsplit = opt_prop_def(INT_ATTR)

    traits = traits_def(Pure())


OPS: tuple[type[OnnxOp], ...] = (
    RegexFullMatchOp,
    StringConcatOp,
    StringNormalizerOp,
    StringSplitOp,
)
