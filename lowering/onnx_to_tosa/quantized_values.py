"""Real tensors of quantized networks: integers with scales and zero points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Quantization:
    """
    Scales and zero points, one for the tensor or one for each index along `axis`.

    Integers are signed: those of `ui8` are stored 128 lower, and so are their zero points.
    """

    scale: npt.NDArray[np.float32]
    zero_point: npt.NDArray[np.int64]
    axis: int = 0

    @property
    def is_per_tensor(self) -> bool:
        """Whether there is one scale."""
        return self.scale.size == 1

    @property
    def factor(self) -> float:
        """The only scale."""
        return float(self.scale.reshape(-1)[0])

    @property
    def zero(self) -> int:
        """The only zero point."""
        return int(self.zero_point.reshape(-1)[0])

    def is_same(self, other: Quantization) -> bool:
        """Whether both are one scale and one zero point, and equal."""
        return (
            self.is_per_tensor
            and other.is_per_tensor
            and (self.factor, self.zero) == (other.factor, other.zero)
        )

    def along(self, rank: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Return scales and zero points in a shape that is broadcast to `rank` dimensions."""
        sizes = [1] * rank
        if not self.is_per_tensor:
            sizes[self.axis] = self.scale.size
        zeros = np.broadcast_to(self.zero_point.reshape(-1), (self.scale.size,))
        return self.scale.reshape(sizes), zeros.reshape(sizes)


@dataclass(frozen=True)
class QuantizedValue:
    """A tensor of integers, a TOSA value or a constant, and what they stand for."""

    of: Quantization
    value: SSAValue | None = None
    array: npt.NDArray[Any] | None = None

    @property
    def real_array(self) -> npt.NDArray[np.float32] | None:
        """The real elements of a constant."""
        if self.array is None:
            return None
        scale, zero = self.of.along(self.array.ndim)
        return ((self.array.astype(np.int64) - zero).astype(np.float32) * scale).astype(np.float32)
