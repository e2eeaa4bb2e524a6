"""Programs of one model for several shapes share what was found out and laid out once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from xonnc import native_sessions
from xonnc.aligned_arrays import LINE_BYTES
from xonnc.contexts import new_context
from xonnc.dialects.krnl.packing import PACKED_FORMS, PackOp
from xonnc.dialects.krnl.prepacked_weights import PrepackedWeights
from xonnc.native import compile_native
from xonnc.native_compilation import CompileOptions, lower_to_program, prepare_for_lowering, resolve_processor
from xonnc.simplifier import simplify


class Reference(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


RANDOM = np.random.default_rng(3)

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[n,3,9,9] x) => (float[n,7] y) {
  c = Conv<pads=[1,1,1,1]>(x, w)
  r = Relu(c)
  f = Flatten(r)
  y = MatMul(f, v)
}
"""


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


def model() -> onnx.ModelProto:
    made = onnx.parser.parse_model(MODEL)
    for name, array in (("w", floats(20, 3, 3, 3)), ("v", floats(1620, 7))):
        made.graph.initializer.append(numpy_helper.from_array(array, name))
    return made


def test_programs_for_other_shapes_share_constants_and_what_was_simplified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts: Counter[str] = Counter()

    def count(module: ModuleType | type, name: str) -> None:
        real: Callable[..., object] = vars(module)[name]

        def counted(*given: object, **named: object) -> object:
            counts[name] += 1
            return real(*given, **named)

        monkeypatch.setattr(module, name, counted)

    count(native_sessions, "simplify")
    count(PackOp, "evaluate")
    made = model()
    session = compile_native(made)
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(made)
    for images in (20, 33, 40):
        x = floats(images, 3, 9, 9)
        (given,) = session.run(None, {"x": x})
        assert isinstance(given, np.ndarray)
        expected = np.asarray(reference.run(None, {"x": x})[0], np.float32)
        np.testing.assert_allclose(np.asarray(given, np.float32), expected, 1e-3, 1e-3)
        assert session.host_calls() == []
    assert counts == {"simplify": 1, "evaluate": 2}


def test_what_is_made_of_other_parts_or_in_other_ways_is_another() -> None:
    weight_cache, numbers = PrepackedWeights(), floats(4, 4)
    first = weight_cache.packed(numbers, "twice", lambda: numbers * 2)
    assert weight_cache.packed(numbers, "twice", lambda: numbers * 3) is first
    assert weight_cache.packed(numbers.T, "twice", lambda: numbers * 3) is not first
    assert weight_cache.packed(numbers[1:], "twice", lambda: numbers * 3) is not first
    assert weight_cache.packed(numbers, "thrice", lambda: numbers * 3) is not first


WEIGHTS = {
    "gemm_panels": ((40, 52), {"width": 32}),
    "bf16_panels": ((40, 52), {"width": 32}),
    "conv": ((20, 3, 3, 3), {"lanes": 16, "width": 2, "step": 3}),
    "bf16_conv": ((20, 4, 3, 3), {"lanes": 16, "width": 2, "step": 4}),
    "grouped_conv": ((32, 8, 3, 3), {"groups": 2, "lanes": 16, "width": 1, "step": 8}),
    "depthwise": ((20, 1, 3, 3), {"lanes": 16}),
    "winograd": ((20, 3, 3, 3), {"tile": 4, "width": 32, "groups": 2}),
    "int8_conv": ((20, 3, 3, 3), {"groups": 1, "channels": 32, "depth": 4, "width": 16, "terms": 4}),
    "words": ((40, 52), {"width": 32, "bits": 4, "offset": 8, "for_bytes": 0}),
    "zero_points": ((40, 52), {"width": 32, "offset": 8}),
}
"""Shapes and sizes by form."""


@pytest.mark.parametrize("form", PACKED_FORMS)
def test_packed_weights_begin_at_a_cache_line(form: str) -> None:
    shape, sizes = WEIGHTS[form]
    is_int8 = form in ("int8_conv", "words", "zero_points")
    weights = RANDOM.integers(-8, 8, shape).astype(np.int8) if is_int8 else floats(*shape)
    pack = PACKED_FORMS[form].pack
    results = [pack(weights, sizes) for _ in range(8)]
    assert {result.ctypes.data % LINE_BYTES for result in results} == {0}
    assert results[0].shape == (PACKED_FORMS[form].count(shape, sizes),)


def test_small_constants_are_read_from_a_cache_line() -> None:
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> m (float[5,19] x) => (float[5,19] y) {'
        "a = Mul(x, s0) b = Sin(a) c = Mul(b, s1) d = Sin(c) e = Mul(d, s2) f = Sin(e) y = Mul(f, s3) }"
    )
    # Their raw data lies at any address of a file or a message.
    made.graph.initializer.extend(numpy_helper.from_array(floats(19), f"s{number}") for number in range(4))
    options, context = CompileOptions(resolve_processor("cpu")), new_context()
    module = simplify(made).module
    prepare_for_lowering(module, context, options.passes)
    options.attach(module)
    program, _, _ = lower_to_program(module, options, context)
    constants = [value.constant for value in program.values if value.constant is not None]
    assert [constant.ctypes.data % LINE_BYTES for constant in constants] == [0] * 4
