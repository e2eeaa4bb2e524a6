"""Generators of instances of the patterns of canonicalisations."""

from __future__ import annotations

import canonicalize_arithmetic_generators as arithmetic
import canonicalize_layer_generators as layers
import canonicalize_moving_generators as moving
import canonicalize_shape_ops_generators as sizes
import text_generators
from rule_comparison import SAME, Closeness
from rule_draws import Generator
from rule_values import Kind

GENERATORS: dict[str, Generator] = {
    **text_generators.CANONICALIZE,
    **moving.GENERATORS,
    **arithmetic.GENERATORS,
    **layers.GENERATORS,
    **sizes.GENERATORS,
}

CLOSENESS: dict[str, Closeness] = {
    **dict.fromkeys(moving.GENERATORS, SAME),
    **arithmetic.CLOSENESS,
    **layers.CLOSENESS,
}

FINITE: dict[str, str] = layers.FINITE

KINDS: dict[str, tuple[Kind, ...]] = {
    **moving.KINDS,
    **text_generators.CANONICALIZE_KINDS,
    **arithmetic.KINDS,
    **layers.KINDS,
    **sizes.KINDS,
}
