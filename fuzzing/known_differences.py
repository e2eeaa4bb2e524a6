"""Differences of native code that are not its errors: NaN handling of engines, overflow, casts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import onnx

from xonnc.errors import XonncError
from xonnc.fuzzing.differential import Original
from xonnc.fuzzing.random_models import Array, Feeds
from xonnc.fuzzing.recomputation import from_lost_nan, from_results, from_ties
from xonnc.runtime.verification.backward_slice import backward_slice, walk_nodes
from xonnc.runtime.verification.reference_engines import NAN_FAULTS, Engine, Outputs
from xonnc.runtime.verification.tolerance import differing, disagreement

OVERFLOWING = ("Pow", "ReduceProd", "ReduceSumSquare")
"""Operators that onnxruntime computes in floats for integers: overflow saturates there and wraps here."""


ROUNDED_TO_ONE = ("Erf", "RNN", "Tanh")
"""Operators with results next to 1 and -1, of which `1 + erf(x)`, for one, may leave only the error."""

SHIFTING = ("InstanceNormalization",)
"""Operators that onnxruntime computes as `factor * x + shift`, which is inf - inf for infinite scales."""

ROUNDING_EPS = 8
"""Epsilons by which results of such operators may differ."""


SINGLE_PRECISION = ("GroupNormalization", "HardSwish", "RMSNormalization")
"""
Operators that ONNX computes in float32 for doubles too, unlike some engines.

"y = x * max(0, min(1, alpha * x + beta)) where alpha = 1/6" (HardSwish); engines that expand it have 1/6 as
an attribute, hence as a float32. Normalisations have `stash_type`, "the floating-point precision used in
stage one of the computation", by default float32; onnxruntime and the reference compute them in doubles.
"""

ROUNDING_LAST = ("QLinearConv", "QLinearMatMul")
"""
Operators that the reference rounds after it has added the zero point, which moves ties to another integer.

ONNX rounds before: "saturate((x / y_scale) + y_zero_point). For (x / y_scale), it's rounding to nearest
ties to even".
"""


class Lazy:
    """Outputs that are computed on first use."""

    def __init__(self, compute: Callable[[], Sequence[Outputs]]) -> None:
        self._compute = compute
        self._found: Sequence[Outputs] | None = None

    def __call__(self) -> Sequence[Outputs]:
        if self._found is None:
            self._found = self._compute()
        return self._found


def is_explained(original: Original, feeds: Feeds, name: str, expected: Array, found: Array) -> bool:
    """
    Whether an output that is not what the engine gives is right all the same.

    It follows from NaN by an operator with which the engine gives one or the other (a comparison of it,
    too, if the engine computes the same from what native code gives there), or from nearly equal elements, of
    which another is the least or the greatest, or from an overflow of integers or a rounding of 1 inside
    the model, or from infinite scales, in the same way; it is the small rest
    of a gate, as `1 - z` of a GRU, whose rounding is one of 1; it is the cast of a float that does not
    fit, or an overflow of integers, which ONNX leaves undefined; one of them is computed in float32 and the
    other in doubles; it overflows only in 16 bits, in which fused operators do not round what they pass to
    each other; it is the logarithm of a negative number as an integer, or one that onnxruntime computes
    in integers; it follows from a limit of Clip that is NaN, or from Atanh of a rounded number next to 1; or
    it is what the ONNX reference gives (of `Gemm` with `beta` 0, for one, onnxruntime
    does not read NaN in C).
    """
    if not _is_alike(expected, found):
        return False
    part, by_reference = backward_slice(original.model, name), original.engine.by_reference
    used = {node.op_type for node in walk_nodes(part)}
    if not used.isdisjoint(NAN_FAULTS[by_reference]) and not all(map(_is_finite, (expected, found))):
        return True
    if any(not used.isdisjoint(names) and holds(expected, found) for names, holds in BY_OPERATOR):
        return True
    if expected.dtype == np.float16 and not np.isfinite(expected[differing(expected, found)]).any():
        return True
    if _overflows_16_bits(part, expected, found) or _has_nan_limit(part, feeds):
        return True
    if by_reference and not used.isdisjoint(ROUNDING_LAST) and _differs_by_one(expected, found):
        return True
    runs = Lazy(lambda: _runs(Original(part, [feeds]), feeds))
    lossy = NAN_FAULTS[by_reference]
    candidates = [
        from_lost_nan(part, feeds, lossy, name, by_reference),
        from_ties(part, feeds, name, by_reference),
        from_results(part, feeds, OVERFLOWING, name, by_reference, _saturates_or_agrees),
        from_results(part, feeds, SHIFTING, name, by_reference, _is_infinite_for_nan),
        from_results(part, feeds, ROUNDED_TO_ONE, name, by_reference, _is_rounding_of_one),
    ]
    if not by_reference:
        candidates.append(_by_reference(part, feeds))
    return any(
        each is not None
        and not disagreement(each, {name: found}, lambda each=each: _moved(runs(), name, each))
        for each in candidates
    )


def _runs(original: Original, feeds: Feeds) -> list[Outputs]:
    """Return outputs of the engine, and those for perturbed inputs."""
    return [original.runs[0][1], *original.perturbed(feeds)]


def _moved(runs: Sequence[Outputs], name: str, candidate: Outputs) -> list[Outputs]:
    """Return outputs that differ from a candidate as much as those for perturbed inputs from the engine's."""
    array, given, moved = candidate[name], runs[0][name], list[Outputs]()
    for other in (outputs[name] for outputs in runs[1:]):
        if not _is_alike(other, given) or not _is_alike(array, given):
            continue
        if array.dtype.kind == "f":
            same = (other == given) | (np.isnan(other) & np.isnan(given))
            with np.errstate(all="ignore"):
                moved.append({name: np.where(same, array, array + (other - given))})
        elif array.dtype.kind in "iub":
            moved.append({name: np.where(other == given, array, ~array)})
    return moved


def _by_reference(model: onnx.ModelProto, feeds: Feeds) -> Outputs | None:
    try:
        return Engine(model, by_reference=True).run(feeds)
    except XonncError:
        return None


def _is_nan_conversion(expected: Array, found: Array) -> bool:
    """Whether integers differ only where NaN was cast to the least integer by one and to 0 by the other."""
    if expected.dtype.kind != "i":
        return False
    wrong = expected != found
    least = np.iinfo(expected.dtype).min
    return bool((expected[wrong] == least).all() and (found[wrong] == 0).all())


def _is_out_of_range(expected: Array, found: Array) -> bool:
    """
    Whether integers differ only where code gives a limit of the type, or 0 for NaN: floats did not fit.

    "Casting from floating point to fixed point: undefined if OOR" (Cast); onnxruntime has the least for NaN.
    """
    if expected.dtype.kind not in "iu":
        return False
    limits = np.iinfo(expected.dtype)
    wrong = expected != found
    is_limit = (found == limits.min) | (found == limits.max)
    return bool((is_limit | ((found == 0) & (expected == limits.min)))[wrong].all())


def _saturates(expected: Array, found: Array) -> bool:
    """Whether integers differ only where the engine gives a limit of the type."""
    if expected.dtype.kind not in "iu":
        return False
    limits = np.iinfo(expected.dtype)
    wrong = expected != found
    return bool(((expected == limits.min) | (expected == limits.max))[wrong].all())


def _saturates_or_agrees(expected: Array, found: Array) -> bool:
    """Whether two arrays agree but for integers that are a limit of the type by the engine."""
    return _is_alike(expected, found) and (
        _saturates(expected, found) or not differing(expected, found).any()
    )


def _is_rounding_of_one(expected: Array, found: Array) -> bool:
    """Whether floats differ by a few rounding errors of 1."""
    if not _is_alike(expected, found) or expected.dtype.kind != "f":
        return False
    bound = ROUNDING_EPS * float(np.finfo(expected.dtype).eps)
    return bool(np.allclose(expected, found, rtol=0, atol=bound, equal_nan=True))


def _is_infinite_for_nan(expected: Array, found: Array) -> bool:
    """Whether floats differ only where the engine has NaN and code an infinity."""
    if not _is_alike(expected, found) or expected.dtype.kind != "f":
        return False
    wrong = differing(expected, found)
    return bool((np.isnan(expected) & np.isinf(found))[wrong].all())


def _is_alike(expected: Array, found: Array) -> bool:
    return (expected.dtype, expected.shape) == (found.dtype, found.shape)


def _differs_by_one(expected: Array, found: Array) -> bool:
    """Whether integers differ by at most one."""
    if expected.dtype.kind not in "iu":
        return False
    return bool((np.maximum(expected, found) - np.minimum(expected, found) <= 1).all())


def _is_close_as_float32(expected: Array, found: Array) -> bool:
    """Whether doubles agree as float32."""
    if expected.dtype != np.float64:
        return False
    return bool(np.allclose(expected, found, rtol=1e-6, atol=1e-7, equal_nan=True))


def _overflows_16_bits(part: onnx.ModelProto, expected: Array, found: Array) -> bool:
    """
    Whether floats differ only where code has an infinity and the engine a number that float16 cannot hold.

    onnxruntime computes a chain of float16 operators in float32, and casts only its end.
    """
    has_float16 = any(
        port.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16 for port in part.graph.input
    )
    if expected.dtype != np.float32 or not has_float16:
        return False
    wrong = differing(expected, found)
    largest = float(np.finfo(np.float16).max)
    return bool(np.isinf(found[wrong]).all() and (np.abs(expected[wrong]) > largest).all())


def _has_nan_limit(part: onnx.ModelProto, feeds: Feeds) -> bool:
    """Whether a Clip is fed a limit that is NaN, of which ONNX says nothing."""
    limits = {name for node in part.graph.node if node.op_type == "Clip" for name in node.input[1:]}
    return any(
        array.dtype.kind == "f" and bool(np.isnan(array).any())
        for name, array in feeds.items()
        if name in limits
    )


def _is_near_one(expected: Array, found: Array) -> bool:
    """Whether results of Atanh differ by a rounding of operands next to 1 or -1."""
    if expected.dtype.kind != "f":
        return False
    return bool(np.allclose(np.tanh(expected), np.tanh(found), rtol=4e-7, atol=0, equal_nan=True))


def _is_finite(array: Array) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def _is_within_one(expected: Array, found: Array) -> bool:
    """Whether elements differ by a rounding of 1."""
    return not differing(expected, found, 1.0).any()


BY_OPERATOR: Sequence[tuple[Collection[str], Callable[[Array, Array], bool]]] = (
    (("GRU", "LSTM"), _is_within_one),
    (("Cast",), _is_out_of_range),
    (("ReduceLogSum",), _is_nan_conversion),
    (("ReduceLogSumExp",), _differs_by_one),
    (("Atanh",), _is_near_one),
    (OVERFLOWING, _saturates),
    (SINGLE_PRECISION, _is_close_as_float32),
)
"""Differences that a model may have if it contains one of some operators."""
