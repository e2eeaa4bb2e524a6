"""Memory of large results is used again, but never while the caller has them."""

from __future__ import annotations

import gc

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest

from xonnc.aligned_arrays import MAX_HELD, ReusedMemory, address_of
from xonnc.native import compile_native
from xonnc.runtime.native.instance import MIN_REUSED_BYTES
from xonnc.runtime.native.session import Session

SIDE = 600
assert 4 * SIDE * SIDE > MIN_REUSED_BYTES

BODIES = [
    "y = Relu(x)",
    "r = Relu(x) s = Constant<value_ints = [-1]>() y = Reshape(r, s)",
    "y = Relu(x) s = Constant<value_ints = [-1]>() z = Reshape(y, s)",
]


def session_of(body: str, size: int | str = SIDE) -> Session:
    outputs = "(float[a] y, float[b] z)" if " z = " in body else "(float[a] y)"
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[{size}, {size}] x) => {outputs} {{ {body} }}'
    model = onnx.parser.parse_model(text)
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return compile_native(model, cache=False)


def full(number: float, side: int = SIDE) -> npt.NDArray[np.float32]:
    return np.full((side, side), number, np.float32)


def result(session: Session, number: float, side: int = SIDE) -> npt.NDArray[np.float32]:
    return np.asarray(session.run(None, {"x": full(number, side)})[0], np.float32)


@pytest.mark.parametrize("size", [SIDE, "n"])
@pytest.mark.parametrize("body", BODIES)
def test_memory_is_used_again(body: str, size: int | str):
    session = session_of(body, size)
    addresses: set[int] = set()
    kept: npt.NDArray[np.float32] | None = None
    for number in range(1, 9):
        kept = result(session, number)
        assert (kept == number).all()
        addresses.add(address_of(kept))
    assert len(addresses) <= MAX_HELD


@pytest.mark.parametrize("size", [SIDE, "n"])
@pytest.mark.parametrize("body", BODIES)
def test_what_the_caller_has_stays(body: str, size: int | str):
    session = session_of(body, size)
    whole = result(session, 1)
    part = result(session, 2).reshape(-1)[7:9]
    view = result(session, 3).data
    other = np.frombuffer(result(session, 4), np.int32)
    many = [result(session, number) for number in range(5, 9)]
    gc.collect()
    for number in range(9, 14):
        assert (result(session, number) == number).all()
    assert (whole == 1).all()
    assert (part == 2).all()
    assert (np.asarray(view) == 3).all()
    assert (other.view(np.float32) == 4).all()
    assert [float(each.reshape(-1)[-1]) for each in many] == [5, 6, 7, 8]


def test_a_result_is_an_input_of_the_next_run():
    session = session_of("y = Add(x, x)")
    x: object = full(1)
    for power in range(1, 7):
        (x,) = session.run(None, {"x": x})
        assert (np.asarray(x, np.float32) == 2.0**power).all()


def test_results_of_other_sizes():
    session = session_of("y = Relu(x)", "n")
    first = result(session, 1, SIDE)
    second = result(session, 2, SIDE + 1)
    third = result(session, 3, 3)
    assert (first == 1).all()
    assert (second == 2).all()
    assert (third == 3).all()
    assert result(session, 4, SIDE).shape == (SIDE, SIDE)


def test_no_more_than_two_are_held():
    memory = ReusedMemory()
    arrays = [memory.array_at((5,), np.dtype(np.float32), 20)[0] for _ in range(4)]
    addresses = [address_of(each) for each in arrays]
    assert len(set(addresses)) == 4
    assert all(address % 64 == 0 for address in addresses)
    arrays.clear()
    again = [memory.array_at((5,), np.dtype(np.float32), 20) for _ in range(2)]
    assert {address for _, address in again} == set(addresses[2:])
