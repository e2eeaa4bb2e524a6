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
from bench.kernels import CASES, Found, model_of, table
from bench.kernels import line as line_of_kernel
from bench.latency.feeds import feeds_for, write_feeds
from bench.latency.measure import Row, rows_of
from bench.latency.page import heading, replace_section
from bench.latency.peers import ANCHOR, OURS, Peer
from bench.latency.ratios import pace
from bench.latency.roofline import bytes_a_second, products_a_second
from bench.latency.tables import line
from bench.latency.task import Run, Task
from bench.latency.worker import Failed, Ready, Worker, reason
from bench.zoo.convolutional import mnist_cnn


def test_turns_are_compared_with_their_neighbours() -> None:
    found = pace([[1.0, 1.0], [4.0, 4.0], [3.0, 1.0]], [[2.0, 2.0], [4.0, 4.0], [4.0, 4.0]])
    assert (found.best, found.median, found.minimum, found.pairs) == (1.0, 0.5, 0.5, 3)
    assert not found.is_noisy
    assert pace([[1.0], [9.0]], [[1.0], [3.0]]).is_noisy


@pytest.mark.parametrize(("seconds", "broken"), [(1.0, 0), (1.2, 1), (1.3, 1)])
def test_what_is_slower_than_promised_is_told(
    seconds: float, broken: int, capsys: pytest.CaptureFixture[str]
):
    row = Row("resnet18", 47.0, {name: Ready(1.0, 50.0) for name in (ANCHOR, OURS)})
    row.paces = {ANCHOR: pace([[1.0]], [[1.0]]), OURS: pace([[seconds]], [[1.0]])}
    assert conclude([row]) == broken
    assert ("above 1.25: resnet18 1.30" in capsys.readouterr().out) == (seconds == 1.3)
    assert f"{seconds:5.2f} ({seconds:.2f})" in line(row)


def test_a_peer_that_failed_breaks_the_promise() -> None:
    row = Row("lstm", 14.0, failures={OURS: "its outputs differ by 1.0e+00"})
    assert conclude([row]) == 1
    assert "differ" in line(row)


def test_a_worker_compiles_runs_and_writes(tmp_path: Path) -> None:
    path, feeds = tmp_path / "model.onnx", tmp_path / "feeds.npz"
    path.write_bytes(mnist_cnn().SerializeToString())
    write_feeds(feeds, feeds_for(path))
    worker = Worker(OURS, path, feeds, 1, tmp_path)
    assert worker.ready.seconds > 0
    assert len(worker.run(3)) == 3
    (output,) = worker.outputs(tmp_path / "out.npz")
    assert output.shape == (1, 10)
    assert np.isfinite(output.astype(np.float32)).all()
    worker.end()


def test_a_worker_that_fails_says_why(tmp_path: Path) -> None:
    path, feeds = tmp_path / "model.onnx", tmp_path / "feeds.npz"
    path.write_bytes(b"no model")
    write_feeds(feeds, {})
    with pytest.raises(Failed, match=r"model\.onnx"):
        Worker(OURS, path, feeds, 1, tmp_path)


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
    with pytest.raises(Failed, match="no answer within 0 s"):
        Worker(OURS, path, feeds, 1, tmp_path, patience=0.01)


def test_peers_that_are_not_installed_are_not_there() -> None:
    def never(task: Task) -> Run:
        raise AssertionError(task)

    assert not Peer("none", ["no_such_package.part"], never).is_there()
    assert not Peer("none", ["numpy", "no_such_package"], never).is_there()
    assert Peer("numpy", ["numpy"], never).is_there()


def test_tables_have_a_dash_and_a_reason_for_what_did_not_run() -> None:
    row = Row("lstm", 14.0, {name: Ready(2.0, 50.0) for name in (ANCHOR, OURS)}, {OURS: Ready(0.5, 9.0)})
    row.paces = {ANCHOR: pace([[0.002]], [[0.002]]), OURS: pace([[0.001]], [[0.002]])}
    other = Row("unet", 7.0, dict(row.ready), {}, dict(row.paces), load=2.25)
    other.ready["tvm"], other.paces["tvm"] = Ready(3.0, 70.0), pace([[0.004]], [[0.002]])
    row.failures = {"tvm": "no LSTM"}
    text = section([row, other])
    assert text.startswith(
        "Load average of the machine meanwhile, the peers' own among it: 0.0 to 2.2.\n\nLat"
    )
    assert "| model | onnxruntime | xonnc | tvm |" in text
    assert "| lstm | 2.00 ms | 0.50 (0.50) | – |" in text
    assert "| unet | 2.00 ms | 0.50 (0.50) | 2.00 (2.00) |" in text
    assert "| geometric mean of networks |  | 0.50 (0.50) of 2 | 2.00 (2.00) of 1 |" in text
    chain = Row(
        "chain5k", 0.2, dict(row.ready), {}, {ANCHOR: pace([[1.0]], [[1.0]]), OURS: pace([[0.01]], [[1.0]])}
    )
    assert "| geometric mean of networks |  | 0.50 (0.50) of 1 |" in section([row, chain])
    assert "| lstm | 2.00 | 2.00 (0.50) | – |" in text
    assert "| unet | 7 | 50 | 50 | 70 |" in text
    assert text.endswith("was said:\n\n* lstm, tvm: no LSTM\n")


def test_rows_are_read_as_they_were_written() -> None:
    row = Row(
        "lstm", 14.0, {OURS: Ready(2.0, 50.0)}, {OURS: Ready(0.5, 9.0)}, failures={"tvm": "no LSTM"}, load=1.5
    )
    row.paces[OURS] = pace([[1.0]], [[2.0]])
    assert rows_of(json.loads(json.dumps([asdict(row)]))) == [row]


@pytest.mark.parametrize(
    ("seconds", "again", "peak", "said"),
    [
        (15.0, 1.0, 228.0, ""),
        (16.0, 1.0, 228.0, "lstm: 16.0 s to the first answer (at most 15)"),
        (15.0, 1.5, 228.0, "lstm: 1.5 s the second time (at most 1)"),
        (15.0, 1.0, 229.0, "lstm: 229 MB (at most 228)"),
    ],
)
def test_what_compiles_slower_than_promised_is_told(
    seconds: float, again: float, peak: float, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = Row("lstm", 14.0, {OURS: Ready(seconds, peak)}, {OURS: Ready(again, 9.0)})
    row.paces = {ANCHOR: pace([[1.0]], [[1.0]]), OURS: pace([[1.0]], [[1.0]])}
    assert conclude([row]) == bool(said)
    assert said in capsys.readouterr().out


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
    assert [len(model_of(case).graph.node) for case in CASES[:1]] == [1]
    case = CASES[0]
    row = Row(case.name, 1.0, paces={ANCHOR: pace([[2e-3]], [[2e-3]]), OURS: pace([[1e-3]], [[2e-3]])})
    found = Found(case, row, 5e-4)
    assert line_of_kernel(found).endswith(
        "1000.0 us, onnxruntime    2000.0 us,  0.50 (0.50)  151 GFLOP/s  50%"
    )
    moved = Found(replace(case, work=0, numbers=1_000_000), row, 1e-4)
    other = Found(CASES[1], Row(CASES[1].name, 1.0, failures={OURS: "differs"}), 1.0)
    assert "differs" in line_of_kernel(other)
    lines = table([found, moved, other]).splitlines()
    assert lines[4] == f"| {case.name} | 1000.0 | 2000.0 | 0.50 (0.50) | 151 GFLOP/s | 50% |"
    assert lines[5].endswith("| 4 GB/s | 10% |")
    assert lines[6] == f"| {CASES[1].name} | differs |" + "  |" * 4


def test_peaks_are_measured_by_loops_that_run() -> None:
    assert products_a_second(1) > 1e8
    assert bytes_a_second(1 << 16, 2, writes=True) > 1e8
    assert bytes_a_second(1 << 16, 1, writes=False) > 1e8
    assert CASES[0].bound(1) > 0
