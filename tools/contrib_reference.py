"""The page of the bundled plug-ins' operators, written from their declarations."""

from __future__ import annotations

from xonnc.plugins import bundled
from xonnc.plugins.operators import OperatorSpec

HEAD = """# Operators of com.microsoft

onnxruntime's quantizers, graph fusions and transformer tools write operators of the domain `com.microsoft`.
A bundled plug-in, `xonnc.contrib.microsoft`, has the {count} operators below. It is loaded when a model
has an operator of the domain; no flag is needed. Other operators of the domain are kept as they are.

*Shapes*: result types are inferred, with symbolic dimensions. *Fold*: operators of constants are computed at
compile time. *Native*: the operator is decomposed into ONNX operators, which native code runs.
`xonnc plugins check microsoft` checks each against its NumPy reference.

| Operator | Shapes | Fold | Native | Computes |
|---|---|---|---|---|
"""


def contrib_page() -> str:
    """The generated page."""
    specs = sorted(
        (spec for name in bundled.BUNDLED for spec in bundled.load(name).operators),
        key=lambda spec: spec.name,
    )
    return HEAD.format(count=len(specs)) + "".join(map(_row, specs))


def _row(spec: OperatorSpec) -> str:
    bodies = ("infer", "reference", "decompose")
    cells = " | ".join("yes" if spec.function(body) is not None else "no" for body in bodies)
    summary = spec.doc.partition("\n")[0]
    return f"| {spec.name} | {cells} | {summary} |\n"
