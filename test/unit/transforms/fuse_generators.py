"""Generators of instances of the fusions that only simplification has."""

from __future__ import annotations

import fuse_linear_generators as linear
from rule_comparison import Closeness
from rule_draws import Generator
from rule_values import Kind

GENERATORS: dict[str, Generator] = {**linear.GENERATORS}

CLOSENESS: dict[str, Closeness] = {}

FINITE: dict[str, str] = {**linear.FINITE}

KINDS: dict[str, tuple[Kind, ...]] = {**linear.KINDS}
