"""Certificates of rewrite rules: what is proven, what is refuted, what is left to instances."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from xonnc.fuzzing.certification import smt
from xonnc.fuzzing.certification.certificate_page import page, summary
from xonnc.fuzzing.certification.certificates import Certificate, Certifier, all_values
from xonnc.fuzzing.certification.normal_form import NormalForms
from xonnc.fuzzing.certification.proofs import IEEE, INTEGERS, REALS, ZEROS, Proof, Prover
from xonnc.fuzzing.certification.tensor_semantics import NoMeaningError
from xonnc.fuzzing.certification.terms import Term, Terms, renamed
from xonnc.fuzzing.rules.comparison import REWRITTEN
from xonnc.fuzzing.rules.tables import CASES, Table
from xonnc.passes import use_onnx_package
from xonnc.rewriting.onnx import Abs, Add, MatMul, Max, Mul, Neg, Relu, Sub
from xonnc.rewriting.patterns import value
from xonnc.rewriting.rules import Rule, rule, rules

use_onnx_package()

x, y, z = value.x, value.y, value.z
BY_NAME = {name: table for table, name in CASES}
needs_z3 = pytest.mark.skipif(not smt.is_installed(), reason="needs z3-solver")


def of(given: Rule, use_z3: bool = True) -> Certificate:
    """The certificate of a rule that is in no table."""
    made = Table("own", rules(Own=given), {}, {}, closeness={"Own": REWRITTEN}, kinds={"Own": (np.float32,)})
    return Certifier(5, 0, use_z3).certificate(made, "Own")


@needs_z3
@pytest.mark.parametrize(
    ("given", "method", "assumes"),
    [
        (rule(Neg(Neg(x)), x), "Z3", IEEE),
        (rule(Sub(x, Neg(y)), Add(x, y)), "Z3", IEEE),
        (rule(Max(Neg(x), Neg(y)), Neg(Add(x, y))), "instances", ""),
        (rule(Relu(Relu(x)), Relu(x)), "Z3", IEEE),
        (rule(Add(Add(x, y), z), Add(x, Add(y, z))), "normal form", REALS),
        (rule(Mul(x, Add(y, z)), Add(Mul(x, y), Mul(x, z))), "normal form", REALS),
    ],
)
def test_rules_are_proven_with_the_fewest_assumptions(given: Rule, method: str, assumes: str) -> None:
    certificate = of(given)
    if method == "instances":
        assert not certificate.is_proof
    else:
        assert (certificate.method, certificate.assumes) == (method, assumes)


@pytest.mark.parametrize("use_z3", [False, pytest.param(True, marks=needs_z3)])
@pytest.mark.parametrize(
    "wrong", [rule(Neg(Neg(x)), Neg(x)), rule(Abs(Neg(x)), x), rule(Add(x, Neg(y)), Sub(y, x))]
)
def test_a_wrong_rule_is_not_proven(wrong: Rule, use_z3: bool) -> None:
    certificate = of(wrong, use_z3)
    assert not certificate.is_proof
    assert certificate.wrong


def test_a_rule_whose_result_is_refused_is_wrong() -> None:
    certificate = of(rule(Add(x, y), MatMul(x, y)), use_z3=False)
    assert not certificate.is_proof
    assert any("the result is refused: " in problem for problem in certificate.wrong)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("TransposeofConst", "labels"),
        ("GatherofConst", "labels"),
        ("AddConstProp", "all values"),
        ("ExpofConst", "all values"),
        ("FoldDivIntoConv", "normal form"),
        ("FuseTransposeAndExpPattern", "same terms"),
        ("PadV11", "same terms"),
        ("BinaryOpBroadcastAxisPatternAdd", "same terms"),
        ("ReduceMeanConstProp", "instances"),
    ],
)
def test_rules_of_the_tables(name: str, method: str) -> None:
    certificate = Certifier(3, 0, False).certificate(BY_NAME[name], name)
    assert certificate.method == method
    assert certificate.instances >= 3
    assert not certificate.wrong


def test_the_committed_page_lists_every_rule() -> None:
    text = (Path(__file__).parents[3] / "docs" / "rewrite-certificates.md").read_text()
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `")]
    assert [cells[0].strip(" `") for cells in rows] == [name for _, name in CASES]
    compared = [cells for cells in rows if cells[1].strip() == "instances"]
    assert len(compared) <= 0.3 * len(rows)
    assert all(int(cells[3].replace(",", "")) >= 1000 for cells in compared)


def test_every_value_of_a_short_type() -> None:
    assert len(all_values(np.float16)) == 1 << 16
    assert sorted(all_values(np.int8).tolist()) == list(range(-128, 128))
    assert all_values(np.bool_).tolist() == [False, True]


def pair(make: Callable[[Terms, Term, Term], tuple[Term, Term]], dtype: str) -> tuple[Term, Term]:
    terms = Terms()
    return make(terms, terms.symbol("a", dtype), terms.symbol("b", dtype))


def test_integers_wrap_in_normal_forms() -> None:
    def wraps(terms: Terms, a: Term, b: Term) -> tuple[Term, Term]:
        return terms.apply("mul", a.dtype, a, terms.literal(256, a.dtype)), terms.literal(0, a.dtype)

    assert NormalForms().are_equal(*pair(wraps, "uint8"))
    assert not NormalForms().are_equal(*pair(wraps, "int32"))


def test_an_infinite_constant_is_no_real_number() -> None:
    terms = Terms()
    one = terms.literal(float("inf"), "float32")
    with pytest.raises(NoMeaningError, match="not finite"):
        NormalForms().of(one)


@needs_z3
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float32", Proof("Z3", ZEROS)), ("int8", Proof("Z3", INTEGERS)), ("uint8", Proof("Z3", INTEGERS))],
)
def test_adding_zero_changes_the_sign_of_zero_alone(dtype: str, expected: Proof) -> None:
    def zero(terms: Terms, a: Term, _: Term) -> tuple[Term, Term]:
        return terms.apply("add", dtype, a, terms.literal(0.0 if "f" in dtype else 0, dtype)), a

    assert Prover(True).element(*pair(zero, dtype), NormalForms()) == expected


def test_symbols_are_renamed_consistently() -> None:
    def sums(terms: Terms, a: Term, b: Term) -> tuple[Term, Term]:
        return terms.apply("add", "int8", a, b), terms.apply("add", "int8", b, a)

    def others(terms: Terms, a: Term, b: Term) -> tuple[Term, Term]:
        return terms.apply("add", "int8", b, a), terms.apply("add", "int8", b, a)

    assert renamed(pair(sums, "int8")) == renamed(pair(lambda t, a, b: sums(t, b, a), "int8"))
    assert renamed(pair(sums, "int8")) != renamed(pair(others, "int8"))


def test_the_page_has_a_row_for_each_rule() -> None:
    certificates = [
        Certificate("t", "A", "Neg(Neg(x))", "Z3", IEEE, 8),
        Certificate("t", "B", "Exp(x)", "instances", "", 1000, finite="casts are not defined"),
    ]
    text = page(certificates, 1000, 0, 8)
    assert "| `A` | Z3 | IEEE | 8 |" in text
    assert "| `B` | instances | finite: casts are not defined | 1,000 |" in text
    assert summary(certificates).startswith("1 of 2 rules (50.0 %) have a proof, 0 of them over the reals")
