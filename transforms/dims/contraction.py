"""Symbolic dimensions of RNNs, and equalities that they require."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import DimContext, Partly, sizes_of
from xonnc.transforms.dims.expressions import DimExpr


@sizes_of("GRU", "LSTM", "RNN")
def recurrence(ctx: DimContext) -> Sequence[Partly | None]:
    """
    Outputs of an RNN: [steps, directions, batch, hidden] and final states.

    All operands have the batch of the data, whose last axis is the input size of the weights.
    """
    data, inputs, weights = ctx.sizes(0), ctx.sizes(1), ctx.sizes(2)
    if data is None or len(data) != 3 or weights is None or len(weights) != 3:
        return []
    if inputs is not None and len(inputs) == 3:
        ctx.equal.append((data[2], inputs[2]))
    batch_first = bool(ctx.integer("layout"))
    steps, batch = (data[1], data[0]) if batch_first else (data[0], data[1])
    for index, axis in (4, 0), (5, 0 if batch_first else 1), (6, 0 if batch_first else 1):
        operand = ctx.sizes(index) if index < len(ctx.op.operands) else None
        if operand is not None and (index < 6 or ctx.name == "LSTM"):
            ctx.equal.append((operand[axis], batch))
    directions, hidden = weights[0], weights[2]
    return _recurrent(batch_first, steps, directions, batch, hidden)


def _recurrent(
    batch_first: bool, steps: DimExpr, directions: DimExpr, batch: DimExpr, hidden: DimExpr
) -> list[Partly]:
    if batch_first:
        return [(batch, steps, directions, hidden), *[(batch, directions, hidden)] * 2]
    return [(steps, directions, batch, hidden), *[(directions, batch, hidden)] * 2]
