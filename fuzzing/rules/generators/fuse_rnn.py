"""Generators of instances of recurrent operators whose initial states are zeros."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.generators.canonicalize_examples import NETWORKS
from xonnc.fuzzing.rules.generators.canonicalize_layer import SINGLE, recurrent
from xonnc.fuzzing.rules.instances import Example, Given
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.patterns import const, value
from xonnc.transforms.rules import canonicalize_rnn


def with_zeros(name: str) -> Generator:
    """A recurrent operator with initial states of zeros; one of two states may be nonzero."""
    make = recurrent(name, False)
    template, last = canonicalize_rnn.NETWORKS[name]
    _, states = NETWORKS[name]

    def made(draw: Draw) -> Example:
        example = make(draw)
        assert isinstance(example, Example)
        values: dict[str, Given] = dict(example.values)
        weights, x = values["r"], values["x"]
        assert isinstance(weights, tuple)
        assert isinstance(x, tuple)
        shape = (weights[0], x[1], weights[2])
        zero = draw.pick(*states)
        patterns = list(last)
        for index, state in enumerate(states):
            is_zero = state == zero or draw.flag()
            values[state] = np.zeros(shape, np.float32) if is_zero else shape
            patterns[index] = getattr(const, state) if is_zero else last[index]
        pattern = template(*canonicalize_rnn.DATA_OPERANDS, value.lengths, *patterns)
        return replace(example, values=values, pattern=pattern)

    return made


GENERATORS: dict[str, Generator] = {f"RemoveZeroStatePattern{name}": with_zeros(name) for name in NETWORKS}

KINDS: dict[str, tuple[Kind, ...]] = dict.fromkeys(GENERATORS, SINGLE)

FINITE: dict[str, str] = dict.fromkeys(
    GENERATORS,
    "without a state onnxruntime leaves out the product of the first step, which is NaN for infinite weights",
)
