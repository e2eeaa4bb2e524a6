"""Generators of instances of the patterns of canonicalisations."""

from __future__ import annotations

import canonicalize_examples
import canonicalize_movement_examples
import numpy as np
from rule_comparison import Closeness
from rule_draws import Draw, Few, Generator, vary
from rule_instances import Example
from rule_values import KINDS as ALL
from rule_values import Kind
from xdsl.dialects.builtin import f32

from xonnc.transforms.rules import canonicalize_movement


def transposed(draw: Draw) -> Example:
    """An operator between two permutations."""
    # The reference has a Softsign for arrays with axes only.
    shape = draw.shape(1)
    first, second = draw.perm(len(shape)), draw.perm(len(shape))
    return Example({"x": shape}, {"first": first, "second": second}, {"Cast": {"to": f32}})


EXAMPLES = {
    name: each
    for table in (canonicalize_examples, canonicalize_movement_examples)
    for name, each in table.EXAMPLES.items()
}

GENERATORS: dict[str, Generator] = {
    **{name: vary(examples) for name, examples in EXAMPLES.items()},
    **{name: transposed for name in canonicalize_movement.RULES if name.startswith("FuseTransposeAnd")},
}

CLOSENESS: dict[str, Closeness] = {}

FINITE: dict[str, str] = {name: "" for name in EXAMPLES}

FEW: dict[str, Few] = {}

KINDS: dict[str, tuple[Kind, ...]] = {
    name: tuple(dict.fromkeys(kind for example in examples for kind in example.dtypes))
    for name, examples in EXAMPLES.items()
} | {
    "FuseTwoReshapesPattern": (np.int64,),
    "FuseTransposeAndSoftsignPattern": (np.float32, np.float16, np.float64),
    "FuseTransposeAndCastPattern": tuple(kind for kind in ALL if np.dtype(kind).kind not in "cO"),
}

ELSEWHERE = canonicalize_examples.ELSEWHERE
