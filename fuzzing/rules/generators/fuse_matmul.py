"""Generators of instances of products of one matrix with several weights."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.instances import Example, Given
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import Add, Concat, MatMul
from xonnc.rewriting.patterns import Node, const, value


def several(biased: bool) -> Generator:
    """Two to four products of one matrix, concatenated in any order, with biases of rank 1 or 2."""

    def make(draw: Draw) -> Example:
        count, k = draw.pick(2, 3, 3, 4), draw.size()
        values: dict[str, Given] = {"x": (*draw.shape(1, 2, empty=False), k)}
        parts: list[Node] = []
        for index in range(count):
            columns = draw.size()
            values |= {
                f"w{index}": (k, columns),
                f"b{index}": draw.pick((columns,), (columns,), (1, columns)),
            }
            product = MatMul(value.x, getattr(const, f"w{index}"))
            parts.append(Add(product, getattr(const, f"b{index}")) if biased else product)
        order = [int(index) for index in draw.random.permutation(count)]
        return Example(values, pattern=Concat(*(parts[index] for index in order), axis=-1))

    return make


GENERATORS: dict[str, Generator] = {
    "MergeProductsWithBias": several(True),
    "MergeProducts": several(False),
}

KINDS: dict[str, tuple[Kind, ...]] = dict.fromkeys(GENERATORS, (np.float32, np.float64, np.int32))
FINITE = dict.fromkeys(GENERATORS, "sums of infinities are NaN in another order")
