"""Proofs by Z3: that two elements are equal for all values of their symbols."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from math import copysign, isfinite, isnan
from typing import Any, Literal

from xonnc.fuzzing.certification.smt_functions import BOOLEANS, IEEE, REALS, SIGNED, UNSIGNED, Function
from xonnc.fuzzing.certification.tensor_semantics import NoMeaningError
from xonnc.fuzzing.certification.terms import Term

Theory = Literal["ieee", "reals"]
"""Floats as IEEE 754 has them, or as real numbers; integers are bit vectors in both."""

MILLISECONDS = 800
"""Time for one proof."""
MAX_SIZE = {"ieee": 24, "reals": 80}
"""The largest terms, in nodes, that are tried."""

FORMATS = {"float16": (5, 11), "bfloat16": (8, 8), "float32": (8, 24), "float64": (11, 53)}
"""Bits of exponent and significand."""


def is_installed() -> bool:
    """Return whether Z3 is there: `pip install 'xonnc[certify]'`."""
    return find_spec("z3") is not None


def proves(a: Term, b: Term, theory: Theory, up_to_zeros: bool = False) -> bool:
    """Return whether Z3 proves two terms equal; `up_to_zeros` lets 0 and -0 be one."""
    if max(a.size, b.size) > MAX_SIZE[theory]:
        return False
    encoder = _Encoder(theory)
    try:
        left, right = encoder.of(a), encoder.of(b)
    except NoMeaningError:
        return False
    z3 = encoder.z3
    same = left == right
    if up_to_zeros and theory == "ieee" and a.dtype in FORMATS:
        same = z3.Or(same, z3.fpEQ(left, right))
    solver = z3.Solver()
    solver.set("timeout", MILLISECONDS)
    solver.add(z3.Not(same))
    return solver.check() == z3.unsat


class _Encoder:
    """Expressions of Z3 for terms, each made once."""

    def __init__(self, theory: Theory) -> None:
        self.z3: Any = import_module("z3")
        self.theory = theory
        self.made: dict[int, Any] = {}

    def sort(self, dtype: str) -> Any:
        if dtype == "bool":
            return self.z3.BoolSort()
        if "int" in dtype:
            return self.z3.BitVecSort(int(dtype.rpartition("int")[2]))
        if self.theory == "reals" and dtype in FORMATS:
            return self.z3.RealSort()
        if dtype in FORMATS:
            return self.z3.FPSort(*FORMATS[dtype])
        return self.z3.DeclareSort(dtype)

    def of(self, term: Term) -> Any:
        found = self.made.get(term.number)
        if found is None:
            found = self.made[term.number] = self.encoded(term)
        return found

    def encoded(self, term: Term) -> Any:
        z3, sort = self.z3, self.sort(term.dtype)
        if term.is_literal:
            return self.literal(term, sort)
        if term.function.startswith("symbol "):
            return z3.Const(term.function, sort)
        x = [self.of(argument) for argument in term.arguments]
        if term.function == "select":
            return z3.If(*x)
        if term.function == "cast" and {term.dtype, term.arguments[0].dtype} <= FORMATS.keys():
            return x[0] if self.theory == "reals" else z3.fpFPToFP(z3.RNE(), x[0], sort)
        known = self.functions(term.arguments[0].dtype).get(term.function) if x else None
        if known is not None:
            return known(z3, x)
        # An uninterpreted function: equal for equal arguments.
        sorts = [argument.sort() for argument in x]
        name = f"{term.function} {' '.join(map(str, sorts))}"
        return z3.Function(name, *sorts, sort)(*x)

    def literal(self, term: Term, sort: Any) -> Any:
        z3, value = self.z3, term.value
        if isinstance(value, bool):
            return z3.BoolVal(value)
        if isinstance(value, int):
            return z3.BitVecVal(value, sort)
        if not isinstance(value, float) or term.dtype not in FORMATS:
            return z3.Const(f"literal {value!r}", sort)
        if self.theory == "reals":
            if not isfinite(value):
                raise NoMeaningError("a constant is not finite")
            exact = Fraction(value)
            return z3.Q(exact.numerator, exact.denominator)
        if isnan(value):
            return z3.fpNaN(sort)
        if not value:
            return z3.fpMinusZero(sort) if copysign(1, value) < 0 else z3.fpPlusZero(sort)
        return z3.FPVal(value, sort)

    def functions(self, dtype: str) -> Mapping[str, Function]:
        """Return the functions of an element type that the theory knows."""
        if dtype == "bool":
            return BOOLEANS
        if "int" in dtype:
            return UNSIGNED if dtype.startswith("u") else SIGNED
        if dtype not in FORMATS:
            return {}
        return REALS if self.theory == "reals" else IEEE
