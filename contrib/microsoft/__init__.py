"""
Operators of com.microsoft: those that onnxruntime's quantizers, graph fusions and transformer tools write.

The plug-in is loaded when a model has an operator of the domain (`xonnc.plugins.bundled`).
"""

from xonnc.contrib.microsoft import activations, matmul, quantized, weights
from xonnc.contrib.microsoft.common import plugin

__all__ = ["activations", "matmul", "plugin", "quantized", "weights"]
