"""Generated inputs that a model accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from xonnc.contexts import new_context
from xonnc.errors import XonncError
from xonnc.runtime.native.session import Session
from xonnc.runtime.reference import ModelParameter
from xonnc.runtime.verification.trial_inputs import Feeds, input_constraints, trial_feeds


def accepted_feeds(
    session: Session, path: Path, input_shapes: Mapping[str, Sequence[int]] | None = None
) -> Feeds:
    """
    Run a session on generated inputs, and return the first that it accepts.

    `path` is its model, which limits sizes and elements; `input_shapes` are sizes of dynamic inputs. Raises
    `XonncError` if there are none.
    """
    constraints = input_constraints(path, new_context())
    for feeds in trial_feeds(_ports(session, input_shapes or {}), 0, rules=constraints):
        try:
            session.run(None, feeds)
        except XonncError:
            continue
        return feeds
    raise XonncError(f"{path}: no generated inputs are accepted; give the sizes with --input-shape")


def _ports(session: Session, input_shapes: Mapping[str, Sequence[int]]) -> list[ModelParameter]:
    found: list[ModelParameter] = []
    for spec in session.inputs:
        if spec.dtype is None or spec.shape is None:
            raise XonncError(f"input '{spec.name}': generated inputs need a tensor of known rank")
        found.append(ModelParameter(spec.name, tuple(input_shapes.get(spec.name, spec.shape)), spec.dtype))
    return found
