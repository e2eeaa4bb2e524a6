"""Programs for any sizes: where things lie follows from the sizes of each run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import parser

import xonnc
from xonnc.errors import XonncError
from xonnc.formats.native.program import Program, ProgramValue, SizeConstraint, SizeExpr, Storage, TensorSpec
from xonnc.runtime.native import dynamic_instance
from xonnc.runtime.native.dynamic_instance import DynamicInstance
from xonnc.runtime.native.instance import Executable
from xonnc.runtime.native.session import Session

INTEGERS = np.dtype(np.int64)


def model() -> onnx.ModelProto:
    return parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float[N, S] x, float[N, S] z) => (float[S, N] y) '
        "{ a = Add(x, z) b = Softmax(a) c = Transpose<perm = [1, 0]>(b) y = Exp(c) }"
    )


def run(session: Session, rows: int, columns: int) -> None:
    generator = np.random.default_rng(rows)
    x, z = generator.standard_normal((2, rows, columns)).astype(np.float32)
    powers = np.exp(x + z - np.max(x + z, 1, keepdims=True))
    expected = np.exp(powers / powers.sum(1, keepdims=True)).T
    (found,) = session.run(None, {"x": x, "z": z})
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(np.asarray(found, np.float32), expected, rtol=1e-5)


def test_results_stay_when_sizes_change():
    session = xonnc.compile(model(), cache=False)
    for rows, columns in ((3, 5), (200, 100), (1, 1), (200, 100), (3, 5), (7, 300)):
        run(session, rows, columns)
    assert session.compiled == 1


def test_outputs_are_the_callers_own():
    session = xonnc.compile(model(), cache=False)
    x = np.ones((2, 3), np.float32)
    (first,) = session.run(None, {"x": x, "z": x})
    assert isinstance(first, np.ndarray)
    before = first.copy()
    session.run(None, {"x": x * 5, "z": x})
    np.testing.assert_array_equal(first, before)


def test_what_was_compiled_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XONNC_CACHE", str(tmp_path))
    run(xonnc.compile(model()), 3, 5)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = xonnc.compile(model())
    run(again, 20, 30)
    assert again.compiled == 1
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


def test_a_saved_session_takes_any_sizes(tmp_path: Path):
    session = xonnc.compile(model(), cache=False)
    run(session, 3, 5)
    session.save(tmp_path)
    loaded = xonnc.load(tmp_path)
    run(loaded, 40, 9)
    with pytest.raises(XonncError, match="axis 0 of input 'z': 2 was fed, the other sizes say 3"):
        loaded.run(None, {"x": np.ones((3, 4), np.float32), "z": np.ones((2, 4), np.float32)})


def program(*formulas: SizeExpr) -> Program:
    """An input of one dynamic dimension, and sizes computed from it; the last is of an arena value."""
    values = [ProgramValue(Storage.INPUT, None, INTEGERS)]
    values += [ProgramValue(Storage.SIZE, (), INTEGERS, size_expr=formula) for formula in formulas]
    values.append(ProgramValue(Storage.ARENA, None, INTEGERS, dynamic_shape=(len(formulas),)))
    made = Program(values=values, blocks=[[len(formulas) + 1]])
    made.inputs = [TensorSpec("x", 0, (None,), INTEGERS)]
    return made


def settled(made: Program) -> Callable[[int], None]:
    instance = DynamicInstance(Executable(made, {}, None))
    return lambda size: instance.set_shapes([np.zeros(size, np.int64)])


def test_a_size_below_0_is_told():
    settle = settled(program(SizeExpr("dim", (0, 0)), SizeExpr("number", (-4,)), SizeExpr("add", (1, 2))))
    settle(5)
    with pytest.raises(XonncError, match="make a dimension below 0; feed larger ones"):
        settle(3)


def test_a_size_beyond_memory_is_told():
    settle = settled(
        program(SizeExpr("dim", (0, 0)), SizeExpr("number", (1 << 46,)), SizeExpr("mul", (1, 2)))
    )
    settle(0)
    with pytest.raises(XonncError, match="larger than the address space; feed smaller ones"):
        settle(1 << 10)


def test_memory_that_no_processor_has_is_told():
    settle = settled(
        program(SizeExpr("dim", (0, 0)), SizeExpr("number", (1 << 40,)), SizeExpr("mul", (1, 2)))
    )
    with pytest.raises(XonncError, match="bytes of memory; feed smaller ones"):
        settle(100)


def test_sizes_that_have_to_be_equal_are_told():
    made = program(SizeExpr("dim", (0, 0)), SizeExpr("number", (4,)))
    made.constraints = [SizeConstraint(1, 2, "axis 0 of input 'x'")]
    settle = settled(made)
    settle(4)
    with pytest.raises(XonncError, match="axis 0 of input 'x': 5 was fed, the other sizes say 4"):
        settle(5)


@pytest.mark.parametrize(("operator", "expected"), [("floordiv", 3), ("min", 2), ("max", 7), ("mul", 14)])
def test_formulas(operator: str, expected: int):
    made = program(SizeExpr("dim", (0, 0)), SizeExpr("number", (2,)), SizeExpr(operator, (1, 2)))
    instance = DynamicInstance(Executable(made, {}, None))
    instance.set_shapes([np.zeros(7, np.int64)])
    assert instance.shape_of(4) == (expected,)


def test_more_sizes_than_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dynamic_instance, "MAX_CACHED_LAYOUTS", 3)
    session = xonnc.compile(model(), cache=False)
    for columns in (4, 5, 6, 7, 4, 7, 400, 5, 400, 4, 401):
        run(session, 3, columns)


def test_where_things_lie_is_computed_once_for_sizes(monkeypatch: pytest.MonkeyPatch):
    computed: list[int] = []
    monkeypatch.setitem(dynamic_instance.OPERATORS, "mul", lambda a, b: computed.append(a) or a * b)
    settle = settled(program(SizeExpr("dim", (0, 0)), SizeExpr("number", (2,)), SizeExpr("mul", (1, 2))))
    for size in (9, 3, 9, 3, 3, 9):
        settle(size)
    assert computed == [9, 3]


def test_the_sizes_of_a_tensor_that_grows_in_a_loop_are_evaluated_until_the_arena_fits(
    monkeypatch: pytest.MonkeyPatch,
):
    computed: list[int] = []
    monkeypatch.setitem(dynamic_instance.OPERATORS, "mul", lambda a, b: computed.append(a) or a * b)
    settle = settled(program(SizeExpr("dim", (0, 0)), SizeExpr("number", (2,)), SizeExpr("mul", (1, 2))))
    for _ in range(2):
        computed.clear()
        for size in range(1, 501):
            settle(size)
    # The first run evaluates all sizes, the second those before the arena grew for the last time.
    assert len(computed) < 500
    computed.clear()
    for size in range(1, 501):
        settle(size)
    assert not computed


def test_an_arena_that_must_grow_grows_by_more_than_it_must(monkeypatch: pytest.MonkeyPatch):
    made: list[int] = []

    def empty(size: int) -> npt.NDArray[np.uint8]:
        made.append(size)
        return np.empty(size, np.uint8)

    settle = settled(program(SizeExpr("dim", (0, 0)), SizeExpr("number", (1,)), SizeExpr("mul", (1, 2))))
    monkeypatch.setattr(dynamic_instance, "aligned_empty", empty)
    for size in range(1, 200):
        settle(size)
    assert len(made) <= 7
