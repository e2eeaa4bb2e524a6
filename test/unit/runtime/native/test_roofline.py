"""Peaks of the machine, and the work of profiled kernels against them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx.parser
import pytest

from xonnc.native import compile_native
from xonnc.native_compilation import resolve_processor
from xonnc.runtime.native.roofline import MachinePeaks, least_times
from xonnc.runtime.native.session import Session
from xonnc.runtime.native.step_report import ProfileLine

RANDOM = np.random.default_rng(2)


def peaks() -> MachinePeaks:
    return MachinePeaks(resolve_processor("cpu"))


def test_peaks_are_measured_by_loops_that_run() -> None:
    assert peaks().flops(1) > 1e8
    assert peaks().bytes_per_second(1 << 16, 2, writes=True) > 1e8
    assert peaks().bytes_per_second(1 << 16, 1, writes=False) > 1e8


def test_dot_products_of_int8_have_a_peak_of_their_own() -> None:
    processor = resolve_processor("cpu")
    without = MachinePeaks(replace(processor, int8_dot=""))
    # The best of all measurements of a loop counts.
    assert 0 < without.int8_operations(1) <= without.flops(1)
    if processor.int8_dot:
        # Other processes may slow down one of both measurements.
        assert any(peaks().int8_operations(1) > 1.5 * without.flops(1) for _ in range(5))


def test_the_longer_of_multiplying_and_moving_bounds_a_step() -> None:
    lines = [
        ProfileLine("a", "gemm", "native", 10.0, 1e6, 4, 4),
        ProfileLine("b", "add", "native", 10.0, 0, 1 << 20, 1 << 20),
        ProfileLine("c", "random", "host", 10.0),
    ]
    multiplying, moving, unknown = least_times(lines, resolve_processor("cpu"), 1)
    assert multiplying.bound == "multiply"
    assert multiplying.seconds == multiplying.multiplying > multiplying.moving > 0
    assert moving.bound == "bytes"
    assert moving.seconds == moving.moving > 0
    assert not moving.multiplying
    assert unknown.bound == ""
    assert not unknown.seconds


def profiled(text: str, x: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> list[ProfileLine]:
    session = compile_native(onnx.parser.parse_model(text), profile=True)
    session.run(None, {"x": x})
    return session.profile()


def floats(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return RANDOM.normal(size=shape).astype(np.float32)


CONV = """<ir_version: 9, opset_import: ["" : 17]>
g (float[{batch},8,12,12] x) => (float[{batch},16,12,12] y) <float[16,8,3,3] w = {{{weights}}}>
{{ [conv] c = Conv <pads = [1, 1, 1, 1]> (x, w)
   [relu] y = Relu (c) }}"""
MULTIPLICATIONS = 16 * 144 * 8 * 9


@pytest.mark.parametrize(("batch", "fed"), [("1", 1), ("n", 1), ("n", 3)])
def test_a_fused_kernel_has_the_work_of_all_its_nodes(batch: str, fed: int) -> None:
    weights = ", ".join(["0.5"] * (16 * 8 * 9))
    lines = profiled(CONV.format(batch=batch, weights=weights), floats(fed, 8, 12, 12))
    assert sum(line.multiplications for line in lines) == pytest.approx(fed * MULTIPLICATIONS)
    (conv,) = [line for line in lines if line.multiplications]
    assert conv.node == "relu"
    assert conv.gflops == pytest.approx(2e-3 * fed * MULTIPLICATIONS / conv.microseconds)
    assert conv.written_bytes >= fed * 16 * 144 * 4
    assert conv.read_bytes >= 16 * 8 * 9 * 4
    assert conv.gb_per_s > 0


def test_a_gather_reads_what_it_writes() -> None:
    text = """<ir_version: 9, opset_import: ["" : 17]>
    g (float[10000,4] x) => (float[2,4] y) <int64[2] i = {3, 9}> { [n] y = Gather (x, i) }"""
    (line,) = profiled(text, floats(10000, 4))
    assert (line.read_bytes, line.written_bytes) == (32, 32)


def test_a_loaded_session_has_bytes_but_no_multiplications(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = """<ir_version: 9, opset_import: ["" : 17]>
    g (float[4,4] x) => (float[4,4] y) { [n] y = MatMul (x, x) }"""
    session: Session = compile_native(onnx.parser.parse_model(text), profile=True)
    session.run(None, {"x": floats(4, 4)})
    assert sum(line.multiplications for line in session.profile()) == pytest.approx(64)
    folder = tmp_path_factory.mktemp("saved")
    session.save(folder)
    from xonnc.native import load_native

    loaded = load_native(folder)
    loaded.run(None, {"x": floats(4, 4)})
    assert not any(line.multiplications for line in loaded.profile())
    assert any(line.gb_per_s for line in loaded.profile())


def test_integer_kernels_are_held_against_integer_peaks() -> None:
    text = """<ir_version: 9, opset_import: ["" : 17]>
    g (uint8[8,64] x) => (int32[8,64] y) <int8[64,64] w = {%s}> { [n] y = MatMulInteger (x, w) }"""
    session = compile_native(onnx.parser.parse_model(text % ", ".join(["1"] * 4096)), profile=True)
    session.run(None, {"x": np.ones((8, 64), np.uint8)})
    assert [line.is_int8 for line in session.profile() if line.multiplications] == [True]
