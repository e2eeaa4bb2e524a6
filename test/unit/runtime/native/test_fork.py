"""A forked child runs the sessions of its parent, whatever the parent's threads were doing."""

from __future__ import annotations

import os
import signal
from threading import Event, Thread

import numpy as np
import onnx
import onnx.parser
import pytest

from xonnc import native
from xonnc.runtime.native import session_operators
from xonnc.runtime.native.session import Session

X = np.linspace(-2, 2, 65536, dtype=np.float32).reshape(256, 256)

TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[SIZES] x) => (float[SIZES] y)
{ t = Tanh (x) y = MatMul (t, t) }
"""


def session_of(threads: int, sizes: str = "256, 256") -> Session:
    model = onnx.parser.parse_model(TEXT.replace("SIZES", sizes))
    return native.compile_native(model, threads=threads, cache=False)


def child(session: Session, expected: object) -> int:
    """What a child that runs the session ends with: 0 if its result is right."""
    process = os.fork()
    if not process:
        # A child that blocks for ever is ended, and no test framework goes on in it.
        signal.alarm(30)
        try:
            (found,) = session.run(None, {"x": X})
            os._exit(0 if np.array_equal(np.asarray(found), np.asarray(expected)) else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sizes", ["256, 256", "n, n"])
def test_a_child_runs_while_another_thread_does(threads: int, sizes: str):
    session = session_of(threads, sizes)
    (expected,) = session.run(None, {"x": X})
    begun, ends = Event(), Event()

    def run() -> None:
        while not ends.is_set():
            begun.set()
            session.run(None, {"x": X})

    thread = Thread(target=run)
    thread.start()
    try:
        begun.wait()
        assert [child(session, expected) for _ in range(3)] == [0, 0, 0]
    finally:
        ends.set()
        thread.join()
    assert np.array_equal(np.asarray(session.run(None, {"x": X})[0]), np.asarray(expected))


def test_a_child_draws_other_random_numbers_than_its_parent():
    read, write = os.pipe()
    process = os.fork()
    if not process:
        # A child must not go on in the test framework.
        try:
            os.write(write, session_operators.draw_seed().to_bytes(4, "little"))
        finally:
            os._exit(0)
    os.waitpid(process, 0)
    assert int.from_bytes(os.read(read, 4), "little") != session_operators.draw_seed()
    os.close(read)
    os.close(write)
