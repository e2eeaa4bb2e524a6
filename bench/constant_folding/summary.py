"""Counts over all cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bench.constant_folding.verdicts import FoldingVerdict


@dataclass(frozen=True)
class FoldingSummary:
    """Results of all cases."""

    verdicts: Sequence[FoldingVerdict]

    @cached_property
    def deterministic(self) -> list[FoldingVerdict]:
        """Cases without random operators."""
        return [verdict for verdict in self.verdicts if not verdict.case.is_random]

    @cached_property
    def unfolded(self) -> list[FoldingVerdict]:
        """Deterministic cases that do not fold to the expected constants."""
        return [verdict for verdict in self.deterministic if not verdict.folded]

    @property
    def wrong(self) -> list[FoldingVerdict]:
        """Cases that fold to a wrong value, or raise an error."""
        return [verdict for verdict in self.unfolded if verdict.wrong]

    @property
    def quantized(self) -> list[FoldingVerdict]:
        """Cases that do not fold because they quantize."""
        return [verdict for verdict in self.unfolded if verdict.case.has_quantization]

    @property
    def random_folded(self) -> list[FoldingVerdict]:
        """Cases with random operators that fold, which is an error."""
        return [verdict for verdict in self.verdicts if verdict.case.is_random and verdict.folded]

    @property
    def folded(self) -> int:
        """Deterministic cases that fold."""
        return len(self.deterministic) - len(self.unfolded)

    @property
    def as_sequences(self) -> int:
        """Cases that fold to sequences or optionals of constants."""
        return sum(verdict.folded and not verdict.as_tensors for verdict in self.deterministic)

    @property
    def fraction_folded(self) -> float:
        """Fraction of the deterministic cases that fold."""
        return self.folded / max(1, len(self.deterministic))

    def lines(self) -> list[str]:
        """Summary sentences."""
        others = len(self.deterministic) - len(self.quantized)
        return [
            f"{len(self.verdicts)} cases, {len(self.deterministic)} of them deterministic.",
            f"{self.folded} of these fold to the expected constants: {100 * self.fraction_folded:.1f} %.",
            f"Without the {len(self.quantized)} with quantization that is not folded: "
            f"{100 * self.folded / max(1, others):.1f} %.",
            f"{self.as_sequences} of the folded are sequences or optionals of constants.",
        ]
