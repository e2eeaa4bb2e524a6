"""Lower arith, math and krnl scalar operations, on scalars or elementwise on vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i1
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.math import DecodeOp, EncodeOp, ErfOp, RemainderOp, ToOddOp
from xonnc.lowering.krnl_to_llvm import double_precision, llvm_ops, low_precision_floats, math_functions
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, element_of, lanes_of
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of

BINARY: dict[type[Operation], type[Operation]] = {
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
}
"""Operations with an equivalent in the llvm dialect."""

INTRINSICS: dict[type[Operation], str] = {
    arith.MaximumfOp: "maximum",
    arith.MaxSIOp: "smax",
    arith.MaxUIOp: "umax",
    arith.MinimumfOp: "minimum",
    arith.MinSIOp: "smin",
    arith.MinUIOp: "umin",
    math.AbsFOp: "fabs",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.RoundEvenOp: "roundeven",
    math.SqrtOp: "sqrt",
    math.TruncOp: "trunc",
}
"""Operations with an LLVM intrinsic."""

EXPANDED: dict[type[Operation], Callable[..., SSAValue]] = {
    ErfOp: math_functions.erf,
    RemainderOp: double_precision.remainder,
    math.AcosOp: double_precision.acos,
    math.AsinOp: double_precision.asin,
    math.AtanOp: math_functions.atan,
    math.CosOp: math_functions.cos,
    math.CoshOp: double_precision.cosh,
    math.ExpOp: math_functions.exp,
    math.LogOp: math_functions.log,
    math.PowFOp: double_precision.power,
    math.SinOp: math_functions.sin,
    math.SinhOp: double_precision.sinh,
    math.TanOp: math_functions.tan,
    math.TanhOp: math_functions.tanh,
}
"""Operations that are expanded into polynomials (`math_functions.py`, `double_precision.py`)."""

CASTS: dict[type[Operation], type[Operation]] = {
    arith.BitcastOp: llvm.BitcastOp,
    arith.ExtFOp: llvm.FPExtOp,
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.TruncFOp: llvm.FPTruncOp,
    arith.TruncIOp: llvm.TruncOp,
}

TO_INTEGER: dict[type[Operation], str] = {arith.FPToSIOp: "fptosi.sat", arith.FPToUIOp: "fptoui.sat"}
"""Saturating conversions: plain LLVM casts are poison for values out of range."""


FLOAT_ORDERS = "_false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno".split()
INTEGER_ORDERS = "eq ne slt sle sgt sge ult ule ugt uge".split()
"""LLVM predicates, by the number of the arith predicate."""


KINDS: frozenset[type[Operation]] = frozenset(
    (
        *(*BINARY, *INTRINSICS, *EXPANDED, *CASTS, *TO_INTEGER),
        *(arith.CmpfOp, arith.CmpiOp, arith.ConstantOp, arith.SelectOp),
        *(DecodeOp, EncodeOp, ToOddOp),
    )
)
"""All operations that `emit` takes."""


def is_supported(op: Operation) -> bool:
    """Whether `emit` supports an operation, on vectors too."""
    kind = type(op)
    if kind is ErfOp:
        return element_of(op.operands[0]) == f32
    return kind in KINDS


def emit(builder: LLVMBuilder, op: Operation, operands: list[SSAValue]) -> SSAValue:
    """Lower an operation; if one operand is a vector, the others are broadcast."""
    lanes = max(map(lanes_of, operands), default=0)
    values = [builder.splat(value, lanes) for value in operands]
    kind = type(op)
    # Classes are compared in tables first: a pattern takes longer for each class that an operation is not of.
    if kind in BINARY:
        return builder.add(llvm_ops.binary(BINARY[kind], *values))
    match op:
        case arith.ConstantOp(value=IntegerAttr(value=value)):
            type_ = op.result.type
            data = value.data
            return builder.constant(-data if type_ == i1 else data, type_)
        case arith.ConstantOp(value=FloatAttr(value=value)):
            return builder.constant(value.data, op.result.type)
        case arith.CmpfOp(predicate=predicate):
            return builder.fcmp(FLOAT_ORDERS[predicate.value.data], *values)
        case arith.CmpiOp(predicate=predicate):
            return builder.icmp(INTEGER_ORDERS[predicate.value.data], *values)
        case arith.SelectOp():
            return builder.select(*values)
        case math.ExpOp() | arith.MaximumfOp() | arith.MinimumfOp() if op.fastmath.data:
            return _fast_math(builder, op, values)
        case DecodeOp() | EncodeOp() | ToOddOp():
            return _convert_low_precision(builder, op, values[0])
        case _ if kind in INTRINSICS:
            return builder.intrinsic(INTRINSICS[kind], *values)
        case _ if kind in EXPANDED:
            return EXPANDED[kind](builder, *values)
        case _ if kind in CASTS:
            return builder.add(llvm_ops.cast(CASTS[kind], values[0], vector_of(op.results[0].type, lanes)))
        case _:
            result = vector_of(op.results[0].type, lanes)
            return builder.intrinsic(TO_INTEGER[kind], values[0], result=result)


def _fast_math(
    builder: LLVMBuilder, op: math.ExpOp | arith.MaximumfOp | arith.MinimumfOp, values: Sequence[SSAValue]
) -> SSAValue:
    """
    Lower operations with fast-math flags.

    `exp` with `afn` flushes subnormal results to 0, with `ninf` its operand is at most 0. `maximumf` and
    `minimumf` with `nnan` need no NaN handling: one instruction instead of six.
    """
    if isinstance(op, math.ExpOp):
        if FastMathFlag.NO_INFS in op.fastmath.data:
            return math_functions.exp_nonpositive(builder, values[0])
        assert FastMathFlag.APPROX_FUNC in op.fastmath.data
        return math_functions.fast_exp(builder, values[0])
    assert FastMathFlag.NO_NANS in op.fastmath.data
    a, b = values
    return builder.select(builder.fcmp("ogt" if isinstance(op, arith.MaximumfOp) else "olt", a, b), a, b)


def _convert_low_precision(
    builder: LLVMBuilder, op: DecodeOp | EncodeOp | ToOddOp, value: SSAValue
) -> SSAValue:
    match op:
        case DecodeOp():
            return low_precision_floats.decode(builder, value, op.format)
        case EncodeOp():
            saturate = bool(op.saturate.value.data)
            return low_precision_floats.encode(builder, value, op.format, saturate, op.round_mode.data)
        case ToOddOp():
            return low_precision_floats.round_to_odd(builder, value)
