"""
Certificates of the rewrite rules that a simplification applied (`fuzzing/certification`).

A rule is proven for all values of its inputs, or compared with the ONNX reference on random instances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xonnc.fuzzing.certification import smt
from xonnc.fuzzing.certification.certificates import Certificate, Certifier
from xonnc.fuzzing.rules.generators.constprop_evaluated import ELSEWHERE
from xonnc.fuzzing.rules.tables import CASES
from xonnc.rewriting.statistics import Ledger

INSTANCES = 200
"""Random instances of a rule without proof."""


@dataclass(frozen=True)
class AppliedRule:
    """A rule, how often it applied, and its certificates: one for each table that has the rule."""

    name: str
    count: int
    certificates: Sequence[Certificate]

    @property
    def is_wrong(self) -> bool:
        """Return whether an instance shows that the rule is wrong."""
        return any(one.wrong for one in self.certificates)

    @property
    def is_proven(self) -> bool:
        """Return whether the rule is proven wherever it is defined."""
        return bool(self.certificates) and all(one.is_proof for one in self.certificates)


def certify(applied: Ledger) -> list[AppliedRule]:
    """Certify each rule that was applied; with proofs of Z3 if it is installed."""
    certifier = Certifier(INSTANCES, 0, smt.is_installed())
    total = Counter[str]()
    for fired in applied.counts.values():
        total.update(fired)
    return [
        AppliedRule(
            name, count, [certifier.certificate(table, rule) for table, rule in CASES if rule == name]
        )
        for name, count in sorted(total.items())
    ]


def _without_certificate(name: str) -> str:
    is_reference = ELSEWHERE.get(name, "").startswith("the reference computes it")
    return "folded by the ONNX reference" if is_reference else "none"


def report(rules: Sequence[AppliedRule]) -> str:
    """Return a line for each rule, and how many are proven."""
    rows = [("rule", "applied", "certificate", "assumes", "instances")]
    for rule in rules:
        for one in rule.certificates:
            method = "WRONG" if one.wrong else one.method
            rows.append((rule.name, str(rule.count), method, one.assumes, str(one.instances)))
        if not rule.certificates:
            rows.append((rule.name, str(rule.count), _without_certificate(rule.name), "", ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows] if rules else []
    proven = sum(rule.is_proven for rule in rules)
    lines.append(f"certified: of {len(rules)} rules applied, {proven} are proven")
    for rule in rules:
        lines += [f"WRONG: {rule.name}: {problem}" for one in rule.certificates for problem in one.wrong]
    if not smt.is_installed():
        lines.append("without Z3, whose proofs need pip install 'xonnc[certify]'")
    return "\n".join(lines)
