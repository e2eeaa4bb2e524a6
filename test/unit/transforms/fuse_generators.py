"""Generators of instances of the fusions that only simplification has."""

from __future__ import annotations

import fuse_elementwise_generators as elementwise
import fuse_linear_generators as linear
import fuse_matmul_generators as products
import fuse_movement_generators as movement
import fuse_pooling_generators as pooling
import fuse_rnn_generators as recurrence
from rule_comparison import SAME, Closeness
from rule_draws import Generator
from rule_values import Kind

GENERATORS: dict[str, Generator] = {
    **linear.GENERATORS,
    **movement.GENERATORS,
    **elementwise.GENERATORS,
    **pooling.GENERATORS,
    **products.GENERATORS,
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
    **recurrence.KINDS,
}
