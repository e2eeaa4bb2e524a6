"""
Stands in for the package onnxsim: `simplify` with its parameters, its command line, `model_checking.compare`
and `model_info.print_simplifying_info`. Its quantizers, pruners and exporters are not here.

    from xonnc.compat.onnxsim import simplify

    simplified, is_same = simplify("model.onnx", check_n=3)
"""

from __future__ import annotations

from xonnc.compat.onnxsim import model_checking, model_info
from xonnc.compat.onnxsim.command_line import main
from xonnc.compat.onnxsim.simplify import simplify

__all__ = ["main", "model_checking", "model_info", "simplify"]
