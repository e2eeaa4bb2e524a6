"""
Whether a model keeps the rules of ONNX: everything that is wrong with it at once.

    for problem in check_model("model.onnx"):
        print(problem)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import onnx
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xonnc.contexts import new_context
from xonnc.dialects.onnx.locations import describe
from xonnc.errors import InvalidModelError, XonncError
from xonnc.formats.onnx.importer import import_loaded
from xonnc.formats.onnx.load import LoadedModel, load
from xonnc.transforms.shape_inference_onnx import require_valid


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a model."""

    node: str
    """The node by its name, or by what it makes; empty if it is about the whole model."""
    operator: str
    message: str
    """What is wrong, with the node's name in front."""

    def __str__(self) -> str:
        return self.message


def check_model(model: str | Path | onnx.ModelProto) -> list[Problem]:
    """
    What is wrong with the model in a file (`-`: standard input) or in memory; nothing for a valid one.

    Graphs, names and attributes that cannot be read end the search; operators that break their rules, and
    shapes that contradict each other, are all found. Raises `XonncError` for a file that is no model.
    """
    loaded = LoadedModel.of(model) if isinstance(model, onnx.ModelProto) else load(model)
    context = new_context()
    try:
        module: ModuleOp = import_loaded(loaded, context)
        require_valid(module)
    except InvalidModelError as error:
        return [_problem(reason, about) for reason, about in zip(error.reasons, error.subjects, strict=True)]
    except XonncError as error:
        return [_problem(str(error).removeprefix(f"{loaded.name}: "), error.about)]
    return []


def _problem(message: str, about: object) -> Problem:
    if not isinstance(about, Operation):
        return Problem("", "", message)
    return Problem(describe(about), about.name.removeprefix("onnx."), message)
