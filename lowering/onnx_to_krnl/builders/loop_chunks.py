"""Split a loop in chunks: the innermost loop is vectorized, so only a loop around it can be parallel."""

from __future__ import annotations

MIN_CHUNK = 16
"""Elements of a chunk at least: a full vector of most types and processors."""


def split_into_chunks(size: int, most: int) -> tuple[int, int]:
    """Split a loop into (chunks, elements per chunk); one chunk if no divisor fits."""
    widths = [width for width in range(MIN_CHUNK, min(size, most) + 1) if size % width == 0]
    width = max([width for width in widths if width % MIN_CHUNK == 0] or widths or [size])
    return (size // width, width) if size else (1, size)
