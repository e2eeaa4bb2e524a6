"""
One peer with one model in its own process, controlled over standard input.

A line with a number requests so many runs and returns the seconds of each, `cpu` before it those of the
processor; any other line is the path to which the outputs of the first run are written.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.latency.peers import PEERS
from bench.latency.task import Task
from bench.simplification.memory import begin_peak, peak

CPU = "cpu"
"""Before a number of runs: measure the time of the processor."""

TIMEOUT_SECONDS = 300.0
"""Time limit of a peer for compiling and running once, in seconds."""


@dataclass(frozen=True)
class CompileCost:
    """Cost of compiling and running once: seconds, and growth of the process in MB."""

    seconds: float
    peak: float


class PeerError(Exception):
    """A peer process failed; the message is the last line of its error output."""


def reason(lines: Sequence[str]) -> str:
    """The last line that names an error, since warnings at exit may follow it; else the last line."""
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Implemented)\b", line)]
    return (errors or lines)[-1]


class Worker:
    """
    The process of a peer; `compile_cost` is the cost of compiling and running once.

    `folder` is the peer's cache, `checkout` that of the xonnc to measure, if it is not this one. Raises
    `PeerError` if the process does not answer within `timeout` seconds.
    """

    def __init__(
        self,
        peer: str,
        path: Path,
        feeds: Path,
        threads: int,
        folder: Path,
        timeout: float = TIMEOUT_SECONDS,
        checkout: Path | None = None,
    ) -> None:
        # A file, not a pipe: a peer with much output would block on a full pipe.
        self._errors = TemporaryFile("w+", errors="replace")
        self._process = subprocess.Popen(
            [sys.executable, __file__, peer, str(path), str(feeds), str(threads), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            errors="replace",
            env=None if checkout is None else os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")},
        )
        self._is_late = False
        timer = Timer(timeout, self._give_up)
        timer.start()
        try:
            self.compile_cost = CompileCost(**json.loads(self._answer()))
        except PeerError as failure:
            raise PeerError(f"no answer within {timeout:.0f} s") if self._is_late else failure from None
        finally:
            timer.cancel()

    def run(self, count: int) -> list[float]:
        """Run `count` times; return the seconds of each."""
        return json.loads(self._ask(str(count)))

    def cpu_seconds(self, count: int) -> list[float]:
        """Run `count` times; return the processor time of each, which other processes hardly change."""
        return json.loads(self._ask(f"{CPU} {count}"))

    def outputs(self, path: Path) -> list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
        """Outputs of the first run."""
        self._ask(str(path))
        with np.load(path) as arrays:
            return [arrays[name] for name in arrays.files]

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()

    def _give_up(self) -> None:
        self._is_late = True
        self._process.kill()

    def _ask(self, command: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        # Skip output of the peer itself.
        for line in self._process.stdout:
            if line.startswith("answer "):
                return line.removeprefix("answer ")
        ended = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines() or [f"it ended with {ended} and no message"]
        raise PeerError(reason(lines)[:200])


def main() -> int:
    """Compile and run once, then serve requests."""
    peer, path, feeds_path, threads, folder = sys.argv[1:]
    if threads == "1" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    opened = PEERS[peer]
    opened.import_packages()
    with np.load(feeds_path) as arrays:
        feeds = {name: arrays[name] for name in arrays.files}
    before = begin_peak()
    begun = time.perf_counter()
    run = opened.open(Task(Path(path), int(threads), feeds, Path(folder)))
    # Models with dynamic shapes may be compiled in the first run.
    first = run(feeds)
    seconds = time.perf_counter() - begun
    _answer(json.dumps({"seconds": seconds, "peak": peak() - before}))
    outputs = [np.array(output) for output in first]
    for line in sys.stdin:
        command = line.strip()
        kind, _, count = command.rpartition(" ")
        if not count.isdigit() or kind not in ("", CPU):
            np.savez(command, *outputs)
            _answer("done")
            continue
        clock = time.process_time if kind == CPU else time.perf_counter
        round_: list[float] = []
        for _ in range(int(count)):
            begun = clock()
            run(feeds)
            round_.append(clock() - begun)
        _answer(json.dumps(round_))
    return 0


def _answer(text: str) -> None:
    print(f"answer {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
