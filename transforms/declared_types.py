"""What models declare of their values: believed until it contradicts the operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xonnc.errors import InvalidModelError
from xonnc.transforms.shapes.inference_context import ShapeError

Made = TypeVar("Made")


def with_claims(make: Callable[[bool], Made], strict: bool = False) -> Made:
    """
    What `make` makes of a model, told whether to correct declared shapes that contradict the operators.

    Only if it fails without is it tried so: then the operators count, with a warning, as in onnxruntime. With
    `strict`, the contradiction is an error.
    """
    try:
        return make(False)
    except (InvalidModelError, ShapeError) as error:
        if strict:
            raise
        try:
            return make(True)
        except (InvalidModelError, ShapeError):
            # Not about what was declared alone: the first message has all of it.
            raise error from None
