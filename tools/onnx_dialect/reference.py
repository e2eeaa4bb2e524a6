"""The page of `docs` that lists the ops."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops import builtin, extra
from xonnc.tools.onnx_dialect.versions import OpClass

_HEAD = """# Operators

<!-- Written by `python -m xonnc.tools.onnx_dialect`. -->

Every operator of ONNX {opset} as an op of the `onnx` dialect. A name without suffix is the newest version
of an operator; a suffix such as `V13` marks an older one with another meaning. One op covers all listed
versions: they differ only in added types, or in attributes whose default is the older behaviour.
"""


def page(classes: Sequence[OpClass]) -> str:
    """A table for each domain."""
    opset = max(version for item in classes if not item.operator.domain for version in item.versions)
    lines = [_HEAD.format(opset=opset)]
    for domain in sorted({item.operator.domain for item in classes}):
        lines += [f"## {domain or 'ai.onnx'}", "", "| op | versions | opsets |", "|---|---|---|"]
        members = [item for item in classes if item.operator.domain == domain]
        lines += [_row(item) for item in members]
        lines.append("")
    lines += ["## Ops that ONNX does not have", "", "| op | what it is |", "|---|---|"]
    own = sorted(builtin.OPS + extra.OPS, key=lambda op: op.name)
    lines += [f"| `{op.name}` | {_summary(op)} |" for op in own]
    return "\n".join(lines) + "\n"


def _summary(op: type[OnnxOp]) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((op.__doc__ or "").strip().split("\n\n")[0].split())


def _row(item: OpClass) -> str:
    if item.until is None:
        opsets = f"{item.since} on{', deprecated' if item.operator.is_deprecated else ''}"
    else:
        opsets = f"{item.since} to {item.until - 1}" if item.until > item.since + 1 else str(item.since)
    return f"| `onnx.{item.name}` | {', '.join(map(str, item.versions))} | {opsets} |"
