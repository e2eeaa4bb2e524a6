"""Verification that ops of the krnl dialect share."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException


def require_pairs(op: Operation, names: Sequence[str]) -> None:
    """Raise VerifyException unless each of these properties holds two positive sizes."""
    for name in names:
        sizes = op.properties[name]
        values = sizes.get_values() if isinstance(sizes, DenseArrayBase) else ()
        if len(values) != 2 or min(values) < 1:
            raise VerifyException(f"{op.name}: {name} holds two sizes above 0, found {list(values)}")


def require_range(op: Operation, range_: Sequence[SSAValue]) -> None:
    """Raise VerifyException unless a range is absent or two indices."""
    if len(range_) not in (0, 2):
        raise VerifyException(f"{op.name}: a range is two indices, found {len(range_)}")
