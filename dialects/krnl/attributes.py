"""Attributes that the conversion to krnl leaves on ops of other dialects."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

NO_KERNEL = "krnl.no_kernel"
"""Why an op was not converted: it runs on the host, one call a run."""


def set_no_kernel(op: Operation, reason: str) -> None:
    """Says why an op was not converted."""
    op.attributes[NO_KERNEL] = StringAttr(reason)


def no_kernel(op: Operation) -> str:
    """Why an op was not converted; empty for others."""
    reason = op.attributes.get(NO_KERNEL)
    return reason.data if isinstance(reason, StringAttr) else ""


def without_kernel(root: Operation) -> Iterator[Operation]:
    """The ops within `root`, itself included, that were not converted."""
    return (op for op in root.walk() if NO_KERNEL in op.attributes)
