"""Parse onnx-mlir's `--shapeInformation` and `--dimParams` (docs/internals/onnx-rules.md §8.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from xonnc.tools.usage import UsageError

if TYPE_CHECKING:
    from xonnc.tools.peer_settings import PeerSettings
    from xonnc.transforms.models.signatures import Signature

MAX_INPUT_RANGE = 1 << 16
"""A longer range of indices is taken for a typing error."""

_SHAPE = re.compile(r"(-1|\d+)(?:-(\d+))?:((?:-1|\d+)(?:x(?:-1|\d+))*)")
_NAMES = re.compile(r"(-?\d+):(.*)", re.DOTALL)
_NAME = re.compile(r"(\d+)[=:](\S.*)")


def signature_of(peer: PeerSettings) -> Signature | None:
    """Parse both options; `None` if both are absent, `UsageError` for invalid text."""
    shapes, names = peer.text("shapeInformation"), peer.text("dimParams")
    if shapes is None and names is None:
        return None
    from xonnc.transforms.models.signatures import Signature

    return Signature(read_shapes(shapes or ""), read_names(names or ""))


def read_shapes(text: str) -> Mapping[int, Sequence[int]]:
    """Parse `0:1x3x-1,1-2:5` to shapes by input index (-1: all inputs); the first entry of an index wins."""
    found: dict[int, Sequence[int]] = {}
    for item in filter(None, text.split(",")):
        match = _SHAPE.fullmatch(item)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if match is None or last < first or last - first >= MAX_INPUT_RANGE or (first < 0 and match[2]):
            raise UsageError(
                "option '--shapeInformation' takes input indices and shapes such as "
                f"0:1x3x-1,1-2:5x-1, found '{item}'"
            )
        sizes = [int(size) for size in match[3].split("x")]
        if any(size >= 1 << 63 for size in sizes):
            raise UsageError(f"option '--shapeInformation': '{item}' has a size beyond 64 bits")
        for index in range(first, last + 1):
            found.setdefault(index, sizes)
    return found


def read_names(text: str) -> Mapping[int, Mapping[int, str]]:
    """Parse `0:0=batch,1=seq|1:0=batch` to names by input index (-1: all inputs) and axis."""
    found: dict[int, Mapping[int, str]] = {}
    for item in filter(None, text.split("|")):
        match = _NAMES.fullmatch(item)
        if match is None:
            raise _no_names(item)
        found.setdefault(max(int(match[1]), -1), dict(_named(item, match[2])))
    return found


def _named(item: str, text: str) -> Iterator[tuple[int, str]]:
    for part in text.split(","):
        match = _NAME.fullmatch(part)
        if match is None:
            raise _no_names(item)
        yield int(match[1]), match[2]


def _no_names(item: str) -> UsageError:
    return UsageError(
        f"option '--dimParams' takes indices and names as 0:0=batch,1=seq|1:0=batch, found '{item}'"
    )
