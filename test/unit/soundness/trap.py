"""What a trap is: a model that others made wrong, the inputs that show it, and what must come out."""

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
"""By name, because its type is only known in part."""


def nothing_more(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """The outputs say it all."""


@dataclass(frozen=True)
class Trap:
    """A model on which a simplifier was wrong, or failed."""

    rows: tuple[str, ...]
    """Which points of the lists in `test_soundness.py` it stands for."""
    text: str
    """The model in ONNX's text form; weights too long for it stand in `weights`."""
    passes: tuple[str, ...]
    """The passes in question; `xonnc simplify` is tried besides."""
    feeds: Mapping[str, Array] = field(default_factory=dict[str, Array])
    weights: Mapping[str, Array] = field(default_factory=dict[str, Array])
    edit: Callable[[onnx.ModelProto], None] | None = None
    """Puts into the model what the text form has no words for."""
    outputs: Mapping[str, Array] | None = None
    """What must come out where neither onnxruntime nor the reference can be asked."""
    says: Callable[[onnx.ModelProto, onnx.ModelProto], None] = nothing_more
    """What must hold of the models before and after besides."""
    has_known_types: bool = True
    """False where the type inference of the onnx package itself fails."""
    is_run: bool = True
    """False for what gives no equal outputs twice, or none at all."""

    def model(self) -> onnx.ModelProto:
        """The model, which is valid."""
        made = PARSE(self.text)
        made.graph.initializer.extend(
            numpy_helper.from_array(array, name) for name, array in self.weights.items()
        )
        if self.edit is not None:
            self.edit(made)
        assert not invalidity(made, self.has_known_types)
        return made


def operators(model: onnx.ModelProto) -> list[str]:
    """The operators of the main graph, in order."""
    return [node.op_type for node in model.graph.node]


def floats(*numbers: float) -> Array:
    """A vector."""
    return np.array(numbers, np.float32)


def grid(*shape: int) -> Array:
    """Numbers of both signs and zero, none twice."""
    size = int(np.prod(shape))
    return (np.arange(size, dtype=np.float32) - size // 2).reshape(shape)
