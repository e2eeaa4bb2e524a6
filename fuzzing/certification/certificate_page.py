"""The page of certificates: `docs/rewrite-certificates.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from xonnc.fuzzing.certification.certificates import Certificate

METHODS = {
    "same terms": "each element of the result is the same function of the same elements of the inputs",
    "Z3": "Z3 proves the elements equal for all values",
    "normal form": "the elements are one polynomial, over the rationals or the integers modulo 2^n, "
    "up to the rounding of constants",
    "labels": "distinct numbers in place of constants end where the operator moves them",
    "all values": "folding one elementwise operator agrees with the ONNX reference, within one ulp, for all "
    "values (of two operands: all pairs) of the types named; of bfloat16 but for the two largest binades",
    "instances": "results agree with the ONNX reference on random instances, NaN and infinities among them "
    "where nothing else is said",
}
ASSUMPTIONS = {
    "same bits": "of any type, with any value",
    "integers mod 2^n": "integers and booleans, with wrap-around",
    "IEEE": "floats with NaN, infinities and signed zeros, each operation rounded",
    "IEEE, signs of zeros aside": "the same, but 0 may become -0",
    "reals": "finite floats without rounding, denominators not 0: results differ by rounding, and where NaN, "
    "infinities or overflow occur",
}
HEAD = """\
Made by `xonnc certify-rewrites -n {count} --seed {seed} -o docs/rewrite-certificates.md`
(`pip install 'xonnc[certify]'`). A rule is applied alone to instances of its pattern. Shapes, attributes and
constants are drawn, the elements of the inputs stay symbols: a proof holds for all values of the inputs, on
up to {proven} drawn instances of different shapes and element types.
"""
MORE = """\
A rule with several assumptions has several elements or element types. Functions such as `Exp` are equal for
equal arguments. How operators move elements is asked of the ONNX reference evaluator, which runs them on the
indices of the elements.

Rules over the reals fire by default, as in other compilers of ONNX. `--no-fast-math` of `xonnc simplify` and
`xonnc compile` leaves them out for floats, and those without a proof that round elsewhere
(`transforms/rules/real_arithmetic.py`): floats are then rounded where the model says.
"""


def page(certificates: Sequence[Certificate], count: int, seed: int, proven: int) -> str:
    """Return the page in Markdown."""
    head = HEAD.format(count=count, seed=seed, proven=proven)
    parts = [f"# Certificates of rewrite rules\n\n{summary(certificates)}\n", head]
    parts += [_table(("method", "what is shown"), METHODS)]
    parts += [_table(("assumption", "elements"), ASSUMPTIONS), MORE]
    for table, found in groupby(certificates, key=lambda one: one.table):
        rows = [f"| `{one.rule}` | {one.method} | {_assumed(one)} | {one.instances:,} |" for one in found]
        head = f"## Table `{table}`\n\n| rule | method | assumes | instances |\n|---|---|---|---|\n"
        parts.append(head + "\n".join(rows) + "\n")
    return "\n".join(parts)


def summary(certificates: Sequence[Certificate]) -> str:
    """Return the number of rules with a proof, in a sentence."""
    proven = sum(one.is_proof for one in certificates)
    real = sum("reals" in one.assumes for one in certificates)
    share = 100 * proven / max(1, len(certificates))
    return (
        f"{proven} of {len(certificates)} rules ({share:.1f} %) have a proof, {real} of them over the reals; "
        f"{len(certificates) - proven} are compared on instances."
    )


def _table(head: tuple[str, str], rows: Mapping[str, str]) -> str:
    lines = [head, ("---", "---"), *rows.items()]
    return "\n".join(f"| {left} | {right} |" for left, right in lines) + "\n"


def _assumed(one: Certificate) -> str:
    if one.is_proof:
        return one.assumes
    return f"finite: {one.finite}" if one.finite else "nothing"
