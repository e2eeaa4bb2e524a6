"""Differential test of a model before and after simplification: outputs, validity and interface must stay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from xonnc.errors import XonncError
from xonnc.fuzzing.levels import LEVELS, WHOLE, OpsetError
from xonnc.fuzzing.random_models import Array, Feeds
from xonnc.fuzzing.validity import invalidity
from xonnc.runtime.verification.reference_engines import Engine, Outputs, UnreliableReferenceError, engine_for
from xonnc.runtime.verification.tolerance import disagreement, perturbed_feeds, perturbed_model

CRASHES, REFUSES, INVALID, INTERFACE, DOES_NOT_RUN, DIFFERS = (
    "crashes",
    "refuses",
    "makes it invalid",
    "changes its interface",
    "makes it not run",
    "changes its outputs",
)
"""Kinds of failures."""


PERTURBED_RUNS = 8
"""
Runs on perturbed inputs, without and with perturbed constants.

Each misses an element that one direction of the perturbation rounds to another integer with probability 1/2.
"""

NO_KERNEL = "NOT_IMPLEMENTED"
"""Error code of onnxruntime for an operator without a kernel for a type."""


SHAPE_ERRORS = re.compile(
    r"do not broadcast|incompatible (?:scale |bias )?shapes|wrong shape|Wrong rank|conflicting dim sizes"
    r"|the model says|is declared|but the original gives|is needed|adds up to|elements (?:for|along axis)"
    r"|does not (?:split into|reshape to)|are not all of length one|must be (?:the same|equal)"
    r"|different than|should (?:match the size|have same dimension)|value should be (?:<= |>= )?\d"
    r"|was fed, the other sizes say"
)
"""Errors of operands whose sizes do not fit each other."""


@dataclass(frozen=True)
class LevelFailure:
    """A failure of a level of simplification."""

    level: str
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.level} {self.kind}: {self.detail}"


class Original:
    """The original model, and its outputs for the inputs that it accepts."""

    def __init__(self, model: onnx.ModelProto, feeds: Sequence[Feeds]):
        """Raise `XonncError` if no engine runs the model on any of the inputs."""
        self.model = model
        self.engine = engine_for(model)
        self.runs: list[tuple[Feeds, Outputs]] = []
        reasons: list[XonncError] = []
        for one in feeds:
            try:
                self.runs.append((one, self.engine.run(one)))
            except XonncError as error:
                reasons.append(error)
        if not self.runs:
            raise reasons[0] if reasons else XonncError("no inputs to run the model on")

    def by_reference(self, feeds: Feeds) -> Outputs | None:
        """Outputs of the reference evaluator; `None` if it is the engine, or fails."""
        if self.engine.by_reference:
            return None
        try:
            return Engine(self.model, by_reference=True).run(feeds)
        except XonncError:
            return None

    def perturbed(self, feeds: Feeds) -> list[Outputs]:
        """Outputs for perturbed inputs, without and with perturbed constants."""
        generator = np.random.default_rng(0)
        found: list[Outputs] = []
        for _ in range(PERTURBED_RUNS):
            for model in (self.model, perturbed_model(self.model, generator)):
                try:
                    engine = Engine(model, self.engine.by_reference)
                    found.append(engine.run(perturbed_feeds(feeds, generator)))
                except XonncError:
                    # A perturbed value may be invalid, e.g. a divisor: skip the run.
                    continue
        return found


def contradicts(original: Original, feeds: Feeds, error: str) -> bool:
    """
    Whether inputs contradict shapes on which the model relies.

    Models are built for the shapes of the first inputs, and their subgraphs declare shapes from these. xonnc
    trusts declarations; onnxruntime checks them at run time, if the subgraph runs. For a loop without
    iterations, onnxruntime returns the declared shape and native code the one that follows from the inputs.
    The reference evaluator checks no shapes of operands, not even those of the weights of an LSTM.
    """
    drafted = original.runs[0][0]
    is_other = any(array.shape != drafted[name].shape for name, array in feeds.items())
    has_bodies = any(
        attribute.HasField("g") for node in original.model.graph.node for attribute in node.attribute
    )
    return (
        is_other and (has_bodies or original.engine.by_reference) and SHAPE_ERRORS.search(error) is not None
    )


def failure_at(original: Original, level: str) -> LevelFailure | None:
    """The failure of a level on the model, or `None`."""
    try:
        made = LEVELS[level](original.model)
    except OpsetError:
        return None
    except XonncError as error:
        return LevelFailure(level, REFUSES, str(error))
    except Exception as error:  # Any other exception is a crash, which the fuzzer looks for.
        return LevelFailure(level, CRASHES, f"{type(error).__name__}: {error}")
    invalid = invalidity(made, with_shapes=level == WHOLE)
    if invalid:
        return LevelFailure(level, INVALID, invalid)
    changed = _interface_change(original, made)
    if changed:
        return LevelFailure(level, INTERFACE, changed)
    return _difference(original, made, level)


def _difference(original: Original, made: onnx.ModelProto, level: str) -> LevelFailure | None:
    try:
        engine = Engine(made, original.engine.by_reference)
    except UnreliableReferenceError:
        return None
    except XonncError as error:
        if level != WHOLE and NO_KERNEL in str(error):
            # A single pass may emit any operator of the opset; only `xonnc simplify` must stay runnable.
            return None
        return LevelFailure(level, DOES_NOT_RUN, str(error))
    for feeds, expected in original.runs:
        try:
            found = engine.run(feeds)
        except XonncError as error:
            return LevelFailure(level, DOES_NOT_RUN, str(error))
        wrong = disagreement(expected, found, lambda feeds=feeds: original.perturbed(feeds))
        if (
            wrong
            and not contradicts(original, feeds, wrong)
            and not _same_by_reference(original, made, feeds)
        ):
            return LevelFailure(level, DIFFERS, wrong)
    return None


def _same_by_reference(original: Original, made: onnx.ModelProto, feeds: Feeds) -> bool:
    """
    Whether the reference evaluator, unlike onnxruntime, finds no difference.

    Kernels of onnxruntime for the same function differ where intermediate values overflow, or in the sign of
    0.
    """
    expected = original.by_reference(feeds)
    if expected is None:
        return False
    try:
        found = Engine(made, by_reference=True).run(feeds)
    except XonncError:
        return False
    return not disagreement(expected, found, lambda: original.perturbed(feeds))


def _interface_change(original: Original, after: onnx.ModelProto) -> str:
    """
    The first input or output with another name, type or static dimension; empty if there is none.

    Outputs that the original gives in another rank than it declares may be declared anew.
    """
    before, given = original.model, original.runs[0][1]
    made = {one.domain: one.version for one in after.opset_import}
    for one in before.opset_import:
        if made.get(one.domain, one.version) != one.version:
            return f"opset {made[one.domain]}, not {one.version}, of domain '{one.domain}'"
    for what, old, new in (
        ("input", _ports(before, True), _ports(after, True)),
        ("output", _ports(before, False), _ports(after, False)),
    ):
        if [one.name for one in old] != [one.name for one in new]:
            return f"{what}s {', '.join(one.name for one in new)}, not {', '.join(one.name for one in old)}"
        for a, b in zip(old, new, strict=True):
            if what == "output" and _contradicts_rank(a.type, given[a.name]):
                continue
            if not _compatible(a.type, b.type):
                return f"{what} {a.name}: {_spelled(b.type)}, not {_spelled(a.type)}"
    return ""


def _ports(model: onnx.ModelProto, inputs: bool) -> list[onnx.ValueInfoProto]:
    if not inputs:
        return list(model.graph.output)
    constants = {tensor.name for tensor in model.graph.initializer}
    return [one for one in model.graph.input if one.name not in constants]


def _contradicts_rank(declared: onnx.TypeProto, array: Array) -> bool:
    shape = declared.tensor_type.shape
    return declared.tensor_type.HasField("shape") and len(shape.dim) != array.ndim


def _compatible(a: onnx.TypeProto, b: onnx.TypeProto) -> bool:
    if a.WhichOneof("value") != b.WhichOneof("value") or a.tensor_type.elem_type != b.tensor_type.elem_type:
        return False
    old, new = a.tensor_type.shape.dim, b.tensor_type.shape.dim
    return len(old) == len(new) and all(
        x.dim_value == y.dim_value
        for x, y in zip(old, new, strict=True)
        if x.HasField("dim_value") and y.HasField("dim_value")
    )


def _spelled(one: onnx.TypeProto) -> str:
    return " ".join(str(one).split())
