"""The files that a new plug-in begins with."""

from __future__ import annotations

OPERATOR = '''"""Operators of {domain}. Check with: xonnc plugins check {file}"""

import numpy as np

from xonnc.plugin import Plugin, attribute, broadcast, one, operator, type_variables, variadic

plugin = Plugin("{name}", version="0.1")


@operator(plugin, domain="{domain}", name="AddN", since=1)
class AddN:
    """Sum of all operands, broadcast as NumPy does."""

    inputs = variadic("T", at_least=1)
    outputs = one("T")
    types = type_variables(T=[np.float32, np.float64])
    scale = attribute(float, default=1.0)

    # The type of each result; dimensions may be symbolic.
    def infer(op):
        return broadcast(*op.inputs)

    # What the operator means, with NumPy: for folding, verification and as a fallback.
    def reference(op, *arrays):
        return np.asarray(op.scale * sum(arrays), arrays[0].dtype)

    # The operator by ONNX operators: then every target has it.
    def decompose(op, b):
        return b.Mul(b.Add(*op.inputs), op.scale)
'''


def plugin_file(name: str, file: str, domain: str = "") -> str:
    """The text of a plug-in with one operator, which passes its checks."""
    return OPERATOR.format(name=name, domain=domain or f"com.{name}", file=file)
