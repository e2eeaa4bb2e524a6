"""Generators of instances of the fusions that only simplification has."""

from __future__ import annotations

from xonnc.fuzzing.rules.comparison import SAME, Closeness
from xonnc.fuzzing.rules.draws import Generator
from xonnc.fuzzing.rules.generators import fuse_elementwise as elementwise
from xonnc.fuzzing.rules.generators import fuse_linear as linear
from xonnc.fuzzing.rules.generators import fuse_matmul as products
from xonnc.fuzzing.rules.generators import fuse_movement as movement
from xonnc.fuzzing.rules.generators import fuse_pooling as pooling
from xonnc.fuzzing.rules.generators import fuse_reductions as reductions
from xonnc.fuzzing.rules.generators import fuse_rnn as recurrence
from xonnc.fuzzing.rules.values import Kind

GENERATORS: dict[str, Generator] = {
    **linear.GENERATORS,
    **movement.GENERATORS,
    **elementwise.GENERATORS,
    **pooling.GENERATORS,
    **products.GENERATORS,
    **reductions.GENERATORS,
    **recurrence.GENERATORS,
}

CLOSENESS: dict[str, Closeness] = dict.fromkeys(movement.EXACT, SAME)

FINITE: dict[str, str] = {
    **linear.FINITE,
    **movement.FINITE,
    **elementwise.FINITE,
    **products.FINITE,
    **recurrence.FINITE,
}

KINDS: dict[str, tuple[Kind, ...]] = {
    **linear.KINDS,
    **movement.KINDS,
    **elementwise.KINDS,
    **pooling.KINDS,
    **products.KINDS,
    **reductions.KINDS,
    **recurrence.KINDS,
}
