"""Pad for the reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from xonnc.formats.onnx.tensors import AnyArray

PADS, VALUE, AXES = 1, 2, 3
"""Operands of Pad since opset 11."""


def pad(
    operands: Sequence[AnyArray | None], attributes: Mapping[str, object], _outputs: int
) -> list[AnyArray]:
    """
    Compute Pad of all opsets; negative pads remove elements.

    The evaluator's own passes negative pads on to NumPy, which takes none. As in onnxruntime, all modes but
    `constant` continue what negative pads on the other end leave.
    """
    data = np.asarray(operands[0])
    pads = _integers(_operand(operands, PADS), attributes.get("pads"))
    axes = _integers(_operand(operands, AXES), range(data.ndim))
    if len(pads) != 2 * len(axes):
        raise ValueError(f"{len(pads)} pads for {len(axes)} axes")
    widths = np.zeros((data.ndim, 2), np.int64)
    for index, axis in enumerate(axes):
        widths[axis] = pads[index], pads[index + len(axes)]
    added, removed = np.maximum(widths, 0).tolist(), np.maximum(-widths, 0)
    mode = cast("Any", attributes.get("mode") or "constant")
    if mode != "constant":
        return [np.pad(_cropped(data, removed), added, mode=mode)]
    given = _operand(operands, VALUE)
    value = (attributes.get("value") or 0.0) if given is None else np.asarray(given).reshape(())
    return [_cropped(np.pad(data, added, constant_values=cast("Any", value)), removed)]


def _cropped(data: AnyArray, removed: AnyArray) -> AnyArray:
    """Return the array without some elements at both ends of each axis."""
    ends = (slice(begin, max(size - end, 0)) for size, (begin, end) in zip(data.shape, removed, strict=True))
    return data[tuple(ends)]


def _operand(operands: Sequence[AnyArray | None], index: int) -> AnyArray | None:
    return operands[index] if index < len(operands) else None


def _integers(operand: AnyArray | None, default: object) -> list[int]:
    return list(cast("Sequence[int]", default)) if operand is None else operand.reshape(-1).tolist()
