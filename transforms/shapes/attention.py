"""Shapes of attention."""

from __future__ import annotations

from xonnc.transforms.shapes.inference_context import Site, Types, infers


@infers("FlexAttention")
def flex_attention(site: Site) -> Types:
    """Batch, heads and rows of the queries; columns of the values."""
    queries, values = site.shape(0), site.shape(2)
    if queries is None or values is None or len(queries) != 4 or len(values) != 4:
        return [None]
    return site.ranked((*queries[:3], values[3]))
