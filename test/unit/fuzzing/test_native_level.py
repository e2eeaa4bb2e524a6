"""Random models as native code, against what runs them and with wrong inputs mixed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
import onnx.parser
import pytest

from xonnc.errors import XonncError
from xonnc.fuzzing.campaign import run_seed
from xonnc.fuzzing.differential import CRASHES, DIFFERS, DOES_NOT_RUN, Original, contradicts
from xonnc.fuzzing.known_differences import is_explained
from xonnc.fuzzing.native_level import ACCEPTS_INVALID, LACKS_KERNEL, NATIVE, native_failure
from xonnc.fuzzing.random_models import Feeds, random_model
from xonnc.native import compile_native
from xonnc.rewriting.remarks import XonncWarning
from xonnc.runtime.native.session import Session
from xonnc.runtime.verification.reference_engines import Engine

SEEDS = 100
PARTS = 4

SEED = 0
"""A model without failures, to plant some in."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_differs_and_nothing_crashes(part: int) -> None:
    found = [run_seed(seed, [NATIVE]) for seed in range(part, SEEDS, PARTS)]
    wrong = [(one.seed, failure) for one in found for failure in one.failures if failure.kind != LACKS_KERNEL]
    assert not [f"seed {seed}: {failure}" for seed, failure in wrong]
    assert sum(not one.failures for one in found) > 0.6 * len(found)


HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def original_of(text: str, *feeds: Feeds) -> Original:
    return Original(onnx.parser.parse_model(HEAD + text), feeds)


def test_nan_may_be_lost_by_onnxruntime_but_not_by_native_code() -> None:
    """Its `ReduceMax` of [1, NaN] is 1."""
    text = """
    m (float[1,2] x) => (float[1,1] y) { y = ReduceMax<axes=[1]>(x) }
    """
    original = original_of(text, {"x": np.array([[1, np.nan]], np.float32)})
    assert original.runs[0][1]["y"] == 1
    assert native_failure(original) is None


def test_the_rest_of_a_gate_may_differ_by_a_rounding_of_one() -> None:
    text = "m (float[1] x) => (float[1] y) { t = Sigmoid(x) y = Identity(t) }"
    original = original_of(text, {"x": np.zeros(1, np.float32)})
    expected, found = np.array([1e-4], np.float32), np.array([1e-4 + 5e-8], np.float32)
    assert not is_explained(original, {"x": np.zeros(1, np.float32)}, "y", expected, found)
    gru = onnx.parser.parse_model(HEAD + "m (float[1] x) => (float[1] y) { y = GRU(x) }")
    original.model = gru
    assert is_explained(original, {}, "y", expected, found)
    assert not is_explained(original, {}, "y", expected, np.array([2e-4], np.float32))


@pytest.mark.parametrize(
    ("expected", "found", "is_right"),
    [
        ([-(2**31), 7], [2**31 - 1, 7], True),
        ([-(2**31), 7], [0, 7], True),
        ([-(2**31), 7], [2**31 - 1, 8], False),
        ([5, 7], [0, 7], False),
    ],
)
def test_casts_of_what_does_not_fit_may_differ(expected: list[int], found: list[int], is_right: bool) -> None:
    feeds = {"x": np.zeros(2, np.float32)}
    original = original_of("m (float[2] x) => (int32[2] y) { y = Cast<to = 6>(x) }", feeds)
    both = np.array(expected, np.int32), np.array(found, np.int32)
    assert is_explained(original, feeds, "y", *both) is is_right


def test_integers_of_logarithms_may_be_cast_nan_or_differ_by_one() -> None:
    text = "m (int64[2] x) => (int64[1] y) {{ y = {}<axes=[0]>(x) }}"
    feeds = {"x": np.array([1, 2])}
    least = np.array([np.iinfo(np.int64).min])
    for operator, expected, found, is_right in (
        ("ReduceLogSum", least, np.array([0]), True),
        ("ReduceLogSum", least, np.array([2]), False),
        ("ReduceLogSumExp", np.array([-13]), np.array([-12]), True),
        ("ReduceLogSumExp", np.array([-13]), np.array([-11]), False),
    ):
        original = original_of("m (int64[2] x) => (int64[2] y) { y = Neg(x) }", feeds)
        original.model = onnx.parser.parse_model(HEAD + text.format(operator))
        assert is_explained(original, feeds, "y", expected, found) is is_right


def test_integers_may_wrap_where_the_engine_saturates() -> None:
    feeds = {"x": np.array([1, 2], np.int32)}
    original = original_of("m (int32[2] x) => (int32[2] y) { y = Pow(x, x) }", feeds)
    found = np.array([413696000, 7], np.int32)
    assert is_explained(original, feeds, "y", np.array([2**31 - 1, 7], np.int32), found)
    assert not is_explained(original, feeds, "y", np.array([2**31 - 2, 7], np.int32), found)


def test_comparisons_of_lost_nan_may_differ() -> None:
    """onnxruntime's `ReduceMax` of [1, NaN] is 1."""
    text = "m (float[1,2] x) => (bool[1,1] y) { h = ReduceMax<axes = [1]>(x) y = Equal(h, h) }"
    feeds = {"x": np.array([[1, np.nan]], np.float32)}
    original = original_of(text, feeds)
    assert original.runs[0][1]["y"].all()
    assert native_failure(original) is None
    true, false = np.ones((1, 1), np.bool_), np.zeros((1, 1), np.bool_)
    assert is_explained(original, feeds, "y", true, false)
    finite = {"x": np.ones((1, 2), np.float32)}
    assert not is_explained(original, finite, "y", true, false)


@pytest.mark.parametrize("by_reference", [False, True])
def test_infinities_of_no_weight_may_be_nan(by_reference: bool) -> None:
    """`Resize` of onnxruntime multiplies them by 0; that of the reference evaluator does not."""
    text = (
        "m (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1,1,2,2}> { y = Resize<mode = STR>(x,,s) }"
    )
    x = np.array([-100, 0, -1, -np.inf], np.float32).reshape(1, 1, 2, 2)
    original = original_of(text.replace("STR", '"linear"'), {"x": x})
    if by_reference:
        original.engine = Engine(original.model, by_reference=True)
        original.runs = [({"x": x}, original.engine.run({"x": x}))]
    expected = original.runs[0][1]["y"]
    assert np.isnan(expected[0, 0, 0, 0]) != by_reference
    assert native_failure(original) is None
    zeros = np.zeros_like(expected)
    assert not is_explained(original, {"x": np.zeros_like(x)}, "y", zeros, zeros + 1)


def test_a_product_that_overflows_may_be_an_operand() -> None:
    """onnxruntime saturates it; axes of different signs are what the reference evaluator got wrong."""
    model = onnx.parser.parse_model(
        """<ir_version: 6, opset_import: ["" : 11]> m (int32[2,4] x) => (int32 y) {
           p = ReduceProd<keepdims = 0>(x)
           q = Mul(p, p)
           r = Unsqueeze<axes = [0, 1]>(q)
           y = Squeeze<axes = [-2, 1]>(r)
        }"""
    )
    x = np.array([[44, -49, 40, 47], [-26, 97, 82, -27]], np.int32)
    original = Original(model, [{"x": x}])
    assert original.runs[0][1]["y"] == 0
    assert native_failure(original) is None


def test_sixths_of_hard_swish_may_be_more_precise() -> None:
    feeds = {"x": np.ones(1)}
    original = original_of("m (double[1] x) => (double[1] y) { y = Neg(x) }", feeds)
    original.model = onnx.parser.parse_model(HEAD + "m (double[1] x) => (double[1] y) { y = HardSwish(x) }")
    expected = np.array([0.6666666716337204])
    assert is_explained(original, feeds, "y", expected, np.array([2 / 3]))
    assert not is_explained(original, feeds, "y", expected, np.array([0.66667]))


def test_doubles_may_be_normalized_in_float32() -> None:
    feeds = {"x": np.array([[3.25]]), "s": np.ones(1)}
    text = "m (double[1,1] x, double[1] s) => (double[1,1] y) { y = RMSNormalization(x, s) }"
    model = onnx.parser.parse_model(HEAD.replace("17", "23").replace("8", "10") + text)
    original = Original(model, [feeds])
    assert native_failure(original) is None
    (expected,) = original.runs[0][1].values()
    assert is_explained(original, feeds, "y", expected, expected + 1e-7)
    assert not is_explained(original, feeds, "y", expected, expected + 1e-5)
    nan = np.array([[np.nan, 1.0]])
    assert is_explained(original, feeds, "y", nan, nan + 1e-7)


def test_the_reference_rounds_quantized_products_late() -> None:
    feeds = {"x": np.ones(1, np.uint8)}
    original = original_of("m (uint8[1] x) => (uint8[1] y) { y = Identity(x) }", feeds)
    text = "m (uint8[2] x) => (uint8[2] y) { y = QLinearMatMul(x, x, x, x, x, x, x, x) }"
    original.model = onnx.parser.parse_model(HEAD + text)
    original.engine = Engine(original.model, by_reference=True)
    expected = np.array([6, 7], np.uint8)
    assert is_explained(original, feeds, "y", expected, np.array([5, 7], np.uint8))
    assert not is_explained(original, feeds, "y", expected, np.array([4, 7], np.uint8))


def test_fused_operators_may_avoid_an_overflow_of_16_bits() -> None:
    feeds = {"x": np.array([1, 2], np.float16)}
    original = original_of("m (float16[2] x) => (float16[2] y) { y = Neg(x) }", feeds)
    found = np.array([0, -2], np.float16)
    assert is_explained(original, feeds, "y", np.array([np.nan, -2], np.float16), found)
    assert not is_explained(original, feeds, "y", np.array([5, -2], np.float16), found)


def test_float32_of_16_bits_may_overflow_before_a_cast() -> None:
    feeds = {"x": np.array([300, 2], np.float16)}
    original = original_of("m (float16[2] x) => (float[2] y) { a = Mul(x, x) y = Cast<to = 1>(a) }", feeds)
    found = np.array([np.inf, 4], np.float32)
    assert is_explained(original, feeds, "y", np.array([9e4, 4], np.float32), found)
    assert native_failure(original) is None
    wide = {"x": np.array([300, 2], np.float32)}
    original = original_of("m (float[2] x) => (float[2] y) { y = Mul(x, x) }", wide)
    assert not is_explained(original, wide, "y", np.array([9e4, 4], np.float32), found)


def test_a_limit_that_is_nan_may_clip_in_any_way() -> None:
    text = "m (float[1] x, float low) => (float[1] y) { y = Clip(x, low) }"
    feeds = {"x": np.ones(1, np.float32), "low": np.array(np.nan, np.float32)}
    original = original_of(text, feeds)
    both = np.ones(1, np.float32), np.array([np.nan], np.float32)
    assert is_explained(original, feeds, "y", *both)
    assert not is_explained(original, {**feeds, "low": np.array(0, np.float32)}, "y", *both)


def test_a_rounding_next_to_one_may_be_large_after_atanh() -> None:
    feeds = {"x": np.ones(1, np.float32)}
    original = original_of("m (float[1] x) => (float[1] y) { a = Tanh(x) y = Atanh(a) }", feeds)
    expected = np.array([7.1664734], np.float32)
    assert is_explained(original, feeds, "y", expected, np.array([7.2191534], np.float32))
    assert not is_explained(original, feeds, "y", expected, np.array([6.2191534], np.float32))


SCATTERED = "y: ScatterND: operand 'updates' has dimension at index 0 with value 2, value should be 1"
EQUATED = "a size that follows from those of the inputs: 4 was fed, the other sizes say 3"
"""What a run says where a body declares a constant for a size of an input."""


def test_what_only_the_reference_evaluator_takes_may_be_refused() -> None:
    """It checks no shapes: here sequences of 3 lengths in batches of 4."""
    text = "m (double[2, b] x, int64[c] n) => (double[2, b] y) { y = ReverseSequence(x, n) }"
    small = {"x": np.zeros((2, 3)), "n": np.array([1, 2, 2])}
    original = original_of(text, small)
    wide = {**small, "x": np.zeros((2, 4))}
    error = "y: ReverseSequence: sequence_lens has 3 elements for 4 batches"
    for by_reference in (False, True):
        original.engine.by_reference = by_reference
        assert contradicts(original, wide, error) is by_reference
        assert not contradicts(original, small, error)
        for refusal in (SCATTERED, EQUATED):
            assert contradicts(original, wide, refusal) is by_reference
            assert not contradicts(original, small, refusal)
        assert not contradicts(original, wide, "something else")


CONTRADICTS = """
m (bool c, float[n] x) => (float[n] y) {
  y = If(c) <
    then_branch = left () => (float[2] a) { a = Neg(x) },
    else_branch = right () => (float[2] b) { b = Abs(x) }
  >
}
"""


def test_what_inputs_make_of_a_body_counts() -> None:
    fits = {"c": np.array(True), "x": np.ones(2, np.float32)}
    larger = {"c": np.array(True), "x": np.ones(3, np.float32)}
    assert native_failure(original_of(CONTRADICTS, fits, larger)) is None
    with pytest.warns(XonncWarning, match="declared tensor<2xf32>, but it has dynamic dimensions"):
        session = compile_native(onnx.parser.parse_model(HEAD + CONTRADICTS))
    (given,) = session.run(None, larger)
    assert np.asarray(given).shape == (3,)


NO_ITERATIONS = """
m (float[n] x) => (float[n] last, float[k, n] all) <int64 count = {0}> {
  last, all = Loop(count, "", x) <body = turn
    (int64 i, bool c, float[2] a) => (bool d, float[2] b, float[2] e) {
    e = Abs(a)
    d = Identity(c)
    b = Neg(a)
  }>
}
"""


def test_a_loop_without_iterations_may_contradict_inputs() -> None:
    """onnxruntime gives no rows as long as is declared, we none as long as the input."""
    fits, larger = ({"x": np.ones(size, np.float32)} for size in (2, 3))
    assert native_failure(original_of(NO_ITERATIONS, fits, larger)) is None


def plant(monkeypatch: pytest.MonkeyPatch, run: Callable[..., object]) -> None:
    monkeypatch.setattr(Session, "run", run)


def raising(error: Exception) -> Callable[..., object]:
    def run(*_: object) -> object:
        raise error

    return run


def other(session: Session, names: object, feeds: Mapping[str, object]) -> Sequence[object]:
    return [np.full([size or 1 for size in port.shape or ()], 77, np.float32) for port in session.outputs]


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (raising(ValueError("nowhere")), CRASHES),
        (raising(XonncError("no space")), DOES_NOT_RUN),
        (raising(XonncError("the reference evaluator fails: no kernel")), LACKS_KERNEL),
        (other, DIFFERS),
    ],
)
def test_kinds_of_failures(monkeypatch: pytest.MonkeyPatch, run: Callable[..., object], kind: str) -> None:
    drawn = random_model(SEED)
    original = Original(drawn.model, drawn.feeds)
    assert native_failure(original) is None
    plant(monkeypatch, run)
    failure = native_failure(original)
    assert failure is not None
    assert failure.kind == kind


def test_wrong_inputs_that_are_taken_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random_model(SEED)
    original = Original(drawn.model, drawn.feeds)
    original.runs = original.runs[:1]
    good = compile_native(drawn.model).run(None, drawn.feeds[0])

    def take(*_: object) -> object:
        return good

    plant(monkeypatch, take)
    failure = native_failure(original)
    assert failure is not None
    assert failure.kind == ACCEPTS_INVALID
