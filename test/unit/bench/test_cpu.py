"""The benchmark of native code: what it concludes from times, and that a peer runs on command."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.cpu import conclude, section
from bench.kernels import CASES, KernelResult, build_model, table
from bench.kernels import line as line_of_kernel
from bench.latency.feeds import feeds_for, write_feeds
from bench.latency.measure import ModelResult, rows_of
from bench.latency.page import heading, replace_section
from bench.latency.peers import BASELINE, XONNC, Peer
from bench.latency.ratios import latency
from bench.latency.tables import line
from bench.latency.task import Run, Task
from bench.latency.worker import CompileCost, PeerError, Worker, reason
from bench.zoo.convolutional import mnist_cnn


def test_rounds_are_compared_with_their_neighbors() -> None:
    found = latency([[1.0, 1.0], [4.0, 4.0], [3.0, 1.0]], [[2.0, 2.0], [4.0, 4.0], [4.0, 4.0]])
    assert (found.best, found.median, found.minimum, found.pairs) == (1.0, 0.5, 0.5, 3)
    assert not found.is_noisy
    assert latency([[1.0], [9.0]], [[1.0], [3.0]]).is_noisy


@pytest.mark.parametrize(("seconds", "broken"), [(1.0, 0), (1.2, 1), (1.3, 1)])
def test_what_is_slower_than_promised_is_told(
    seconds: float, broken: int, capsys: pytest.CaptureFixture[str]
):
    row = ModelResult("resnet18", 47.0, {name: CompileCost(1.0, 50.0) for name in (BASELINE, XONNC)})
    row.latencies = {BASELINE: latency([[1.0]], [[1.0]]), XONNC: latency([[seconds]], [[1.0]])}
    assert conclude([row]) == broken
    assert ("above 1.25: resnet18 1.30" in capsys.readouterr().out) == (seconds == 1.3)
    assert f"{seconds:5.2f} ({seconds:.2f})" in line(row)


def test_a_peer_that_failed_breaks_the_promise() -> None:
    row = ModelResult("lstm", 14.0, failures={XONNC: "its outputs differ by 1.0e+00"})
    assert conclude([row]) == 1
    assert "differ" in line(row)


def test_a_worker_compiles_runs_and_writes(tmp_path: Path) -> None:
    path, feeds = tmp_path / "model.onnx", tmp_path / "feeds.npz"
    path.write_bytes(mnist_cnn().SerializeToString())
    write_feeds(feeds, feeds_for(path))
    worker = Worker(XONNC, path, feeds, 1, tmp_path)
    assert worker.compile_cost.seconds > 0
    assert len(worker.run(3)) == 3
    (output,) = worker.outputs(tmp_path / "out.npz")
    assert output.shape == (1, 10)
    assert np.isfinite(output.astype(np.float32)).all()
    worker.end()


def test_a_worker_that_fails_says_why(tmp_path: Path) -> None:
    path, feeds = tmp_path / "model.onnx", tmp_path / "feeds.npz"
    path.write_bytes(b"no model")
    write_feeds(feeds, {})
    with pytest.raises(PeerError, match=r"model\.onnx"):
        Worker(XONNC, path, feeds, 1, tmp_path)


def test_the_reason_is_the_last_error() -> None:
    lines = [
        "  File x",
        "KeyError: 'a'",
        "tvm.error.OpNotImplemented: no LSTM",
        "[1:2] Warning: blocks remain",
    ]
    assert reason(lines) == "tvm.error.OpNotImplemented: no LSTM"
    assert reason(["x", "Killed"]) == "Killed"


def test_a_worker_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    path, feeds = tmp_path / "model.onnx", tmp_path / "feeds.npz"
    path.write_bytes(mnist_cnn().SerializeToString())
    write_feeds(feeds, feeds_for(path))
    with pytest.raises(PeerError, match="no answer within 0 s"):
        Worker(XONNC, path, feeds, 1, tmp_path, timeout=0.01)


def test_peers_that_are_not_installed_are_not_there() -> None:
    def never(task: Task) -> Run:
        raise AssertionError(task)

    assert not Peer("none", ["no_such_package.part"], never).is_installed()
    assert not Peer("none", ["numpy", "no_such_package"], never).is_installed()
    assert Peer("numpy", ["numpy"], never).is_installed()


def test_tables_have_a_dash_and_a_reason_for_what_did_not_run() -> None:
    row = ModelResult(
        "lstm",
        14.0,
        {name: CompileCost(2.0, 50.0) for name in (BASELINE, XONNC)},
        {XONNC: CompileCost(0.5, 9.0)},
    )
    row.latencies = {BASELINE: latency([[0.002]], [[0.002]]), XONNC: latency([[0.001]], [[0.002]])}
    other = ModelResult("unet", 7.0, dict(row.compile_cost), {}, dict(row.latencies), load=2.25)
    other.compile_cost["tvm"], other.latencies["tvm"] = CompileCost(3.0, 70.0), latency([[0.004]], [[0.002]])
    row.failures = {"tvm": "no LSTM"}
    text = section([row, other])
    assert text.startswith(
        "Load average of the machine during the measurement, the peers included: 0.0 to 2.2.\n\nLat"
    )
    assert "| model | onnxruntime | xonnc | tvm |" in text
    assert "| lstm | 2.00 ms | 0.50 (0.50) | – |" in text
    assert "| unet | 2.00 ms | 0.50 (0.50) | 2.00 (2.00) |" in text
    assert "| geometric mean of networks |  | 0.50 (0.50) of 2 | 2.00 (2.00) of 1 |" in text
    chain = ModelResult(
        "chain5k",
        0.2,
        dict(row.compile_cost),
        {},
        {BASELINE: latency([[1.0]], [[1.0]]), XONNC: latency([[0.01]], [[1.0]])},
    )
    assert "| geometric mean of networks |  | 0.50 (0.50) of 1 |" in section([row, chain])
    assert "| lstm | 2.00 | 2.00 (0.50) | – |" in text
    assert "| unet | 7 | 50 | 50 | 70 |" in text
    assert text.endswith("error output:\n\n* lstm, tvm: no LSTM\n")


def test_rows_are_read_as_they_were_written() -> None:
    row = ModelResult(
        "lstm",
        14.0,
        {XONNC: CompileCost(2.0, 50.0)},
        {XONNC: CompileCost(0.5, 9.0)},
        failures={"tvm": "no LSTM"},
        load=1.5,
    )
    row.latencies[XONNC] = latency([[1.0]], [[2.0]])
    assert rows_of(json.loads(json.dumps([asdict(row)]))) == [row]


@pytest.mark.parametrize(
    ("seconds", "recompile_seconds", "peak", "message"),
    [
        (15.0, 1.0, 228.0, ""),
        (16.0, 1.0, 228.0, "lstm: 16.0 s to compile and run (limit 15 s)"),
        (15.0, 1.5, 228.0, "lstm: 1.5 s with a warm cache (limit 1 s)"),
        (15.0, 1.0, 229.0, "lstm: peak 229 MB (limit 228 MB)"),
    ],
)
def test_what_compiles_slower_than_promised_is_told(
    seconds: float, recompile_seconds: float, peak: float, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = ModelResult(
        "lstm", 14.0, {XONNC: CompileCost(seconds, peak)}, {XONNC: CompileCost(recompile_seconds, 9.0)}
    )
    row.latencies = {BASELINE: latency([[1.0]], [[1.0]]), XONNC: latency([[1.0]], [[1.0]])}
    assert conclude([row]) == bool(message)
    assert message in capsys.readouterr().out


def test_sections_of_a_page_are_written_anew_or_added(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\nText.\n\n## Models, one thread\n\nold\n\n## How\n\nso\n")
    replace_section(page, heading("Models", 1), "new\n")
    replace_section(page, heading("Kernels", 2), "other")
    replace_section(page, heading("Kernels", 2), "last")
    assert page.read_text() == (
        "# Page\n\nText.\n\n## Models, one thread\n\nnew\n\n## How\n\nso\n\n## Kernels, two threads\n\nlast\n"
    )


def test_kernels_are_models_and_lines_of_a_table() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert [len(build_model(case).graph.node) for case in CASES[:1]] == [1]
    case = CASES[0]
    row = ModelResult(
        case.name, 1.0, latencies={BASELINE: latency([[2e-3]], [[2e-3]]), XONNC: latency([[1e-3]], [[2e-3]])}
    )
    found = KernelResult(case, row, 5e-4)
    assert line_of_kernel(found).endswith(
        "1000.0 us, onnxruntime    2000.0 us,  0.50 (0.50)  151 GFLOP/s  50%"
    )
    moved = KernelResult(replace(case, flops=0, elements=1_000_000), row, 1e-4)
    other = KernelResult(CASES[1], ModelResult(CASES[1].name, 1.0, failures={XONNC: "differs"}), 1.0)
    assert "differs" in line_of_kernel(other)
    lines = table([found, moved, other]).splitlines()
    assert lines[4] == f"| {case.name} | 1000.0 | 2000.0 | 0.50 (0.50) | 151 GFLOP/s | 50% |"
    assert lines[5].endswith("| 4 GB/s | 10% |")
    assert lines[6] == f"| {CASES[1].name} | differs |" + "  |" * 4


def test_the_bound_of_a_kernel_is_that_of_the_machine() -> None:
    assert CASES[0].seconds_bound(1) > 0
