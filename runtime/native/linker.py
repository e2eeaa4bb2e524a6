"""Link object files into shared libraries, with any linker that is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from xonnc.errors import XonncError

LINKERS = ("cc", "gcc", "clang", "ld", "ld.lld")
"""Linkers for this machine, in order of preference."""


def linker(triple: str = "") -> list[str] | None:
    """
    Return the command of an installed linker for this machine, or for the target `triple`; `None` if none.

    The last resort is the package ziglang (`pip install 'xonnc[link]'`), which links for every target.
    """
    return installed((cross_compiler(triple), "ld.lld") if triple else LINKERS, triple)


def cross_compiler(triple: str) -> str:
    """Return the name of GCC for a target."""
    return f"{triple.split('-')[0]}-linux-gnu-gcc"


def installed(names: Sequence[str], triple: str) -> list[str] | None:
    """Return the command of the first program that is installed, or of ziglang; `None` if there is none."""
    found = next(filter(None, map(which, names)), None)
    if found is not None:
        return [found]
    if find_spec("ziglang") is None:
        return None
    target = ["-target", f"{triple.split('-')[0]}-linux-gnu"] if triple else []
    return [sys.executable, "-m", "ziglang", "cc", *target]


def link(objects: Path, library: Path, triple: str = "", output: Path | None = None) -> None:
    """
    Link an object file into a shared library, for this machine or the target `triple`.

    Raises `XonncError` if there is no linker, or with its message if it fails; errors name the file `output`,
    which the library is moved to later.
    """
    output = output or library
    program = linker(triple)
    if program is None:
        names = f"{cross_compiler(triple)}, ld.lld" if triple else ", ".join(LINKERS)
        raise XonncError(
            f"{output}: none of {names} is installed to link a shared library; pip install 'xonnc[link]' "
            f"brings one, and -o {output.with_suffix('.o')} makes an object file"
        )
    # Kernels call math functions of the C library; plain ld leaves these to the loading program.
    needs = [] if Path(program[0]).name in ("ld", "ld.lld") else ["-lm"]
    command = [*program, "-shared", "-o", str(library), str(objects), *needs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        library.unlink(missing_ok=True)
        errors = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise XonncError(f"{output}: {Path(program[0]).name} fails: {errors}")
