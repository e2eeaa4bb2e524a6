"""A parallel run gives the same results, also after threads slept; threads end with the session."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx import parser as onnx_parser

from xonnc.errors import XonncError
from xonnc.lowering.krnl_to_llvm.thread_pool import MIN_PARALLEL_BYTES, thread_pool_ir
from xonnc.lowering.native.read_program import KernelCall
from xonnc.native import compile_native
from xonnc.runtime.native.jit import Code, Threads, machine_code
from xonnc.runtime.native.session import Session

TASKS = Path("/proc/self/task")


def model() -> onnx.ModelProto:
    """Convolutions, a chain, a product, a softmax and a sum: steps in parts, and steps of one thread."""
    text = """
        <ir_version: 8, opset_import: ["": 15]> g (float[1, 16, 40, 40] x) => (float[40, 40] y) {
            a = Conv<pads=[1,1,1,1]>(x, w)
            r = Relu(a)
            c = Conv(r, v)
            s = Sigmoid(c)
            m = ReduceMean<axes=[0,1], keepdims=0>(s)
            p = MatMul(m, u)
            y = Softmax<axis=-1>(p)
        }
    """
    made = onnx_parser.parse_model(text)
    generator = np.random.default_rng(3)
    for name, shape in {"w": (32, 16, 3, 3), "v": (64, 32, 1, 1), "u": (40, 40)}.items():
        array = generator.normal(size=shape).astype(np.float32)
        made.graph.initializer.append(numpy_helper.from_array(array, name))
    return onnx.shape_inference.infer_shapes(made)


def run(session: Session, x: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> list[float]:
    return np.asarray(session.run(None, {"x": x})[0], np.float32).reshape(-1).tolist()


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_give_the_same_numbers(threads: int):
    alone, shared = compile_native(model()), compile_native(model(), threads=threads)
    for seed in range(20):
        x = np.random.default_rng(seed).normal(size=(1, 16, 40, 40)).astype(np.float32)
        if seed == 10:
            # Long enough for the threads to sleep.
            time.sleep(0.3)
        assert run(shared, x) == run(alone, x)


@pytest.mark.skipif(not TASKS.is_dir(), reason="counts threads by Linux's folder of them")
def test_threads_end_with_the_session():
    # Sessions of other tests may be garbage by now, whose threads end while the model is compiled.
    gc.collect()
    before = len(list(TASKS.iterdir()))
    session = compile_native(model(), threads=3)
    assert len(list(TASKS.iterdir())) == before + 2
    del session
    gc.collect()
    assert len(list(TASKS.iterdir())) == before


@pytest.mark.skipif(not TASKS.is_dir(), reason="counts threads by Linux's folder of them")
def test_threads_that_have_hardly_begun_end_too():
    code = machine_code(thread_pool_ir([("run_0", [])], 4))
    before = len(list(TASKS.iterdir()))
    for _ in range(200):
        Code(code, {"run_0": None}, Threads(4, 4))
    assert len(list(TASKS.iterdir())) == before


COUNTING = """
    define void @run_0_step_{index}(ptr %table, i64 %first, i64 %last) {{
      %start = getelementptr i64, ptr %table, i64 {start}
      br label %head
    head:
      %at = phi i64 [ %first, %0 ], [ %next, %turn ]
      %more = icmp slt i64 %at, %last
      br i1 %more, label %turn, label %done
    turn:
      %cell = getelementptr i64, ptr %start, i64 %at
      %old = load i64, ptr %cell
      %new = add i64 %old, 1
      store i64 %new, ptr %cell
      %next = add i64 %at, 1
      br label %head
    done:
      ret void
    }}
"""
"""A step that counts how often each iteration ran."""


@pytest.mark.parametrize(("threads", "started"), [(2, 2), (3, 3), (8, 8), (8, 3), (4, 1)])
def test_each_turn_is_done_once_in_a_run(threads: int, started: int):
    iterations, runs = (1, 2, 7, 64, 1001), 300
    row = [KernelCall("count", [], count, MIN_PARALLEL_BYTES) for count in iterations]
    steps = [COUNTING.format(index=index, start=1024 * index) for index in range(len(iterations))]
    text = "\n".join([thread_pool_ir([("run_0", row)], threads), *steps])
    code = Code(machine_code(text), {"run_0": None}, Threads(threads, started))
    counts = np.zeros((len(iterations), 1024), np.int64)
    for _ in range(runs):
        code.entries["run_0"](counts.ctypes.data)
    for index, count in enumerate(iterations):
        assert counts[index].tolist() == [runs] * count + [0] * (1024 - count)


@pytest.mark.parametrize("threads", [0, 257])
def test_a_number_of_threads_out_of_range_is_refused(threads: int):
    with pytest.raises(XonncError, match=f"threads: {threads}; 1 to 256 can share a run"):
        compile_native(model(), threads=threads)


def test_too_few_threads_of_the_system_are_told():
    text = """
        define i32 @pool_start(i32 %wanted) { ret i32 1 }
        define void @pool_stop() { ret void }
        define void @run_0(ptr %table) { ret void }
    """
    with pytest.raises(XonncError, match="threads: the system gives 1, 2 were asked for; use fewer"):
        Code(machine_code(text), {"run_0": None}, Threads(2, 2))
