"""Declared types of a model: trusted until they contradict the operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xonnc.errors import InvalidModelError
from xonnc.transforms.shapes.inference_context import ShapeError

Made = TypeVar("Made")


def with_claims(make: Callable[[bool], Made], strict: bool = False) -> Made:
    """
    Call `make(False)`; if declared shapes contradict the operators, call `make(True)`, which corrects them.

    As in onnxruntime, inferred shapes then win, with a warning. With `strict`, a contradiction is an error.
    """
    try:
        return make(False)
    except (InvalidModelError, ShapeError) as error:
        if strict:
            raise
        try:
            return make(True)
        except (InvalidModelError, ShapeError):
            # The model has other errors too: the first message lists them all.
            raise error from None
