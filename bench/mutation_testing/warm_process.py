"""
A process that has imported the package and pytest, and runs the tests of each mutant in a fork of itself.

A fork starts in milliseconds instead of the seconds that the imports take. In it the mutated functions get
their new code in place. Mutants of code that ran while the modules were imported cannot be made this way.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import IO

IMPORTED = "imported"
"""The answer of a process that is ready."""

COLD = "cold"
"""The answer for a mutant that needs a new process."""

FUNCTION_FLAG = 1
"""`CO_OPTIMIZED`, which the code of functions has and that of modules and classes has not."""

CodeKey = tuple[str, int]
"""Qualified name and first line of a function's code."""


class WarmProcess:
    """A warm process of a checkout, to be started while no mutant is in it."""

    def __init__(self, root: Path, environment: dict[str, str], memory: int, log: Path) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(memory)],
                cwd=root,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._answers.readline()

    def run(self, arguments: Sequence[str], mutated: str, seconds: float, log: Path) -> int | str | None:
        """Exit code of Python with arguments, `None` on timeout, or `COLD` if a new process is needed."""
        if self._process.poll() is not None:
            return COLD
        request = {"arguments": arguments, "mutated": mutated, "seconds": seconds, "log": str(log)}
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        answer: int | str | None = json.loads(self._answers.readline() or f'"{COLD}"')
        return answer

    def close(self) -> None:
        """End the process."""
        self._requests.close()
        self._process.wait()


def import_all(root: Path) -> set[CodeType]:
    """Import every module of the package that can be imported; return the code that ran."""
    ran: set[CodeType] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            ran.add(frame.f_code)

    package = root / "src" / "xonnc"
    names = [
        ".".join(("xonnc", *path.relative_to(package).with_suffix("").parts))
        for path in sorted(python_files(package))
        if path.stem.isidentifier() and path.stem != "__main__"
    ]
    sys.setprofile(profile)
    try:
        for name in names:
            # Modules for packages that are not installed.
            with contextlib.suppress(ImportError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(name.removesuffix(".__init__"))
    finally:
        sys.setprofile(None)
    return ran


def python_files(folder: Path) -> Iterator[Path]:
    """Python files of a folder and of those that it links to."""
    for path in folder.iterdir():
        if path.is_dir():
            yield from python_files(path)
        elif path.suffix == ".py":
            yield path


def replace_code(module: ModuleType, source: str, ran: set[CodeType]) -> bool:
    """
    Give the functions of a module the code of a changed source, in place.

    Return whether that is the whole change: nothing differs outside functions, and none that differs ran yet.
    """
    assert module.__file__ is not None
    file = module.__file__
    before = compile(SOURCES[file], file, "exec")
    changed = changed_functions(before, compile(source, file, "exec"))
    if changed is None:
        return False
    if any((code.co_filename, key_of(code)) in {(file, key) for key in changed} for code in ran):
        return False
    functions = [
        each
        for each in gc.get_objects()
        if isinstance(each, FunctionType)
        and each.__code__.co_filename == file
        and key_of(each.__code__) in changed
    ]
    for function in functions:
        function.__code__ = changed[key_of(function.__code__)]
    return {key_of(function.__code__) for function in functions} == changed.keys()


SOURCES: dict[str, str] = {}
"""Sources of the imported modules by file, as they were before any mutant."""


def key_of(code: CodeType) -> CodeKey:
    """What identifies the code of a function in its file."""
    return code.co_qualname, code.co_firstlineno


def changed_functions(before: CodeType, after: CodeType) -> dict[CodeKey, CodeType] | None:
    """The outermost functions that differ, or `None` if other code differs."""
    found: dict[CodeKey, CodeType] = {}
    if not _is_same_alone(before, after):
        return None
    for old, new in zip(nested(before), nested(after), strict=True):
        if old == new:
            continue
        if old.co_flags & FUNCTION_FLAG:
            # A comprehension outside functions has run.
            if old.co_name.startswith("<") and old.co_name != "<lambda>":
                return None
            found[key_of(old)] = new
            continue
        inner = changed_functions(old, new)
        if inner is None:
            return None
        found |= inner
    return found


def nested(code: CodeType) -> list[CodeType]:
    """The code objects among the constants of another."""
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _is_same_alone(before: CodeType, after: CodeType) -> bool:
    """Whether two code objects are equal but for those nested in them."""

    def alone(code: CodeType) -> tuple[object, ...]:
        constants = [None if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
        return code.co_code, code.co_names, code.co_varnames, code.co_freevars, tuple(constants)

    return alone(before) == alone(after)


def _child(arguments: list[str], log_file: str, memory: int) -> None:
    """Run Python's `arguments` in this process, and end it."""
    os.setsid()
    log = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    code = 1
    try:
        if arguments[:2] == ["-m", "pytest"]:
            import pytest

            code = int(pytest.main(arguments[2:]))
        else:
            sys.argv = ["-c", *arguments[2:]]
            exec(compile(arguments[1], "-c", "exec"), {"__name__": "__main__"})
            code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _is_replaced(mutated: str, root: Path, ran: set[CodeType]) -> bool:
    """Apply the mutant in the file to this process if it is loaded here; whether all of it could be."""
    name = "xonnc." + mutated.removeprefix("src/xonnc/").removesuffix(".py").replace("/", ".")
    module = sys.modules.get(name.removesuffix(".__init__"))
    # What is not loaded yet is imported as the file is now.
    return module is None or replace_code(module, (root / mutated).read_text(), ran)


def _serve(requests: IO[str], answers: IO[str], memory: int) -> None:
    root = Path.cwd()
    for name in ("lit.main", "pytest"):
        importlib.import_module(name)
    ran = import_all(root)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(str(root)) and file.endswith(".py"):
            SOURCES[file] = Path(file).read_text()
    gc.collect()
    gc.freeze()
    answers.write(IMPORTED + "\n")
    answers.flush()
    for line in requests:
        request = json.loads(line)
        readable, writable = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(readable)
            gc.unfreeze()
            replaced = _is_replaced(request["mutated"], root, ran)
            os.write(writable, b"1" if replaced else b"0")
            os.close(writable)
            if not replaced:
                os._exit(0)
            _child(request["arguments"], request["log"], memory)
        os.close(writable)
        is_replaced = os.read(readable, 1) == b"1"
        os.close(readable)
        code = _wait(pid, time.monotonic() + request["seconds"])
        answers.write(json.dumps(code if is_replaced else COLD) + "\n")
        answers.flush()


def _wait(pid: int, deadline: float) -> int | None:
    """Exit code of a child, or `None` if it is ended at the deadline."""
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(0.05)


if __name__ == "__main__":
    _serve(sys.stdin, sys.stdout, int(sys.argv[1]))
