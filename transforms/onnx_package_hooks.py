"""
Hooks for the onnx package, which `transforms` does not import.

Operators without a function in xonnc are evaluated and inferred by the onnx package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

if TYPE_CHECKING:
    from xonnc.transforms.constant_evaluation import Program
    from xonnc.transforms.shapes.inference_context import Integers

Evaluator: TypeAlias = "Callable[[ModuleOp], Program]"
"""Build the program of a module with one function; may raise `XonncError`."""

Inference: TypeAlias = "Callable[[Operation, Integers], Sequence[Attribute | None]]"
"""Infer the result types of an op; `None` where unknown."""

_evaluator: list[Evaluator] = []
_inference: list[Inference] = []


def use_evaluator(evaluator: Evaluator) -> None:
    """Set the evaluator of operators without a NumPy function."""
    _evaluator[:] = [evaluator]


def use_inference(inference: Inference) -> None:
    """Set the inference of operators without a shape function."""
    _inference[:] = [inference]


def evaluator() -> Evaluator | None:
    """Return the evaluator, or `None`."""
    return _evaluator[0] if _evaluator else None


def inference() -> Inference | None:
    """Return the inference, or `None`."""
    return _inference[0] if _inference else None
