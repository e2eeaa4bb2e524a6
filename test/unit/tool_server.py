"""
Run command-line tools in processes of their own that start in milliseconds.

Each is a fork of a server that has imported the tools and done nothing else: importing takes longer than what
most commands do. The scripts of the package themselves are run by test_packaging.py.

    done = run_tool(["xonnc", "plugins", "list"], cwd=tmp_path)
    done = shell("xonnc targets > targets.txt; wc targets.txt", cwd=tmp_path)
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, NoReturn, TypedDict

import tool_client

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

TOOLS = {
    "xonnc": "xonnc.tools.driver",
    "onnx-opt": "xonnc.tools.opt",
    "onnx-translate": "xonnc.tools.translate",
}
"""Modules with a `main`, by the name of the script."""

PROGRAM = "python-with-xonnc"
"""The name of the script that runs a Python file."""

IMPORTED = (
    *TOOLS.values(),
    *(
        f"xonnc.tools.commands.{name}"
        for name in ("check", "compile", "explain", "plugins", "run", "simplify")
    ),
    "xonnc.artifacts",
    "xonnc.compiler",
    "xonnc.packages",
    "xonnc.plugin",
    "xonnc.verifier",
    "llvmlite.binding",
    "onnx.reference.ops",
    "onnxruntime",
)

BIN = Path(sys.executable).parent
SCRIPT = """#!/bin/sh
exec {python} -IS {client} "$0" "$@"
"""
"""A script of a tool; the path of the interpreter may be longer than a first line can hold."""


class Request(TypedDict):
    """What a child is to run."""

    command: list[str]
    cwd: str
    environment: dict[str, str]


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
    return shell(shlex.join(map(str, command)), cwd, environment, is_merged)


def run_program(path: Path, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a Python file, as `run_tool` runs a tool."""
    return run_tool([PROGRAM, path, *arguments], cwd)


def shell(
    commands: str, cwd: Path, environment: Mapping[str, str] | None = None, is_merged: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run commands of bash until one fails, as `run_tool` runs one."""
    given = dict(os.environ if environment is None else environment)
    folders = [str(BIN), given["PATH"]]
    # Another compiler than that of the server has to be imported.
    if not any((path / "xonnc").exists() for path in package_folders(given)):
        folders.insert(0, str(tool_folder()))
    return subprocess.run(
        ["bash", "-c", f"set -eu -o pipefail\n{commands}"],
        cwd=cwd,
        env={**given, "PATH": os.pathsep.join(folders)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if is_merged else subprocess.PIPE,
        text=True,
    )


def package_folders(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders that an environment adds to those with packages."""
    return [Path(each) for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]


@cache
def tool_folder() -> Path:
    """Return the folder of the tools, after starting the server that they ask."""
    folder = Path(tempfile.mkdtemp(prefix="xonnc-tools-"))
    server = subprocess.Popen(
        [sys.executable, __file__, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(_stop, server, folder)
    assert server.stdout is not None
    server.stdout.readline()
    return folder


def _stop(server: subprocess.Popen[str], folder: Path) -> None:
    server.communicate()
    shutil.rmtree(folder, ignore_errors=True)


def serve(folder: Path) -> None:
    """Run tools for the scripts in a folder, until the input of this process ends."""
    for name in IMPORTED:
        import_module(name)
    python, client = shlex.quote(sys.executable), shlex.quote(tool_client.__file__)
    for name in (*TOOLS, PROGRAM):
        (folder / name).write_text(SCRIPT.format(python=python, client=client))
        (folder / name).chmod(0o755)
    # The collector would copy the pages of all modules in each child.
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(folder / tool_client.ADDRESS))
    listener.listen()
    print("ready", flush=True)
    running: dict[int, tuple[ForkProcess, socket.socket]] = {}
    while True:
        for ready in wait([sys.stdin.fileno(), listener, *running]):
            if ready is listener:
                connection, _ = listener.accept()
                child = start(connection)
                running[child.sentinel] = child, connection
            elif isinstance(ready, int) and ready in running:
                finish(*running.pop(ready))
            else:
                return


def start(connection: socket.socket) -> ForkProcess:
    """Start the tool that is asked for."""
    request, files = read_request(connection)
    # It ends without freeing each object of the server, as a child of `os.fork` would.
    child = get_context("fork").Process(target=become, args=(request, files))
    child.start()
    for descriptor in files:
        os.close(descriptor)
    return child


def finish(child: ForkProcess, connection: socket.socket) -> None:
    """Tell the exit code of a tool that has ended; its client may have been killed."""
    child.join()
    with connection, suppress(BrokenPipeError):
        connection.sendall(f"{child.exitcode}\n".encode())


def read_request(connection: socket.socket) -> tuple[Request, list[int]]:
    """Return the next request and the descriptors of its standard files."""
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile() as lines:
        return json.loads(lines.readline()), files


def become(request: Request, files: Sequence[int]) -> NoReturn:
    """Be the requested tool until it exits."""
    for descriptor, opened in enumerate(files):
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = open(0)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[1:1] = map(str, package_folders(os.environ))
    sys.argv = request["command"]
    if sys.argv[0] == PROGRAM:
        sys.argv = sys.argv[1:]
        sys.path[0] = str(Path(sys.argv[0]).parent)
        run_path(sys.argv[0], run_name="__main__")
        sys.exit()
    sys.exit(import_module(TOOLS[sys.argv[0]]).main())


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
