"""Generators of instances of the patterns of decompositions."""

from __future__ import annotations

import decompose_examples
from rule_comparison import Closeness
from rule_draws import Few, Generator, vary
from rule_values import Kind

EXAMPLES = {name: each for table in (decompose_examples,) for name, each in table.EXAMPLES.items()}

GENERATORS: dict[str, Generator] = {
    **{name: vary(examples) for name, examples in EXAMPLES.items()},
}

CLOSENESS: dict[str, Closeness] = {}

FINITE: dict[str, str] = {name: "" for name in EXAMPLES}

FEW: dict[str, Few] = {}

KINDS: dict[str, tuple[Kind, ...]] = {
    name: tuple(dict.fromkeys(kind for example in examples for kind in example.dtypes))
    for name, examples in EXAMPLES.items()
}

ELSEWHERE = {"ConcatFuse": "test/lit/transforms/decompose-onnx.mlir"}
