"""
One peer with one model, in a process of its own that runs on command.

`start` starts it; on its standard input a number asks for so many runs (the answer: seconds of each), a path
for the outputs in a file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.racing.peers import PEERS
from bench.simplifying.memory import begin_peak, peak


@dataclass(frozen=True)
class Ready:
    """What compiling took: seconds, and megabytes beyond what the process held before."""

    seconds: float
    peak: float


class Failed(Exception):
    """A peer ended before its time; the message is its last line."""


class Worker:
    """A peer's process; `ready` is what compiling took."""

    def __init__(self, peer: str, path: Path, feeds: Path, threads: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, peer, str(path), str(feeds), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        self.ready = Ready(**json.loads(self._answer()))

    def run(self, count: int) -> list[float]:
        """Runs so many times; the seconds of each."""
        return json.loads(self._ask(str(count)))

    def outputs(self, path: Path) -> list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
        """What the model gives."""
        self._ask(str(path))
        with np.load(path) as held:
            return [held[name] for name in held.files]

    def end(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _ask(self, command: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        # What peers print themselves does not begin with the word.
        for line in self._process.stdout:
            if line.startswith("answer "):
                return line.removeprefix("answer ")
        lines = self._process.stderr.read().strip().splitlines() or ["no message"]
        raise Failed(lines[-1][-200:])


def main() -> int:
    """Compiles, then obeys."""
    peer, path, feeds_path, threads = sys.argv[1:]
    if threads == "1" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    opened = PEERS[peer]
    __import__(opened.package)
    with np.load(feeds_path) as held:
        feeds = {name: held[name] for name in held.files}
    before = begin_peak()
    begun = time.perf_counter()
    run = opened.open(Path(path), int(threads))
    _answer(json.dumps({"seconds": time.perf_counter() - begun, "peak": peak() - before}))
    for line in sys.stdin:
        command = line.strip()
        if not command.isdigit():
            np.savez(command, *(np.asarray(output) for output in run(feeds)))
            _answer("done")
            continue
        seconds: list[float] = []
        for _ in range(int(command)):
            begun = time.perf_counter()
            run(feeds)
            seconds.append(time.perf_counter() - begun)
        _answer(json.dumps(seconds))
    return 0


def _answer(text: str) -> None:
    print(f"answer {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
