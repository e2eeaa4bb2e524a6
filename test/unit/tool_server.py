"""
Run command-line tools in processes of their own that start in milliseconds.

Each is a fork of a server that has imported the tools and done nothing else: importing takes longer than what
most commands do. The scripts of the package themselves are run by test_packaging.py.

    done = run_tool(["xonnc", "plugins", "list"], cwd=tmp_path)
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import IO, NoReturn, TypedDict

TOOLS = {
    "xonnc": "xonnc.tools.driver",
    "onnx-opt": "xonnc.tools.opt",
    "onnx-translate": "xonnc.tools.translate",
}
"""Modules with a `main`, by the name of the script."""

IMPORTED = (
    *TOOLS.values(),
    *(f"xonnc.tools.commands.{name}" for name in ("compile", "explain", "plugins", "run", "simplify")),
    "xonnc.artifacts",
    "xonnc.compiler",
    "xonnc.packages",
    "onnx.reference",
)


class Request(TypedDict):
    """What a child is to run; its outputs are files."""

    command: list[str]
    cwd: str
    environment: dict[str, str]
    outputs: list[str]


def run_tool(
    command: Sequence[str | Path],
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    is_merged: bool = False,
) -> subprocess.CompletedProcess[str]:
    """
    Run a tool in a folder, with an environment in place of that of this process if one is given.

    If `is_merged`, what it writes to standard error is in `stdout`, in order.
    """
    words = [str(each) for each in command]
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder) / name for name in ("stdout", "stdout" if is_merged else "stderr")]
        request = Request(
            command=words,
            cwd=str(cwd),
            environment=dict(os.environ if environment is None else environment),
            outputs=[str(path) for path in outputs],
        )
        requests, answers = _server()
        print(json.dumps(request), file=requests, flush=True)
        code = int(answers.readline())
        printed, errors = (path.read_text() for path in outputs)
        return subprocess.CompletedProcess(words, code, printed, "" if is_merged else errors)


@cache
def _server() -> tuple[IO[str], IO[str]]:
    """Start the server, which ends when its input does."""
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None
    assert server.stdout is not None
    atexit.register(_stop, server)
    return server.stdin, server.stdout


def _stop(server: subprocess.Popen[str]) -> None:
    if server.stdin is not None:
        server.stdin.close()
    server.wait()


def serve() -> None:
    """Answer requests, one a line, with exit codes."""
    for name in IMPORTED:
        import_module(name)
    # The collector would copy the pages of all modules in each child.
    gc.collect()
    gc.freeze()
    # Its children end without freeing each object of the server, as those of `os.fork` would.
    fork = get_context("fork")
    for line in sys.stdin:
        child = fork.Process(target=become, args=(json.loads(line),))
        child.start()
        child.join()
        print(child.exitcode, flush=True)


def become(request: Request) -> NoReturn:
    """Be the requested tool until it exits."""
    command = request["command"]
    for descriptor, path in enumerate([os.devnull, *request["outputs"]]):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = command
    sys.exit(import_module(TOOLS[command[0]]).main())


if __name__ == "__main__":
    serve()
