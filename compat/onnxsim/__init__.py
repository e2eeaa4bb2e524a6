"""
Stands in for the package onnxsim: `simplify` with its parameters, and its command line.

    from xonnc.compat.onnxsim import simplify

    simplified, is_same = simplify("model.onnx", check_n=3)
"""

from __future__ import annotations

from xonnc.compat.onnxsim.command_line import main
from xonnc.compat.onnxsim.simplify import simplify

__all__ = ["main", "simplify"]
