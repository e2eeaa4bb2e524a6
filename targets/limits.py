"""
Hardware limits of NVDLA: the ranges of register fields, and the optional features of a configuration.

A constraint function returns `None`, or a message with the value found and the values allowed. This is their
only definition: the lowering reports these messages, the checks of loadables read the same ranges, and
`docs/nvdla-limits.md`, `xonnc ops --target` and `xonnc explain` are generated from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xonnc.targets import NvdlaTarget


@dataclass(frozen=True)
class Limit:
    """
    The range of a register field, the same on every configuration (docs/internals/nvdla-hardware.md §2.4).

    `way_out` tells the user how to change a model that exceeds it.
    """

    engine: str
    what: str
    least: int
    most: int
    way_out: str

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value."""
        return self.least, self.most

    def broken(self, value: int) -> str | None:
        """Return a message such as `stride 9 (the core takes up to 8); slice …` if `value` is too large."""
        if value <= self.most:
            return None
        return f"{self.what} {value} (the {self.engine} takes up to {self.most}); {self.way_out}"


CORE, PDP, CDP, RUBIK = "core", "PDP", "CDP", "Rubik engine"

DIMENSION: Final = Limit(CORE, "size", 1, 8192, "split the tensor before the node")
KERNEL: Final = Limit(
    CORE,
    "kernel",
    1,
    32,
    "larger ones run in parts by themselves, except over pixels of an image input",
)
CONV_STRIDE: Final = Limit(
    CORE,
    "stride",
    1,
    8,
    "larger ones run by themselves, except over pixels of an image input and for results of more than 8192 "
    "positions; else slice every n-th row and column first",
)
DILATION: Final = Limit(
    CORE,
    "dilation",
    1,
    32,
    "taps farther apart run as 1x1 convolutions by themselves; else slice into phases",
)
CONV_PAD_BEFORE: Final = Limit(CORE, "pad at top or left", 0, 31, "pad with a node of its own")
CONV_PAD_AFTER: Final = Limit(CORE, "pad at bottom or right", 0, 63, "pad with a node of its own")
POOL: Final = Limit(
    PDP,
    "pooling kernel",
    1,
    8,
    "larger ones run by themselves: maxima in several poolings, means as convolutions",
)
POOL_STRIDE: Final = Limit(PDP, "pooling stride", 1, 8, "larger ones run by themselves, as divisors of them")
POOL_PAD: Final = Limit(PDP, "pooling pad", 0, 7, "pad with a node of its own")
POOL_SIZE: Final = Limit(PDP, "size", 1, 8192, "split the tensor before the node")
PARTIAL_WIDTH: Final = Limit(PDP, "width of a piece", 0, 1024, "pieces are chosen by the compiler")
POOL_PIECES: Final = Limit(PDP, "pieces of a row", 1, 64, "make the input narrower")
CONTRACT_STRIDE: Final = Limit(RUBIK, "contraction stride", 1, 32, "upsample in two steps")

LIMITS: Final = (
    DIMENSION,
    KERNEL,
    CONV_STRIDE,
    DILATION,
    CONV_PAD_BEFORE,
    CONV_PAD_AFTER,
    POOL_SIZE,
    POOL,
    POOL_STRIDE,
    POOL_PAD,
    PARTIAL_WIDTH,
    POOL_PIECES,
    CONTRACT_STRIDE,
)
"""Every limit, by engine."""

LRN_SIZES: Final = (3, 5, 7, 9)
"""Window sizes, in channels, that the CDP supports for local response normalisation."""


@dataclass(frozen=True)
class Feature:
    """An optional hardware feature; `property` is the field of `NvdlaTarget` that says if it is present."""

    property: str
    what: str
    lack: str
    """The end of the message about a configuration without it."""


FEATURES: Final = {
    feature.property: feature
    for feature in (
        Feature("sdp_y", "the third stage of the SDP and its lookup table", "has stages X1 and X2 only"),
        Feature("rubik", "the Rubik engine, which moves pixels and channels", "has no such engine"),
        Feature("bdma", "the BDMA engine, which copies", "has no such engine"),
        Feature("winograd", "winograd convolution", "convolves directly only"),
        Feature("weight_compression", "compressed weights", "takes plain weights only"),
    )
}
"""The optional features, by their field of `NvdlaTarget`."""


def lacks(target: NvdlaTarget, feature: str) -> str | None:
    """Return `nv_small has stages X1 and X2 only` or the like if `target` lacks a key of `FEATURES`."""
    return None if getattr(target, feature) else f"{target.name} {FEATURES[feature].lack}"


def lacks_precision(target: NvdlaTarget, precision: str) -> str | None:
    """Return `nv_small computes in int8` or the like if `target` has no data path for `precision`."""
    return (
        None
        if precision in target.precisions
        else f"{target.name} computes in {', '.join(target.precisions)}"
    )


EMULATED_ATOMS: Final = (8, 32)
"""Sizes in bytes of memory atoms that the runtime's CPU emulator can read (§2.5)."""


def lacks_emulator(target: NvdlaTarget) -> str | None:
    """
    Return a message if the runtime's CPU emulator cannot read the target's feature cubes.

    Softmax runs in the emulator, which reads cubes with atoms of 8 and 32 bytes only.
    """
    if target.memory_atom_bytes in EMULATED_ATOMS:
        return None
    return (
        f"{target.name} has atoms of {target.memory_atom_bytes} bytes; the runtime's CPU emulator reads "
        f"{' and '.join(map(str, EMULATED_ATOMS))}, so end the model before it"
    )
