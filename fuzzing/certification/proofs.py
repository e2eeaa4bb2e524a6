"""Proof that two tensors of terms are equal, with the fewest assumptions that suffice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xonnc.fuzzing.certification import smt
from xonnc.fuzzing.certification.normal_form import NormalForms
from xonnc.fuzzing.certification.tensor_semantics import NoMeaningError
from xonnc.fuzzing.certification.terms import Term, TermArray, renamed

BITS, IEEE, ZEROS, INTEGERS, REALS = (
    "same bits",
    "IEEE",
    "IEEE, signs of zeros aside",
    "integers mod 2^n",
    "reals",
)


class Proof(NamedTuple):
    """How a pair of elements was proven equal."""

    method: str
    assumes: str
    """What the elements are: any bits, IEEE numbers, integers modulo 2^n, or real numbers."""


IDENTICAL = Proof("same terms", BITS)
MAX_MISSES = 1
"""How often Z3 may find no proof of one kind for a rule."""


@dataclass
class Prover:
    """Proves pairs of elements; pairs that differ in names alone have one proof."""

    use_z3: bool
    misses: dict[str, int] = field(default_factory=dict[str, int])
    """How often Z3 found no proof since `start`, by theory."""
    known: dict[object, Proof | None] = field(default_factory=dict[object, "Proof | None"])

    def start(self) -> None:
        """Begin a rule: let Z3 try again what it did not prove for others."""
        self.misses = {}

    def tensors(self, before: Sequence[TermArray], after: Sequence[TermArray]) -> set[Proof] | str:
        """Return the proofs that all elements of all results need, or what is not proven."""
        if [one.shape for one in before] != [one.shape for one in after]:
            return "the shapes differ"
        found: set[Proof] = set()
        forms = NormalForms()
        for one, other in zip(before, after, strict=True):
            for a, b in zip(one.reshape(-1), other.reshape(-1), strict=True):
                proof = self.element(a, b, forms)
                if proof is None:
                    return "an element is not proven equal"
                found.add(proof)
        return found

    def element(self, a: Term, b: Term, forms: NormalForms) -> Proof | None:
        """Return a proof that two terms are equal."""
        if a is b:
            return IDENTICAL
        if a.dtype != b.dtype:
            return None
        key = renamed((a, b)) if max(a.size, b.size) <= smt.MAX_SIZE["reals"] else None
        if key is not None and key in self.known:
            return self.known[key]
        proof = self.searched(a, b, forms)
        if key is not None:
            self.known[key] = proof
        return proof

    def searched(self, a: Term, b: Term, forms: NormalForms) -> Proof | None:
        """Try the theories in the order of what they assume."""
        if self.solves(a, b, "ieee"):
            return Proof("Z3", IEEE if has_floats(a, b) else INTEGERS)
        if a.is_float and self.solves(a, b, "ieee", up_to_zeros=True):
            return Proof("Z3", ZEROS)
        try:
            if forms.are_equal(a, b):
                return Proof("normal form", REALS if has_floats(a, b) else INTEGERS)
        except NoMeaningError:
            pass
        return Proof("Z3", REALS) if self.solves(a, b, "reals") else None

    def solves(self, a: Term, b: Term, theory: smt.Theory, up_to_zeros: bool = False) -> bool:
        """Return whether Z3 finds a proof; it is asked no more after some misses, which take seconds each."""
        name = f"{theory} {a.dtype} {up_to_zeros}"
        if not self.use_z3 or self.misses.get(name, 0) >= MAX_MISSES:
            return False
        found = smt.proves(a, b, theory, up_to_zeros)
        if not found and max(a.size, b.size) <= smt.MAX_SIZE[theory]:
            self.misses[name] = self.misses.get(name, 0) + 1
        return found


def has_floats(*terms: Term) -> bool:
    """Return whether a float type occurs in terms."""
    waiting, seen = list(terms), set[int]()
    while waiting:
        term = waiting.pop()
        if term.number in seen:
            continue
        seen.add(term.number)
        if term.is_float:
            return True
        waiting += term.arguments
    return False
