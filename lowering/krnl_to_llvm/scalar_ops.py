"""Ops of numbers, on one or a vector of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i1
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.krnl.math import DecodeOp, EncodeOp, ErfOp, RemainderOp, ToOddOp
from xonnc.lowering.krnl_to_llvm import low_precision_floats, math_functions
from xonnc.lowering.krnl_to_llvm.llvm_builder import Emitter, element_of, lanes_of, vector_of

BINARY: dict[type[Operation], Callable[[SSAValue, SSAValue], Operation]] = {
    arith.AddfOp: llvm.FAddOp,
    arith.AddiOp: llvm.AddOp,
    arith.AndIOp: llvm.AndOp,
    arith.DivfOp: llvm.FDivOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.MulfOp: llvm.FMulOp,
    arith.MuliOp: llvm.MulOp,
    arith.OrIOp: llvm.OrOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.RemUIOp: llvm.URemOp,
    arith.ShLIOp: llvm.ShlOp,
    arith.ShRSIOp: llvm.AShrOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.SubfOp: llvm.FSubOp,
    arith.SubiOp: llvm.SubOp,
    arith.XOrIOp: llvm.XOrOp,
    RemainderOp: llvm.FRemOp,
}
"""Ops with one of llvm's for them."""

INTRINSICS: dict[type[Operation], str] = {
    arith.MaximumfOp: "maximum",
    arith.MaxSIOp: "smax",
    arith.MaxUIOp: "umax",
    arith.MinimumfOp: "minimum",
    arith.MinSIOp: "smin",
    arith.MinUIOp: "umin",
    math.AbsFOp: "fabs",
    math.AcosOp: "acos",
    math.AsinOp: "asin",
    math.AtanOp: "atan",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.FloorOp: "floor",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundEvenOp: "roundeven",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TruncOp: "trunc",
}
"""Ops with a function that LLVM knows."""

OURS: dict[type[Operation], Callable[[Emitter, SSAValue], SSAValue]] = {
    ErfOp: math_functions.erf,
    math.ExpOp: math_functions.exp,
    math.TanhOp: math_functions.tanh,
}
"""Ops with a function written out here."""

CASTS: dict[type[Operation], Callable[[SSAValue, Attribute], Operation]] = {
    arith.BitcastOp: llvm.BitcastOp,
    arith.ExtFOp: llvm.FPExtOp,
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.TruncFOp: llvm.FPTruncOp,
    arith.TruncIOp: llvm.TruncOp,
}

TO_INTEGER: dict[type[Operation], str] = {arith.FPToSIOp: "fptosi.sat", arith.FPToUIOp: "fptoui.sat"}
"""Out of range, the nearest; plain casts leave open what they give."""


FLOAT_ORDERS = "_false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno".split()
INTEGER_ORDERS = "eq ne slt sle sgt sge ult ule ugt uge".split()
"""What llvm calls comparisons, by their number."""


def is_known(op: Operation) -> bool:
    """Whether `emit` takes an op, in vectors too."""
    kind = type(op)
    if kind is ErfOp:
        return element_of(op.operands[0]) == f32
    tables = (BINARY, INTRINSICS, OURS, CASTS, TO_INTEGER)
    return any(kind in table for table in tables) or kind in (
        arith.CmpfOp,
        arith.CmpiOp,
        arith.ConstantOp,
        arith.SelectOp,
        DecodeOp,
        EncodeOp,
        ToOddOp,
    )


def emit(to: Emitter, op: Operation, operands: list[SSAValue]) -> SSAValue:
    """An op of numbers; if one operand is a vector, the others are made vectors."""
    lanes = max(map(lanes_of, operands), default=0)
    values = [to.splat(value, lanes) for value in operands]
    kind = type(op)
    match op:
        case arith.ConstantOp(value=IntegerAttr(value=value)):
            type_ = op.result.type
            held = value.data
            return to.number(-held if type_ == i1 else held, type_)
        case arith.ConstantOp(value=FloatAttr(value=value)):
            return to.number(value.data, op.result.type)
        case arith.CmpfOp(predicate=predicate):
            return to.fcmp(FLOAT_ORDERS[predicate.value.data], *values)
        case arith.CmpiOp(predicate=predicate):
            return to.icmp(INTEGER_ORDERS[predicate.value.data], *values)
        case arith.SelectOp():
            return to.select(*values)
        case math.ExpOp() | arith.MaximumfOp() | arith.MinimumfOp() if op.fastmath.data:
            return _quick(to, op, values)
        case DecodeOp() | EncodeOp() | ToOddOp():
            return _rounded(to, op, values[0])
        case _ if kind in BINARY:
            return to.add(BINARY[kind](*values))
        case _ if kind in INTRINSICS:
            return to.intrinsic(INTRINSICS[kind], *values)
        case _ if kind in OURS:
            return OURS[kind](to, values[0])
        case _ if kind in CASTS:
            return to.add(CASTS[kind](values[0], vector_of(op.results[0].type, lanes)))
        case _:
            result = vector_of(op.results[0].type, lanes)
            return to.intrinsic(TO_INTEGER[kind], values[0], result=result)


def _quick(
    to: Emitter, op: math.ExpOp | arith.MaximumfOp | arith.MinimumfOp, values: Sequence[SSAValue]
) -> SSAValue:
    """
    Powers that need not be right below the least normal number (`afn`), or are not above 1 (`ninf`); extremes
    of numbers (`nnan`).

    An extreme is one instruction then; to take care of NaN takes six.
    """
    if isinstance(op, math.ExpOp):
        if FastMathFlag.NO_INFS in op.fastmath.data:
            return math_functions.exp_of_negative(to, values[0])
        assert FastMathFlag.APPROX_FUNC in op.fastmath.data
        return math_functions.quick_exp(to, values[0])
    assert FastMathFlag.NO_NANS in op.fastmath.data
    a, b = values
    return to.select(to.fcmp("ogt" if isinstance(op, arith.MaximumfOp) else "olt", a, b), a, b)


def _rounded(to: Emitter, op: DecodeOp | EncodeOp | ToOddOp, value: SSAValue) -> SSAValue:
    match op:
        case DecodeOp():
            return low_precision_floats.decode(to, value, op.format)
        case EncodeOp():
            saturate = bool(op.saturate.value.data)
            return low_precision_floats.encode(to, value, op.format, saturate, op.round_mode.data)
        case ToOddOp():
            return low_precision_floats.to_odd(to, value)
