"""Which rules beyond types an op's verifier checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A trait of `dialects/onnx/checks` that an op class carries."""

    module: str
    source: str
    """The expression that makes it, `AxisInRange("axis")`."""

    @property
    def name(self) -> str:
        """The trait's class."""
        return self.source.partition("(")[0]


CHECKS: Mapping[str, tuple[Check, ...]] = {}
"""The checks of each op class, by its name."""

NOT_REPEATABLE = frozenset(
    "Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split()
)
"""Operators that draw random numbers: two equal ones must not become one."""
