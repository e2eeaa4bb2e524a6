"""Compile the C source of kernels, with any C compiler that is installed, and join it to machine code."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from xonnc.errors import XonncError
from xonnc.runtime.native.linker import cross_compiler, installed

COMPILERS = ("cc", "gcc", "clang")
"""C compilers for this machine, in order of preference."""

FLAGS = ("-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-w")
"""
Position-independent, exporting nothing, and without fused multiply-add, so that results do not depend on the
compiler.
"""


def c_compiler(triple: str = "") -> list[str] | None:
    """
    Return the command of a C compiler for this machine, or for the target `triple`; `None` if there is none.

    `CC` names the one for this machine. The last resort is the package ziglang (`pip install 'xonnc[link]'`).
    """
    if not triple and (own := os.environ.get("CC")):
        return shlex.split(own)
    return installed((cross_compiler(triple),) if triple else COMPILERS, triple)


def with_c_kernels(code: bytes, unit: str, triple: str = "") -> bytes:
    """
    Compile a translation unit and return one object file of it and of the object file `code`.

    The result is `code` itself for an empty unit. Raises `XonncError` if there is no C compiler for this
    machine, or the target `triple`, or with its first error.
    """
    if not unit:
        return code
    compiler = c_compiler(triple)
    if compiler is None:
        names = cross_compiler(triple) if triple else ", ".join(COMPILERS)
        raise XonncError(
            f"a plug-in has operators in C, and none of {names} is installed to compile them; "
            "install one, or pip install 'xonnc[link]', or write C source (-o model.c)"
        )
    with TemporaryDirectory() as folder:
        Path(folder, "plugin.c").write_text(unit, encoding="utf-8")
        Path(folder, "model.o").write_bytes(code)
        _run([*compiler, *FLAGS, "-c", "plugin.c", "-o", "plugin.o"], folder)
        _run([*compiler, "-r", "-nostdlib", "model.o", "plugin.o", "-o", "joined.o"], folder)
        return Path(folder, "joined.o").read_bytes()


def _run(command: Sequence[str], folder: str) -> None:
    """Run a compiler in a folder; raise `XonncError` with its first error."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise XonncError(f"{name}: cannot be run: {error.strerror}; CC names the C compiler") from None
    if done.returncode:
        lines = done.stderr.splitlines() or [f"exit code {done.returncode}"]
        first = next((line for line in lines if "error" in line), lines[0])
        raise XonncError(f"{name} fails on the C source of a plug-in: {first}")
