"""
The functions by which passes ask the onnx package, set from outside: `transforms` does not import it.

Operators without a function in xonnc are evaluated, and their results' types inferred, with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

if TYPE_CHECKING:
    from xonnc.transforms.evaluation import Program
    from xonnc.transforms.shapes.inference_context import Integers

Evaluator: TypeAlias = "Callable[[ModuleOp], Program]"
"""Makes a program of a module with one function; may raise `XonncError`."""

Inference: TypeAlias = "Callable[[Operation, Integers], Sequence[Attribute | None]]"
"""Types for the results of an op; `None` where nothing follows."""

_evaluator: list[Evaluator] = []
_inference: list[Inference] = []


def use_evaluator(evaluator: Evaluator) -> None:
    """Set the function that evaluates operators without a numpy function of ours."""
    _evaluator[:] = [evaluator]


def use_inference(inference: Inference) -> None:
    """Set the function that infers results of operators without a shape function of ours."""
    _inference[:] = [inference]


def evaluator() -> Evaluator | None:
    """The evaluator that was set, if any."""
    return _evaluator[0] if _evaluator else None


def inference() -> Inference | None:
    """The inference that was set, if any."""
    return _inference[0] if _inference else None
