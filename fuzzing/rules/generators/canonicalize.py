"""Generators of instances of the patterns of canonicalisations."""

from __future__ import annotations

from xonnc.fuzzing.rules.comparison import SAME, Closeness
from xonnc.fuzzing.rules.draws import Generator
from xonnc.fuzzing.rules.generators import canonicalize_arithmetic as arithmetic
from xonnc.fuzzing.rules.generators import canonicalize_layer as layers
from xonnc.fuzzing.rules.generators import canonicalize_moving as moving
from xonnc.fuzzing.rules.generators import canonicalize_shape_ops as sizes
from xonnc.fuzzing.rules.generators import sequences, text
from xonnc.fuzzing.rules.values import Kind

GENERATORS: dict[str, Generator] = {
    **text.CANONICALIZE,
    **sequences.CANONICALIZE,
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
    **text.CANONICALIZE_KINDS,
    **sequences.CANONICALIZE_KINDS,
    **arithmetic.KINDS,
    **layers.KINDS,
    **sizes.KINDS,
}
