"""
Operators of com.microsoft: those that onnxruntime's quantizers, graph fusions and transformer tools write.

The plug-in is loaded when a model has an operator of the domain (`xonnc.plugins.bundled`).
"""

from xonnc.contrib.microsoft import activations, attention, matmul, normalization, quantized, weights
from xonnc.contrib.microsoft.common import plugin

__all__ = ["activations", "attention", "matmul", "normalization", "plugin", "quantized", "weights"]
