"""
Calibration tables: the range of each value, as JSON in the form that NVDLA's compiler reads.

`{"conv1": {"scale": 0.0078, "min": 0, "max": 0, "offset": 0}}` means `scale * (q - offset)` for q from -127
to 127; with `min` and `max`, those are the range (nvdla/sw, umd/utils/calibdata). xonnc adds lists with a
number for each channel: `means`, `lows` and `highs` for bias correction and cross-layer equalization, and
`corrections` of biases, as measured. `rounded` says which targets those are for, `wide` that a value is two
tensors. Older tables have others
under other names, for channels scaled as they were then: they are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Any

from xonnc.errors import XonncError, cannot_read
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.input_files import record_input
from xonnc.formats.nvdla.quantization import INT8_MAX

ROUNDED_SUMS = "sums"
"""`rounded` of corrections for targets that round convolutions to 8 bits before an activation."""

ROUNDED_RESULTS = "results"
"""`rounded` of corrections for targets that compute an activation before they round."""


@dataclass(frozen=True)
class Range:
    """The range of a value, and statistics per channel."""

    least: float
    largest: float
    means: tuple[float, ...] = ()
    """The mean of each channel; empty if unknown."""
    lows: tuple[float, ...] = ()
    """The minimum of each channel."""
    highs: tuple[float, ...] = ()
    """The maximum of each channel."""
    bias_corrections: tuple[float, ...] = ()
    """
    The mean quantization error of each channel of a linear operator, to be subtracted from its bias. It is in
    the channel's scale: equalization scales both.
    """
    rounded: str = ""
    """The targets of the corrections, `ROUNDED_SUMS` or `ROUNDED_RESULTS`; empty if they are for all."""
    images: int = 0
    """Number of images of which the channels' minima and maxima are; 0 if unknown."""
    is_wide: bool = False
    """Whether NVDLA keeps the rounding error too, in a second tensor (`widen-activations-onnx`)."""
    sample_means: tuple[tuple[float, ...], ...] = field(default=(), compare=False)
    """The mean of each channel in each of the first samples; tables do not have them."""

    @property
    def magnitude(self) -> float:
        """The largest magnitude."""
        return max(abs(self.least), abs(self.largest))


Ranges = Mapping[str, Range]
"""Ranges by the name of the value, or of the node that produces it."""


def read_calibration(path: Path) -> Ranges:
    """Read a table; `XonncError` names an invalid entry."""
    record_input(path)
    try:
        table: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise cannot_read(path, error) from None
    except (ValueError, RecursionError) as error:
        raise XonncError(f"{path}: no calibration table: {error}") from None
    try:
        entries = list(table.items())
    except AttributeError:
        raise XonncError(f"{path}: no calibration table: it maps names of values to scales") from None
    return {name: _range(path, name, entry) for name, entry in entries}


_CHANNELS = ("means", "lows", "highs", "corrections")
"""The lists of an entry with a number per channel."""


def _range(path: Path, name: str, entry: Any) -> Range:
    try:
        scale, offset, least, largest = (
            _number(entry.get(key, 0)) for key in ("scale", "offset", "min", "max")
        )
        means, lows, highs, bias_corrections = (
            tuple(_number(each) for each in entry.get(key, ())) for key in _CHANNELS
        )
    except (AttributeError, OverflowError, TypeError):
        raise XonncError(
            f"{path}: '{name}': {entry!r:.100}; it is an object of scale, or min and max"
        ) from None
    counts = {
        key: len(each)
        for key, each in zip(_CHANNELS, (means, lows, highs, bias_corrections), strict=True)
        if each
    }
    if len(set(counts.values())) > 1:
        result = ", ".join(f"{count} {key}" for key, count in counts.items())
        raise XonncError(f"{path}: '{name}': {result}; there is one for each channel")
    if least == largest == 0:
        least, largest = (-INT8_MAX - offset) * scale + 0.0, (INT8_MAX - offset) * scale
    rounded: object = entry.get("rounded", "")
    if rounded not in ("", ROUNDED_SUMS, ROUNDED_RESULTS):
        raise XonncError(
            f"{path}: '{name}': rounded is {rounded!r:.100}; it is {ROUNDED_SUMS!r} or {ROUNDED_RESULTS!r}"
        )
    images: object = entry.get("images", 0)
    if not isinstance(images, int) or isinstance(images, bool) or images < 0:
        raise XonncError(f"{path}: '{name}': images is {images!r:.100}; it is a number of images, 0 or more")
    is_wide: object = entry.get("wide", False)
    if not isinstance(is_wide, bool):
        raise XonncError(f"{path}: '{name}': wide is {is_wide!r:.100}; it is true or false")
    result = Range(least, largest, means, lows, highs, bias_corrections, str(rounded), images, is_wide)
    for key, numbers in (("means", means), ("corrections", bias_corrections)):
        if not all(isfinite(number) for number in numbers):
            raise XonncError(f"{path}: '{name}': {key} must be finite numbers")
    if len(lows) != len(highs) or not all(-inf < a <= b < inf for a, b in zip(lows, highs, strict=True)):
        raise XonncError(
            f"{path}: '{name}': lows and highs must have one entry per channel, with low <= high"
        )
    if not (isfinite(result.least) and isfinite(result.largest) and result.least < result.largest):
        raise XonncError(f"{path}: '{name}': from {result.least:g} to {result.largest:g} is no range")
    return result


def _number(value: object) -> float:
    """Return a JSON number as float; `TypeError` for anything else, strings and booleans included."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    return float(value)


def write_calibration(path: Path, ranges: Ranges) -> None:
    """Write a table atomically; `scale` is that of symmetric int8."""
    table = {
        name: {
            "scale": found.magnitude / INT8_MAX,
            "min": found.least,
            "max": found.largest,
            "offset": 0,
            **({"means": list(found.means)} if found.means else {}),
            **({"lows": list(found.lows), "highs": list(found.highs)} if found.lows else {}),
            **({"images": found.images} if found.images else {}),
            **({"corrections": list(found.bias_corrections)} if found.bias_corrections else {}),
            **({"rounded": found.rounded} if found.rounded else {}),
            **({"wide": True} if found.is_wide else {}),
        }
        for name, found in ranges.items()
    }
    with atomic_write(path) as file:
        file.write(json.dumps(table, indent=1).encode())
