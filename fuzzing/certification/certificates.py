"""
Certificates of rewrite rules.

A rule is applied alone to instances of its pattern with drawn shapes, attributes and constants. The elements
of the inputs stay symbols: both graphs become terms (`module_semantics.py`), which are proven equal for all
values. Rules that fold constants have no inputs. Those that move elements are followed with distinct numbers;
elementwise ones are computed for all values of the types of eight and sixteen bits. What remains is compared
with the ONNX reference on random instances (`fuzzing/rules/sweep.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.errors import XonncError
from xonnc.fuzzing.certification.module_semantics import MOVEMENT, ModuleMeaning, base_name
from xonnc.fuzzing.certification.proofs import (
    BITS,
    IDENTICAL,
    IEEE,
    INTEGERS,
    REALS,
    ZEROS,
    Proof,
    Prover,
)
from xonnc.fuzzing.certification.scalar_semantics import ELEMENTWISE
from xonnc.fuzzing.certification.tensor_semantics import EmptyOperandError, NoMeaningError
from xonnc.fuzzing.certification.terms import TermArray, Terms, is_known
from xonnc.fuzzing.rules.draws import Draw
from xonnc.fuzzing.rules.instances import PLACES, Example, Instance
from xonnc.fuzzing.rules.sweep import Sweep
from xonnc.fuzzing.rules.tables import Table, names
from xonnc.fuzzing.rules.texts import Text, TextInstance
from xonnc.fuzzing.rules.values import KINDS, Kind, as_kind
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.patterns import Node, Rest
from xonnc.transforms.shape_inference_onnx import infer_shapes

PROVEN = 8
"""Number of instances that are proven for each rule."""
MAX_TRIES = 400
"""Number of instances drawn for them, many of which a rule refuses."""
MAX_ELEMENTS = 1500
"""The largest tensors of a proof."""
LARGE_BFLOAT16 = 2.0**126
FIRST_LABEL = 1_000_003
NARROW = frozenset({"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"})

SHORT: tuple[Kind, ...] = (
    np.float16,
    ml_dtypes.bfloat16,
    np.uint8,
    np.int8,
    np.bool_,
    ml_dtypes.float8_e4m3fn,
)
"""Element types of which a function of one operand is computed for all values."""
BYTES: tuple[Kind, ...] = (np.uint8, np.int8, np.bool_)
"""Element types of which a function of two operands is computed for all pairs."""
FOLDED_ALONE = frozenset(
    "BitShift Celu Elu HardSigmoid HardSwish IsInf Mish Selu Shrink Swish ThresholdedRelu Gelu Clip".split()
)
"""Elementwise operators besides those with a meaning in terms."""


UNDEFINED = frozenset({"Cast"})
"""Operators that ONNX does not define for all values."""


@dataclass(frozen=True)
class Certificate:
    """Why a rule is right."""

    table: str
    rule: str
    pattern: str
    method: str
    """`same terms`, `Z3`, `normal form`, `labels`, `all values`, or `instances`."""
    assumes: str
    instances: int
    """How many instances were proven or compared."""
    reason: str = ""
    """Why there is no proof."""
    wrong: tuple[str, ...] = ()
    """Instances on which the rule is wrong."""
    finite: str = ""
    """Why it is not compared on NaN and infinities."""

    @property
    def is_proof(self) -> bool:
        """Return whether the rule is proven, not compared on instances."""
        return self.method != "instances"


ORDER = (BITS, INTEGERS, IEEE, ZEROS, REALS)
"""Assumptions, the weakest first."""


class Certifier:
    """Certifies rules: by proofs, else by at least `count` instances."""

    def __init__(self, count: int, seed: int, use_z3: bool) -> None:
        self.count, self.seed = count, seed
        self.prover = Prover(use_z3)

    def certificate(self, table: Table, name: str) -> Certificate:
        """Return the certificate of a rule."""
        found = self.proven(table, name)
        base = Certificate(
            table.name,
            name,
            str(table.rules[name].root),
            "instances",
            "",
            0,
            finite=table.finite.get(name, ""),
        )
        if not isinstance(found, str):
            proofs, count = found
            return replace(base, method=_methods(proofs), assumes=_assumptions(proofs), instances=count)
        checked = self.exhausted(table, name)
        if checked is not None:
            kinds, count, wrong = checked
            return replace(base, method="all values", assumes=kinds, instances=count, wrong=wrong)
        tally = Sweep(table, name, self.seed, self.count).run()
        return replace(base, instances=tally.generated, reason=found, wrong=tuple(tally.wrong[:5]))

    def proven(self, table: Table, name: str) -> tuple[set[Proof], int] | str:
        """Return the proofs of instances and their number, or why an instance is not proven."""
        self.prover.start()
        found: set[Proof] = set()
        count = 0
        for instance in islice(self.instances(table, name), MAX_TRIES):
            try:
                proofs = self.proof_of(table, name, instance)
            except EmptyOperandError:
                continue
            except NoMeaningError as reason:
                return str(reason)
            # Where constants are rounded to few bits, the same real numbers cannot be told from others.
            if proofs is None or (isinstance(proofs, str) and instance_dtype(instance) in NARROW):
                continue
            if isinstance(proofs, str):
                return proofs
            found |= proofs
            count += 1
            if count == PROVEN:
                break
        return (found, count) if count else "no instance is small enough"

    def instances(self, table: Table, name: str) -> Iterator[Instance]:
        """Draw instances of all element types in turn."""
        sweep = Sweep(table, name, self.seed, 0)
        kinds = list(table.kinds.get(name, KINDS))
        kinds = [kind for kind in kinds if np.dtype(kind).kind != "c" and kind is not np.object_] or kinds
        refused: set[Kind] = set()
        for number in range(MAX_TRIES):
            kind = kinds[number % len(kinds)]
            draw = Draw(sweep.random(f"proof {number}"), np.dtype(kind), number)
            example = table.generator(name)(draw)
            if kind in refused:
                continue
            try:
                yield (
                    TextInstance(example)
                    if isinstance(example, Text)
                    else Labelled(table, name, example, kind, number)
                )
            except VerifyException:
                refused.add(kind)

    def proof_of(self, table: Table, name: str, instance: Instance) -> set[Proof] | str | None:
        """Return the proofs of one instance, `None` if the rule does not match or the instance is large."""
        if sum(array.size for array in instance.data) > MAX_ELEMENTS:
            return None
        before = instance.exportable().clone()
        rules = Sweep(table, name, self.seed, 0).alone
        if not apply_rules(instance.module, instance.context, rules, pass_name="certify").changed:
            return None
        try:
            infer_shapes(instance.module)
        except XonncError as error:
            return f"the result is refused: {error}"
        terms = Terms()
        meaning = ModuleMeaning(terms)
        first, second = _function(before), _function(instance.exportable())
        arguments = [_argument(terms, instance, feed) for feed in instance.feeds]
        expected = meaning.results(first, arguments)
        found = meaning.results(second, arguments)
        if all(is_known(one) for one in expected) and not instance.feeds:
            return self.folded(first, expected, found, instance)
        return self.prover.tensors(expected, found)

    def folded(
        self, function: FuncOp, expected: Sequence[TermArray], found: Sequence[TermArray], instance: Instance
    ) -> set[Proof] | str | None:
        """Follow the numbers of a rule that moves the elements of constants."""
        ops = [op for op in function.body.block.ops if not isinstance(op, ConstantOp | NoValueOp | ReturnOp)]
        if not all(base_name(op) in MOVEMENT for op in ops):
            return "constants are computed"
        if not isinstance(instance, Labelled) or not instance.labels:
            return None
        proofs = self.prover.tensors(expected, found)
        return proofs if isinstance(proofs, str) else {Proof("labels", BITS)}

    def exhausted(self, table: Table, name: str) -> tuple[str, int, tuple[str, ...]] | None:
        """Compute a rule that folds one elementwise op for all values; the types, their number, failures."""
        root = table.rules[name].root
        bound = list(dict.fromkeys(names(root)))
        elementwise = root.template.name in ELEMENTWISE.keys() - UNDEFINED | FOLDED_ALONE
        if (
            table.name != "constprop"
            or not elementwise
            or any(isinstance(part, Node) for part in root.operands)
            or PLACES & set(bound)
        ):
            return None
        sweep = Sweep(table, name, self.seed, 0)
        done: list[str] = []
        wrong: list[str] = []
        count = 0
        for kind in (kind for kind in SHORT if kind in table.kinds.get(name, KINDS)):
            for number in range(4):
                draw = Draw(sweep.random(f"all {number}"), np.dtype(kind), number)
                example = table.generator(name)(draw)
                if isinstance(example, Text):
                    return None
                example = _exhaustive(example, root, bound, kind)
                if example is None:
                    continue
                try:
                    fired, problem = sweep.check(Instance(root, example, kind, False, number))
                except VerifyException:
                    break
                if problem is not None:
                    wrong.append(f"{name}, all values of {np.dtype(kind)}: {problem}")
                if fired:
                    count += 1
                    done += [np.dtype(kind).name] if np.dtype(kind).name not in done else []
                if not draw.number and not fired:
                    break
        return (", ".join(done), count, tuple(wrong)) if done else None


class Labelled(Instance):
    """An instance whose integer constants are distinct numbers, and whose floats are finite."""

    def __init__(self, table: Table, name: str, example: Example, kind: Kind, seed: int) -> None:
        self.labels = 0
        root = table.rules[name].root
        self.relabels = np.dtype(kind) == np.int64 and root.template.name.partition("V")[0] in MOVEMENT
        super().__init__(root, example, kind, False, seed)

    def array(self, name: str, given: npt.NDArray[Any] | tuple[int, ...]) -> npt.NDArray[Any]:
        """Return distinct numbers for elements that the rule moves."""
        made = super().array(name, given)
        if not self.relabels or name in PLACES or name in self.example.own or made.dtype != np.int64:
            return made
        first = FIRST_LABEL + self.labels
        self.labels += made.size
        return self.random.permutation(np.arange(first, first + made.size, dtype=np.int64)).reshape(
            made.shape
        )


def instance_dtype(instance: Instance) -> str:
    """Return the element type of an instance."""
    return instance.dtype.name if isinstance(instance, Labelled) else ""


def _exhaustive(example: Example, root: Node, bound: Sequence[str], kind: Kind) -> Example | None:
    """Return an example whose first operand, or two, have all values."""
    values, operands = dict(example.values), list(bound)
    if isinstance(root.operands[0], Rest):
        operands = [f"{bound[0]}0", f"{bound[0]}1"]
    if kind not in BYTES and len(operands) > 1:
        return None
    every = all_values(kind)
    shapes = [(-1,)] if len(operands) == 1 else [(-1, 1), (1, -1)]
    for name, shape in zip(operands, shapes, strict=False):
        values[name] = every.reshape(shape)
    for name in operands[2:]:
        values[name] = as_kind(np.ones(()), np.dtype(kind))
    return replace(example, values=values, counts=dict.fromkeys(bound, 2), types=())


def all_values(kind: Kind) -> npt.NDArray[Any]:
    """Return all values of a type of at most sixteen bits."""
    dtype = np.dtype(kind)
    if dtype == np.bool_:
        return np.array([False, True])
    bits = np.arange(1 << (8 * dtype.itemsize), dtype=np.uint8 if dtype.itemsize == 1 else np.uint16)
    every = bits.view(dtype)
    if dtype != ml_dtypes.bfloat16:
        return every
    # The reference rounds bfloat16 twice, which shows in the two largest binades.
    with np.errstate(all="ignore"):
        size = np.abs(every.astype(np.float64))
    return every[(size < LARGE_BFLOAT16) | ~np.isfinite(size)]


def _function(module: Any) -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


def _argument(terms: Terms, instance: Instance, feed: str) -> TermArray:
    """Return symbols, or the values of an input that gives indices or sizes."""
    array, name = instance.feeds[feed], feed.rstrip("0123456789")
    if name in PLACES or name in instance.example.own:
        return terms.literals(array)
    return terms.symbols(feed, array.shape, array.dtype.name)


def _methods(proofs: set[Proof]) -> str:
    found = {proof.method for proof in proofs if proof != IDENTICAL} or {IDENTICAL.method}
    return ", ".join(sorted(found))


def _assumptions(proofs: set[Proof]) -> str:
    found = [assumed for assumed in ORDER if any(proof.assumes == assumed for proof in proofs)]
    return "; ".join(found[1:] if len(found) > 1 and found[0] == BITS else found)
