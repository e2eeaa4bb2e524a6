"""Shared libraries of object files, by whichever linker there is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from shutil import which

from xonnc.errors import XonncError

LINKERS = {
    "cc": ("-shared", "-o"),
    "gcc": ("-shared", "-o"),
    "clang": ("-shared", "-o"),
    "ld": ("-shared", "-o"),
    "ld.lld": ("-shared", "-o"),
}
"""Programs that link, the best first, with what they are told in front of the library's name."""


def linker() -> str | None:
    """The linker there is, by its full path."""
    return next(filter(None, map(which, LINKERS)), None)


def link(objects: Path, library: Path) -> None:
    """
    Makes a shared library of an object file.

    Raises `XonncError` where there is no linker, or with what it says if it fails.
    """
    program = linker()
    if program is None:
        raise XonncError(
            f"{library}: none of {', '.join(LINKERS)} is there to make a shared library; -o "
            f"{library.with_suffix('.o')} makes an object file, which any linker makes one of"
        )
    temporary = library.with_name(f".{library.name}.{os.getpid()}.tmp")
    # Programs of the C library's own functions, such as the floats' functions in libm.
    needs = ["-lm"] if Path(program).name in ("cc", "gcc", "clang") else []
    options = LINKERS[Path(program).name]
    command = [program, *options, str(temporary), str(objects), *needs]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise XonncError(f"{library}: {program} fails: {said}")
        os.replace(temporary, library)
    finally:
        temporary.unlink(missing_ok=True)
