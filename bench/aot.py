"""
Ahead-of-time artifacts: models as shared libraries and as C source, run from a C program without Python.

    python bench/aot.py [--models light_squeezenet lstm …] [--forms so c] [--json FILE]

Measures file sizes, compile times and latency, and compares the outputs with those of the Python session.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.latency.feeds import feeds_for
from bench.models import NETWORKS, path_of, size_of
from xonnc.artifacts import compile_artifact
from xonnc.native import compile_native

Array = npt.NDArray[np.generic]

MODELS = ("light_squeezenet", "resnet50", "mobilenet_v2", "lstm", "resnet18_qdq")
FORMATS = ("so", "c")

OPTIONS: Mapping[str, Sequence[str]] = {
    "so": ("-Wl,-rpath,.",),
    "c": ("-O3", "-march=native", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"),
}
"""Flags of the C compiler by artifact format."""

TOLERANCE = 2e-4
"""Largest allowed error relative to the largest magnitude: summation order may differ."""

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "model.h"

int main(void)
{
    model_model *m;
    int32_t code;
    int number, run;
    double best = 1e9;
    if ((code = model_create(&m, NULL))) return puts(model_message(code)), 1;
    for (number = 0; number < model_input_count(); number++) {
        const size_t bytes = model_input_bytes(number);
        void *data = malloc(bytes ? bytes : 1);
        if (fread(data, 1, bytes, stdin) != bytes) return 2;
        if ((code = model_set_input(m, number, data, bytes))) return puts(model_message(code)), 1;
    }
    for (run = 0; run < RUNS; run++) {
        struct timespec start, end;
        timespec_get(&start, TIME_UTC);
        if ((code = model_run(m))) return puts(model_message(code)), 1;
        timespec_get(&end, TIME_UTC);
        const double took = difftime(end.tv_sec, start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
        if (took < best) best = took;
    }
    fprintf(stderr, "%.9f", best);
    for (number = 0; number < model_output_count(); number++)
        fwrite(model_get_output(m, number), 1, model_output_bytes(number), stdout);
    model_destroy(m);
    return 0;
}
"""


@dataclass(frozen=True)
class AotResult:
    """Measurements of one model in one format; sizes in bytes, times in seconds."""

    model: str
    form: str
    model_bytes: int
    files: dict[str, int]
    program_bytes: int
    compiled: float
    built: float
    run: float
    """Best latency of the C program."""
    session: float
    """Best latency of the JIT-compiled session in Python."""
    difference: float
    """Largest error of an output against the session, relative to the largest magnitude."""


def measure(model: str, form: str, runs: int = 20) -> AotResult:
    """Compile, build and run a model in one format; raise `RuntimeError` with stderr if a program fails."""
    path = path_of(model)
    feeds = feeds_for(path)
    session = compile_native(path, cache=False)
    expected = [np.asarray(each) for each in session.run(None, feeds)]
    times: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - start)
    with TemporaryDirectory() as name:
        folder = Path(name)
        start = time.perf_counter()
        shapes = {port: array.shape for port, array in feeds.items()}
        artifact = compile_artifact(path, folder / f"model.{form}", input_shapes=shapes)
        compiled = time.perf_counter() - start
        (folder / "main.c").write_text(MAIN.replace("RUNS", str(runs)))
        start = time.perf_counter()
        program = folder / "main"
        _command(["cc", *OPTIONS[form], "-o", program, "main.c", f"./model.{form}", "-lm"], folder)
        built = time.perf_counter() - start
        data = b"".join(np.ascontiguousarray(feeds[port.name]).tobytes() for port in session.inputs)
        # An empty environment: the program must need nothing but the files of this folder.
        actual, stderr = _command([program], folder, data, {})
        return AotResult(
            model,
            form,
            size_of(path),
            {file.name: size for file, size in artifact.files.items()},
            program.stat().st_size,
            compiled,
            built,
            float(stderr),
            min(times),
            _difference(actual, expected),
        )


def _command(
    command: Sequence[str | Path], folder: Path, data: bytes = b"", variables: Mapping[str, str] | None = None
) -> tuple[bytes, str]:
    """Run a program; return its stdout and stderr."""
    done = subprocess.run(
        command,
        cwd=folder,
        input=data,
        capture_output=True,
        env=dict(os.environ if variables is None else variables),
        check=False,
    )
    stderr = done.stderr.decode(errors="replace")
    if done.returncode:
        raise RuntimeError(f"{command[0]}: exit code {done.returncode}: {done.stdout[:200]!r} {stderr[:500]}")
    return done.stdout, stderr


def _difference(actual: bytes, expected: Sequence[Array]) -> float:
    largest, start = 0.0, 0
    for array in expected:
        given = np.frombuffer(actual, array.dtype, array.size, start).reshape(array.shape).astype(np.float64)
        start += array.nbytes
        numbers = array.astype(np.float64)
        largest = max(largest, float(np.abs(given - numbers).max() / max(np.abs(numbers).max(), 1e-30)))
    return largest if start == len(actual) else float("inf")


def line(result: AotResult) -> str:
    """One result as a line of text."""
    files = ", ".join(f"{name} {size / 1e6:.2f}" for name, size in result.files.items())
    return (
        f"{result.model:<18} .{result.form:<3} model {result.model_bytes / 1e6:.2f} MB -> {files}, program "
        f"{result.program_bytes / 1e6:.2f} MB; compile {result.compiled:.2f} s, cc {result.built:.2f} s; run "
        f"{result.run * 1e3:.2f} ms, session {result.session * 1e3:.2f} ms; error {result.difference:.1e}"
    )


def table(results: Sequence[AotResult]) -> str:
    """Markdown table of sizes and times."""
    lines = ["| network | form | files | C compiler | program | one run |", "|---|---|---|---|---|---|"]
    for result in results:
        sizes = [size for name, size in result.files.items() if not name.endswith(".h")]
        files = " + ".join(f"{size / 1e6:.2f}" for size in sizes)
        lines.append(
            f"| {result.model} | `.{result.form}` | {files} MB | {result.built:.1f} s | "
            f"{result.program_bytes / 1e6:.2f} MB | {result.run * 1e3:.2f} ms |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; exit 1 if outputs differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--models", nargs="+", default=list(MODELS), metavar="NAME", choices=list(NETWORKS))
    parser.add_argument("--forms", nargs="+", default=list(FORMATS), choices=FORMATS)
    parser.add_argument("--json", type=Path, help="write all measurements to FILE")
    options = parser.parse_args(arguments)
    results: list[AotResult] = []
    for model in options.models:
        for form in options.forms:
            results.append(measure(model, form))
            print(line(results[-1]), flush=True)
    print(table(results))
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1))
    return 1 if any(result.difference > TOLERANCE for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
