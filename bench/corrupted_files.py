"""
Mutation fuzzing of input files: every corrupted file must end in a clean error, within 10 s and 2 GB.

    python bench/corrupted_files.py [--count 1000] [--format onnx] [--seed 0] [--state FILE] [--save DIR]

`--count` is for each format. With `--state` an interrupted run resumes. Commands run inside worker processes
with limited memory; a worker that dies or hangs is a fault of the case it was running.
"""

from __future__ import annotations

import argparse
import json
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.corruption.corpus import FORMATS
from bench.corruption.worker import find_format, make_case

BATCH = 400
"""Cases per worker process: a restart frees caches and leaks."""
HANG_SECONDS = 120
"""Seconds without output after which a worker counts as hung, e.g. in C code that no signal interrupts."""


def main() -> int:
    """Run all cases; exit 1 if there is a fault."""
    parser = argparse.ArgumentParser(description="corrupted files of every format")
    parser.add_argument("--count", type=int, default=1000, help="cases of each format (default: %(default)s)")
    parser.add_argument(
        "--format", action="append", choices=[format_.name for format_ in FORMATS], default=[]
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, help="file for the state of an interrupted run")
    parser.add_argument("--save", type=Path, help="folder for the files of faults")
    args = parser.parse_args()
    state: dict[str, RunState] = {}
    if args.state and args.state.exists():
        state = {name: RunState(*each) for name, each in json.loads(args.state.read_text()).items()}
    for format_ in FORMATS:
        if args.format and format_.name not in args.format:
            continue
        _run(format_.name, args, state)
    total = sum(each.done for each in state.values())
    faults = sum(len(each.faults) for each in state.values())
    print(f"{total} cases, {faults} faults")
    return 1 if faults else 0


class RunState(NamedTuple):
    """State of the run of one format: number of cases done, and the faults with their case numbers."""

    done: int = 0
    faults: tuple[str, ...] = ()


def _run(name: str, args: argparse.Namespace, state: dict[str, RunState]) -> None:
    """Run the remaining cases of one format."""
    begun, first = time.perf_counter(), state.setdefault(name, RunState()).done
    while state[name].done < args.count:
        known = state[name]
        done, found = _batch(name, known.done, min(known.done + BATCH, args.count), args.seed)
        for number, fault in found:
            _save(args.save, name, number, args.seed, fault)
        state[name] = RunState(done, (*known.faults, *(f"{number} {fault}" for number, fault in found)))
        if args.state:
            args.state.write_text(json.dumps(state, indent=1))
    done, faults = state[name]
    seconds = time.perf_counter() - begun
    print(f"{name}: {done} cases, {len(faults)} faults, {seconds:.0f} s for {done - first}", flush=True)
    kinds = Counter(fault.partition(" | ")[2] for fault in faults)
    for kind, count in kinds.most_common():
        example = next(fault for fault in faults if fault.endswith(kind))
        print(f"  {count} x {kind} (case {example.partition(' | ')[0]})")


def _batch(name: str, begin: int, end: int, seed: int) -> tuple[int, list[tuple[int, str]]]:
    """Run cases `begin` to `end` in one process; return the next case number and the faults."""
    with TemporaryDirectory(prefix="corrupted-") as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.corruption.worker", name, str(begin), str(end), str(seed), folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=Path(__file__).resolve().parent.parent,
        )
        assert process.stdout is not None
        current, found = begin, list[tuple[int, str]]()
        hangs = False
        while True:
            if not select.select([process.stdout], [], [], HANG_SECONDS)[0]:
                hangs = True
                process.kill()
                break
            line = process.stdout.readline()
            if not line or line == "done\n":
                break
            kind, _, rest = line.rstrip("\n").partition(" ")
            if kind == "case":
                current = int(rest)
            else:
                found.append((current, rest))
        code = process.wait()
    if code == 0:
        return end, found
    _, command = make_case(find_format(name), current, seed)
    what = f"hangs for {HANG_SECONDS} s" if hangs else f"dies of {_signal(code)}"
    return current + 1, [*found, (current, f"{' '.join(command)} | {what}")]


def _signal(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _save(folder: Path | None, name: str, number: int, seed: int, fault: str) -> None:
    """Save the files of a fault with its message."""
    if folder is None:
        return
    path = folder / f"{name}-{number}"
    path.mkdir(parents=True, exist_ok=True)
    files, _ = make_case(find_format(name), number, seed)
    for file, content in files.items():
        (path / file).write_bytes(content)
    (path / "fault.txt").write_text(fault + "\n")


if __name__ == "__main__":
    sys.exit(main())
