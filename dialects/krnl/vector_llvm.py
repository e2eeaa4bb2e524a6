"""
The llvm dialect with `fcmp` and `select` on vectors, as LLVM has them.

xDSL 0.74 declares both ops for scalars only, though its backend emits vectors too.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, IntegerType, VectorType, i1, i64
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa


class FCmpOp(llvm.FCmpOp):
    """Comparison of floats, or elementwise of float vectors."""

    def __init__(
        self,
        lhs: Operation | SSAValue,
        rhs: Operation | SSAValue,
        predicate: str | IntegerAttr[IntegerType],
        attributes: dict[str, Attribute] | None = None,
    ) -> None:
        if isinstance(predicate, str):
            predicate = IntegerAttr(llvm.FCmpPredicateFlag(predicate).to_int(), i64)
        IRDLOperation.__init__(
            self,
            operands=[lhs, rhs],
            result_types=[_conditions(SSAValue.get(lhs).type)],
            properties={"predicate": predicate},
            attributes=attributes or {},
        )

    def verify_(self) -> None:
        left = self.lhs.type
        element = left.element_type if isa(left, VectorType) else left
        if not isinstance(element, AnyFloat):
            raise VerifyException(f"'llvm.fcmp' op compares floats or vectors of them, not {left}")
        if self.rhs.type != left:
            raise VerifyException(
                f"'llvm.fcmp' op compares values of one type, not {left} with {self.rhs.type}"
            )
        if self.res.type != _conditions(left):
            raise VerifyException(f"'llvm.fcmp' op on {left} gives {_conditions(left)}, not {self.res.type}")


class SelectOp(llvm.SelectOp):
    """Selection between values, or elementwise between vectors, by a condition or a vector of conditions."""

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        """`%cond, %lhs, %rhs : condition, type`"""
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(names) != 3 or len(types) != 2:
            parser.raise_error("'llvm.select' takes 3 operands and the types of the first and the last")
        operands = parser.resolve_operands(names, [types[0], types[1], types[1]], parser.pos)
        op = cls(*operands)
        op.attributes.update(attributes)
        return op

    def verify_(self) -> None:
        type_ = self.res.type
        if self.lhs.type != type_ or self.rhs.type != type_:
            raise VerifyException(f"'llvm.select' op gives what it is given, {self.lhs.type}, not {type_}")
        if self.cond.type not in (i1, _conditions(type_)):
            raise VerifyException(
                f"'llvm.select' op takes {_conditions(type_)} to choose by, not {self.cond.type}"
            )


def _conditions(compared: Attribute) -> Attribute:
    """Return i1, or a vector of it."""
    return VectorType(i1, compared.get_shape()) if isa(compared, VectorType) else i1


OURS = {op.name: op for op in (FCmpOp, SelectOp)}

VECTOR_LLVM = Dialect(
    "llvm", [OURS.get(op.name, op) for op in llvm.LLVM.operations], list(llvm.LLVM.attributes)
)
