"""Number of ops by name, in MLIR's formats."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation


def op_counts(root: Operation) -> Mapping[str, int]:
    """Count the ops in `root`, itself included, by name in alphabetical order."""
    counts = Counter(op.op_name.data if isinstance(op, UnregisteredOp) else op.name for op in root.walk())
    return dict(sorted(counts.items()))


def as_table(counts: Mapping[str, int]) -> str:
    """Format the counts as MLIR's `print-op-stats`: dialects right-aligned, names left-aligned."""
    names = [_split(name) for name in counts]
    dialects = max(len(dialect) for dialect, _ in names)
    longest = max(len(name) for _, name in names)
    rows = [
        f"{dialect:>{dialects + 2}}{'.' if dialect else ' '}{name:<{longest}} , {count}"
        for (dialect, name), count in zip(names, counts.values(), strict=True)
    ]
    return "\n".join(["Operations encountered:", "-----------------------", *rows])


def as_json(counts: Mapping[str, int]) -> str:
    """Format the counts as MLIR's `print-op-stats{json}`."""
    rows = [f"  {json.dumps(name)} : {count}" for name, count in counts.items()]
    return "\n".join(["{", ",\n".join(rows), "}"])


def _split(name: str) -> tuple[str, str]:
    dialect, dot, rest = name.partition(".")
    return (dialect, rest) if dot else ("", name)
