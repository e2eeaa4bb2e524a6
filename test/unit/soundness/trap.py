"""A trap: a model that some simplifier miscompiled, inputs that show it, and the expected result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper, parser

from xonnc.fuzzing.validity import invalidity

Array = npt.NDArray[Any]

PARSE: Callable[[str], onnx.ModelProto] = vars(parser)["parse_model"]
"""Looked up by name, because its type annotation is incomplete."""


def nothing_more(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """Check nothing besides the outputs."""


@dataclass(frozen=True)
class Trap:
    """A model that a simplifier miscompiled, or on which it crashed."""

    rows: tuple[str, ...]
    """Rows of the lists in `test_soundness.py` that it covers."""
    text: str
    """The model in ONNX text syntax; weights too large for it are in `weights`."""
    passes: tuple[str, ...]
    """The passes to run; `xonnc simplify` is run as well."""
    feeds: Mapping[str, Array] = field(default_factory=dict[str, Array])
    weights: Mapping[str, Array] = field(default_factory=dict[str, Array])
    edit: Callable[[onnx.ModelProto], None] | None = None
    """Edit of the model for what the text syntax cannot express."""
    outputs: Mapping[str, Array] | None = None
    """Expected outputs where neither onnxruntime nor the reference evaluator can compute them."""
    says: Callable[[onnx.ModelProto, onnx.ModelProto], None] = nothing_more
    """Additional assertions about the models before and after."""
    has_known_types: bool = True
    """False if the type inference of the onnx package fails on the model."""
    is_run: bool = True
    """False if the outputs are nondeterministic, or the model cannot be run."""

    def model(self) -> onnx.ModelProto:
        """Return the model; asserts that it is valid."""
        made = PARSE(self.text)
        made.graph.initializer.extend(
            numpy_helper.from_array(array, name) for name, array in self.weights.items()
        )
        if self.edit is not None:
            self.edit(made)
        assert not invalidity(made, self.has_known_types)
        return made


def operators(model: onnx.ModelProto) -> list[str]:
    """Return the operator types of the main graph, in order."""
    return [node.op_type for node in model.graph.node]


def floats(*numbers: float) -> Array:
    """Return a float32 vector."""
    return np.array(numbers, np.float32)


def grid(*shape: int) -> Array:
    """Return distinct float32 integers around zero, of both signs."""
    size = int(np.prod(shape))
    return (np.arange(size, dtype=np.float32) - size // 2).reshape(shape)
