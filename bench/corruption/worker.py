"""Run commands on corrupted files in this process and report those that do not end cleanly."""

from __future__ import annotations

import io
import os
import re
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

import numpy as np

from bench.corruption.corpus import FORMATS, Command, Files, Format, valid_files
from xonnc.errors import XonncError
from xonnc.tools import driver, opt, translate
from xonnc.tools.process import run

ROOT = Path(__file__).resolve().parents[2]
MAX_SECONDS = 10.0
"""CPU time limit of a command."""
MAX_MEMORY = 2 << 30
"""Limit of the data segment of the process (RLIMIT_DATA)."""
CHECKS_BY_EXIT = ("inspect", "check", "explain")
"""Commands that exit with 1 for a negative verdict and print the reasons to stdout."""


class TimeLimitError(BaseException):
    """A command exceeded the time limit. A `BaseException`, so that no handler of errors catches it."""


@dataclass(frozen=True)
class UncleanExit:
    """A command that did not end cleanly: what happened, and where in the code."""

    command: str
    what: str


def find_format(name: str) -> Format:
    """The format of a name."""
    return next(each for each in FORMATS if each.name == name)


def make_case(format_: Format, number: int, seed: int) -> tuple[Files, Command]:
    """The files of a case, one of them mutated, and the command that reads them; deterministic."""
    random = Random(f"{seed} {format_.name} {number}")
    samples = format_.samples()
    files = dict(samples[random.randrange(len(samples))])
    ending, mutator = random.choice(list(format_.mutators.items()))
    for name in sorted(files):
        if name.endswith(ending):
            files[name] = mutator(random, files[name])
    known = {*files, *valid_files()}
    fitting = [
        command
        for command in format_.commands
        if all("." not in word or word in known or word.startswith("out.") for word in command[1:])
    ]
    return files, random.choice(fitting)


def run_command(folder: Path, files: Files, command: Command) -> UncleanExit | None:
    """Run `command` on `files` in `folder`; return the fault, or `None` if it ends cleanly."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    before = Path.cwd()
    os.chdir(folder)
    out, err = _Text(), _Text()
    try:
        with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(), _limited_time():
            warnings.simplefilter("always")
            code = TOOLS[command[0]](list(command[1:]))
        what = _fault(command, code, out.getvalue(), err.getvalue(), folder)
    except TimeLimitError as error:
        what = f"takes over {MAX_SECONDS} s in {error}"
    except SystemExit as error:
        what = f"ends the process with {error.code}"
    except BaseException as error:
        what = f"raises {type(error).__name__}: {_one_line(str(error))}"
    finally:
        os.chdir(before)
        for path in folder.iterdir():
            if path.is_file() and (path.name in files or path.name.startswith(("out.", ".out."))):
                path.unlink()
    return None if what is None else UncleanExit(" ".join(command), what)


class _Text(io.StringIO):
    """Captured text output without a binary buffer: commands write binary output to files."""


def _fault(command: Command, code: int, out: str, err: str, folder: Path) -> str | None:
    lines = err.splitlines()
    if code not in (0, 1):
        return f"exit {code}: {_reason(folder) or _one_line(err)}"
    if "Traceback" in err:
        return f"a traceback: {lines[-1]}"
    if "not enough memory" in err:
        return "not enough memory"
    if found := next((line for line in lines if "Warning: " in line), None):
        return f"a warning of Python: {re.sub(r'^.*?:[0-9]+: ', '', found)}"
    silent = not lines and command[1] not in CHECKS_BY_EXIT
    if code == 1 and silent:
        return "exit 1 without a word"
    if left := [path.name for path in folder.iterdir() if code and path.name.startswith(("out.", ".out."))]:
        return f"exit 1, but leaves {', '.join(left)}"
    return None


def _reason(folder: Path) -> str:
    """The innermost source location of this project and the error, from a bug report that a tool wrote."""
    found = ""
    for path in folder.glob("*-bug-*.txt"):
        text = path.read_text()
        frames: list[tuple[str, str]] = re.findall(r'File "([^"]+)", line (\d+)', text)
        error = _one_line(text.strip().splitlines()[-1])
        found = f"{error[:160]} at {_source_location(frames)}"
    for path in folder.glob("*-bug-*"):
        path.unlink()
    return found


def _source_location(frames: Sequence[tuple[str, str | int]]) -> str:
    """The innermost frame in a file of this project."""
    ours = [(file, line) for file, line in frames if file.startswith(str(ROOT)) and "/.venv/" not in file]
    file, line = [*frames[:1], *ours][-1] if frames else ("?", 0)
    return f"{file.removeprefix(str(ROOT) + '/').removeprefix('src/xonnc/')}:{line}"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]


@contextmanager
def _limited_time() -> Generator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        frames = [(each.filename, each.lineno or 0) for each in traceback.extract_stack(frame)]
        raise TimeLimitError(_source_location(frames))

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _session(arguments: list[str]) -> int:
    """Compile a model to native code and run it on zeros."""
    import xonnc

    def work() -> int:
        session = xonnc.compile(arguments[0], target="cpu", threads=1, cache=False)
        feeds: dict[str, object] = {}
        for port in session.inputs:
            shape = [size if isinstance(size, int) else 2 for size in port.shape or ()]
            if np.prod(shape, dtype=np.float64) > 1 << 24:
                raise XonncError("too large to be fed")
            feeds[port.name] = np.zeros(shape, port.dtype)
        session.run(None, feeds)
        return 0

    return run("session", work, arguments)


TOOLS: dict[str, Callable[[list[str]], int]] = {
    "xonnc": driver.main,
    "onnx-opt": opt.main,
    "onnx-translate": translate.main,
    "session": _session,
}


def main() -> None:
    """`worker.py FORMAT BEGIN END SEED FOLDER`: print a line for each case and each fault."""
    name, begin, end, seed, path = sys.argv[1:]
    folder = Path(path)
    tempfile.tempdir = path
    format_ = find_format(name)
    for other, content in valid_files().items():
        (folder / other).write_bytes(content)
    format_.samples()
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    for number in range(int(begin), int(end)):
        lines.write(f"case {number}\n")
        files, command = make_case(format_, number, int(seed))
        fault = run_command(folder, files, command)
        if fault is not None:
            lines.write(f"fault {fault.command} | {_one_line(fault.what)}\n")
    lines.write("done\n")


if __name__ == "__main__":
    main()
