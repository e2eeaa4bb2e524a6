"""
Verify that two forms of a model compute the same.

    result = xonnc.verify("model.onnx", "model.so", profiles=("normal", "negative", "nan-inf"))
    assert result.passed
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import onnx

from xonnc.contexts import new_context
from xonnc.errors import XonncError, suggest
from xonnc.formats.onnx.importer import import_loaded
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.formats.onnx.loaded_export import load_proto
from xonnc.runtime.verification.comparison import (
    DEFAULT_TOLERANCE,
    MAX_TOLERANCE,
    Tolerance,
    ValueComparison,
    compare_values,
    like_expected,
)
from xonnc.runtime.verification.narrowest_float import narrowest_float
from xonnc.runtime.verification.parameters import read_data_sets, required_inputs
from xonnc.runtime.verification.tolerance import (
    PERTURBATIONS,
    SENSITIVITY_FACTOR,
    perturbed_feeds,
    perturbed_model,
)
from xonnc.runtime.verification.trial_inputs import (
    PROFILES,
    UNCONSTRAINED,
    Feeds,
    InputConstraints,
    Profile,
    constraints_of,
    trial_feeds,
)
from xonnc.transforms.optimization_levels import LEVELS
from xonnc.verification_models import (
    FP16_COSINE,
    MAX_FP16,
    MODEL_SUFFIXES,
    VerifiedModel,
    has_onnxruntime,
    open_model,
    open_proto,
)

DEFAULT_PROFILES: tuple[Profile, ...] = ("normal", "negative", "zeros", "wide")


@dataclass(frozen=True)
class OutputComparison:
    """The comparison of a value of one model with that of the other for one input."""

    output: str
    inputs: str
    """The profile of the inputs, or the data set, with its number."""
    comparison: ValueComparison
    min_cosine: float | None = None
    """The least cosine similarity, if the output is judged by it instead of by its largest error."""

    @property
    def passed(self) -> bool:
        """Whether they agree."""
        if self.min_cosine is None:
            return self.comparison.passed
        return not self.comparison.mismatch and self.comparison.cosine >= self.min_cosine


@dataclass(frozen=True)
class Overflow:
    """A value of the float model that FP16 hardware clamped."""

    value: str
    largest: float
    """Its largest magnitude."""


@dataclass(frozen=True)
class Verification:
    """Comparison of two models over all inputs."""

    first: str
    second: str
    outputs: Sequence[OutputComparison]
    """One for each output and input."""
    skipped: Mapping[str, str] = field(default_factory=dict[str, str])
    """Inputs that the first model does not take, with the reason."""
    failing: Mapping[str, Feeds] = field(default_factory=dict[str, Feeds])
    """The inputs for which an output differs, by their name in `outputs`."""
    overflows: Mapping[str, Overflow] = field(default_factory=dict[str, "Overflow"])
    """The values out of float16's range that made outputs differ, by the inputs."""

    @property
    def passed(self) -> bool:
        """Whether all outputs agree on all inputs, of which there is at least one."""
        return bool(self.outputs) and all(one.passed for one in self.outputs)

    def worst(self) -> dict[str, OutputComparison]:
        """Return the worst comparison of each output."""
        found: dict[str, OutputComparison] = {}
        for one in self.outputs:
            known = found.get(one.output)
            if known is None or _badness(one) > _badness(known):
                found[one.output] = one
        return found


def _badness(one: OutputComparison) -> tuple[bool, bool, float]:
    made = one.comparison
    excess = 1 - made.cosine if one.min_cosine is not None else made.relative_error / (made.allowed or 1.0)
    return not one.passed, bool(made.mismatch), excess


@dataclass(frozen=True)
class InputChoice:
    """The inputs that models are compared on."""

    profiles: Sequence[Profile] = DEFAULT_PROFILES
    count: int = 1
    """The number of inputs of each profile."""
    seed: int = 0
    folder: Path | None = None
    """Data sets in files; they replace profiles."""

    def __post_init__(self) -> None:
        """Raise `XonncError` for an unknown profile or a count below 1."""
        for profile in self.profiles:
            if profile not in PROFILES:
                hint = suggest(profile, PROFILES) or f"; there are {', '.join(PROFILES)}"
                raise XonncError(f"no profile '{profile}'{hint}")
        if self.count < 1:
            raise XonncError(f"count {self.count}: at least one input of each profile is needed")


def verify(
    model: str | Path | onnx.ModelProto,
    other: str | Path | onnx.ModelProto | None = None,
    *,
    engine: str | None = None,
    other_engine: str | None = None,
    profiles: Sequence[Profile] = DEFAULT_PROFILES,
    count: int = 1,
    seed: int = 0,
    inputs: str | Path | None = None,
    tolerance: Tolerance = DEFAULT_TOLERANCE,
    min_cosine: float | None = None,
    target: str | None = None,
) -> Verification:
    """
    Compare two forms of a model on generated inputs, or on those in a folder.

    Integers, booleans and strings must be equal. Floats may differ by the tolerance, or by more if as small a
    change of the inputs changes them as much. NaN equals NaN. What NVDLA computes is judged by its cosine
    similarity, at least 0.999.

    Parameters:
        model: a model, IR of any stage but `llvm`, native code (`.so`, `.c`, a folder of a saved session), a
            package or a loadable.
        other: the other one (default: native code of `model`).
        engine: what runs `model` if it is an ONNX model: one of `xonnc.verification_models.ENGINES`
            (default: onnxruntime if installed, else the reference evaluator).
        other_engine: the same for `other`.
        profiles: distributions of the elements of inputs: `xonnc.runtime.verification.trial_inputs.PROFILES`.
        count: the number of inputs of each profile.
        seed: the seed of the inputs.
        inputs: a folder of `.npy` or `.pb` files, or of such folders; it replaces profiles.
        tolerance: the largest difference of floats.
        min_cosine: judge floats by their cosine similarity instead.
        target: the NVDLA configuration, or the processor, of compiled models.

    Returns: the comparison of each output for each input.

    Raises: `XonncError` if a file cannot be run, or the models have other inputs or outputs.

    Example:
        >>> xonnc.verify("model.onnx", "model.so").passed
        True
    """
    choice = InputChoice(profiles, count, seed, None if inputs is None else Path(inputs))
    first = _opened(model, engine, target)
    if other is None:
        second = _opened(model, other_engine or "native", target)
    else:
        second = _opened(other, other_engine, target)
    return compare_opened(first, second, choice, tolerance, min_cosine)


def _opened(model: str | Path | onnx.ModelProto, engine: str | None, target: str | None) -> VerifiedModel:
    if isinstance(model, onnx.ModelProto):
        return open_proto(model, engine, target=target)
    return open_model(model, engine, target=target)


def compare_opened(
    first: VerifiedModel,
    second: VerifiedModel,
    choice: InputChoice,
    tolerance: Tolerance = DEFAULT_TOLERANCE,
    min_cosine: float | None = None,
) -> Verification:
    """
    Compare two opened models, output by output.

    Parameters: the models `first` and `second`, their inputs `choice`; `tolerance` and `min_cosine` as in
        `verify`.

    Returns: the comparison of each output for each input.

    Raises: `XonncError` if they have other outputs, or the second one does not take inputs that the first one
        takes.
    """
    if list(first.outputs) != list(second.outputs):
        raise XonncError(
            f"{second.name}: outputs {', '.join(second.outputs)}, but {first.name} has "
            f"{', '.join(first.outputs)}"
        )
    if min_cosine is None and (first.is_approximate or second.is_approximate):
        min_cosine = FP16_COSINE
    tolerance = replace(tolerance, narrowest=narrowest_float([first.proto, second.proto]))
    found: list[OutputComparison] = []
    skipped: dict[str, str] = {}
    failing: dict[str, Feeds] = {}
    overflows: dict[str, Overflow] = {}
    for name, candidates in input_sets(first, second, choice):
        try:
            feeds, expected = _first_accepted(first, candidates)
        except XonncError as error:
            skipped[name] = str(error)
            continue
        results = second.run(feeds)
        sensitivity = partial(_sensitivity, first, feeds, expected)
        for index, (output, a, b) in enumerate(zip(first.outputs, expected, results, strict=True)):
            made = compare_values(a, like_expected(a, b) if second.is_approximate else b, tolerance)
            one = OutputComparison(output, name, made, min_cosine)
            if not one.passed and not made.mismatch and min_cosine is None:
                one = OutputComparison(output, name, made.allowing(sensitivity()[index]))
            found.append(one)
            if not one.passed:
                failing[name] = feeds
        clamped = first.was_clamped() or second.was_clamped()
        if name in failing and clamped and (overflow := _overflow(first.proto or second.proto, feeds)):
            overflows[name] = overflow
    return Verification(first.name, second.name, found, skipped, failing, overflows)


def _overflow(model: onnx.ModelProto | None, feeds: Feeds) -> Overflow | None:
    """
    Return the first value of a model beyond float16's range; `None` if there is none or it cannot be run.

    Results of hardware may be clamped where the model has no larger value: masks of softmax are as low as
    float16 goes.
    """
    if model is None:
        return None
    names = value_names(model)
    try:
        values = open_proto(with_outputs(model, names)).run(feeds)
    except XonncError:
        return None
    for name, value in (*feeds.items(), *zip(names, values, strict=True)):
        array = np.asarray(value)
        if array.dtype.kind != "f":
            continue
        largest = float(np.max(np.abs(array), where=~np.isnan(array), initial=0.0))
        if largest > MAX_FP16:
            return Overflow(name, largest)
    return None


def _first_accepted(model: VerifiedModel, candidates: Iterator[Feeds]) -> tuple[Feeds, Sequence[object]]:
    """Return the first inputs that a model takes, and its outputs."""
    reason = XonncError("no inputs")
    for feeds in candidates:
        try:
            return feeds, model.run(feeds)
        except XonncError as error:
            reason = error
    raise reason


def _sensitivity(model: VerifiedModel, feeds: Feeds, expected: Sequence[object]) -> list[float]:
    """
    The relative error that rounding may cause: a multiple of what inputs and constants perturbed by a few
    epsilons cause, at most `MAX_TOLERANCE`.
    """
    found = [0.0] * len(expected)
    if model.proto is None:
        return found
    generator = np.random.default_rng(0)
    for _ in range(PERTURBATIONS):
        proto = perturbed_model(model.proto, generator)
        try:
            outputs = open_proto(proto).run(perturbed_feeds(feeds, generator))
        except XonncError:
            # A perturbed value may be invalid, e.g. a divisor.
            continue
        for index, (a, b) in enumerate(zip(expected, outputs, strict=True)):
            made = compare_values(a, b)
            found[index] = max(found[index], min(SENSITIVITY_FACTOR * made.relative_error, MAX_TOLERANCE))
    return found


def input_sets(
    first: VerifiedModel, second: VerifiedModel, choice: InputChoice
) -> Iterator[tuple[str, Iterator[Feeds]]]:
    """
    Yield the name of each input set, and candidates for it, of which the first one accepted is to be used.

    Parameters: `first` and `second`, one of which must be an ONNX model unless inputs are in a folder, and
        the `choice`.

    Raises: `XonncError` if inputs cannot be generated.
    """
    proto = first.proto or second.proto
    if choice.folder is not None:
        names = [] if proto is None else [port.name for port in required_inputs(proto)]
        for index, feeds in enumerate(read_data_sets(choice.folder, names)):
            yield f"{choice.folder.name} {index}", iter((feeds,))
        return
    if proto is None:
        raise XonncError(
            f"{first.name}, {second.name}: neither is an ONNX model, so inputs cannot be generated; compare "
            "each with its model"
        )
    ports, rules = required_inputs(proto), _constraints(proto)
    for profile in choice.profiles:
        for index in range(choice.count):
            yield f"{profile} {index}", trial_feeds(ports, index, choice.seed, rules, profile)


def _constraints(model: onnx.ModelProto) -> InputConstraints:
    """Return what a model asks of its inputs, such as indices in range."""
    try:
        return constraints_of(import_loaded(LoadedModel.of(model), new_context(), True))
    except XonncError:
        return UNCONSTRAINED


def engines_of_matrix() -> list[str]:
    """
    Return the engines that `verify_matrix` compares: native code at each level, simplified, onnxruntime.

    Returns: their names.
    """
    found = [f"O{level}" for level in LEVELS] + ["simplified", "reference"]
    return [*found, "onnxruntime-optimized"] if has_onnxruntime() else found


def verify_matrix(
    model: str | Path,
    choice: InputChoice,
    tolerance: Tolerance = DEFAULT_TOLERANCE,
    step: Callable[[str], None] = lambda name: None,
) -> dict[str, Verification | str]:
    """
    Compare a model with itself in every engine.

    Parameters:
        model: the path of the ONNX model.
        choice: the inputs.
        tolerance: the largest difference of floats.
        step: called with the name of each engine before it runs.

    Returns: the comparison by engine, or the reason why the engine does not run the model.
    """
    proto, name = load_proto(model), Path(model).name
    first = open_proto(proto, None, name)
    found: dict[str, Verification | str] = {}
    for engine in engines_of_matrix():
        step(engine)
        try:
            second = open_proto(proto, engine, name)
            found[engine] = compare_opened(first, second, choice, tolerance)
        except XonncError as error:
            found[engine] = str(error)
    return found


def verify_layers(
    model: str | Path,
    other: str | Path | None,
    choice: InputChoice,
    tolerance: Tolerance = DEFAULT_TOLERANCE,
    other_engine: str | None = None,
) -> Verification:
    """
    Compare intermediate values, in the order of computation; values that only one model has are left out.

    All values become outputs of both models, so that native code computes each, without fusing over it.

    Parameters: `model`, `tolerance` and `other_engine` as in `verify`; `choice` of inputs; `other` is an ONNX
        model, or `None` for `other_engine` on `model`.

    Returns: the comparison of each value for each input.

    Raises: `XonncError` for a form that has no intermediate values.
    """
    first_proto = load_proto(model)
    if other is None and other_engine == "simplified":
        from xonnc.simplifier import simplify

        second_proto, engine = simplify(first_proto).proto(), None
    elif other is None:
        second_proto, engine = first_proto, other_engine or "native"
    elif Path(other).suffix.lower() in MODEL_SUFFIXES:
        second_proto, engine = load_proto(other), other_engine
    else:
        raise XonncError(f"{other}: has no intermediate values to compare; give the ONNX model alone")
    second_names = value_names(second_proto)
    names = [name for name in value_names(first_proto) if name in second_names]
    first = open_proto(with_outputs(first_proto, names), None, Path(model).name)
    label = Path(other or model).name
    second = open_proto(with_outputs(second_proto, names), engine, label)
    return compare_opened(first, second, choice, tolerance)


def value_names(model: onnx.ModelProto) -> list[str]:
    """
    Return the names of all values that nodes of the graph compute, in order.

    Parameters: the `model`.
    """
    return [name for node in model.graph.node if node.op_type != "Constant" for name in node.output if name]


def with_outputs(model: onnx.ModelProto, names: Collection[str]) -> onnx.ModelProto:
    """
    Return a copy of a model in which exactly the values named are outputs, in this order.

    Parameters: the `model`, and the `names`.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    known = {info.name: info for info in model.graph.output}
    if any(name not in known for name in names):
        # Converters leave declared types that no longer hold, e.g. float32 in models made float16.
        del made.graph.value_info[:]
        with suppress(onnx.shape_inference.InferenceError):
            made = onnx.shape_inference.infer_shapes(made)
    known = {info.name: info for info in made.graph.value_info} | known
    del made.graph.output[:]
    # onnxruntime finds the types of values that shape inference does not know.
    made.graph.output.extend(known.get(name, onnx.ValueInfoProto(name=name)) for name in names)
    return made


def first_wrong(verification: Verification) -> OutputComparison | None:
    """
    Return the first value, in the order of computation, that is out of tolerance.

    Parameters: the `verification` of all values.
    """
    order = dict.fromkeys(one.output for one in verification.outputs)
    for name in order:
        for one in verification.outputs:
            if one.output == name and not one.passed:
                return one
    return None
