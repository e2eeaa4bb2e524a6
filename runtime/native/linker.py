"""Shared libraries of object files, by whichever linker there is."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from xonnc.errors import XonncError

LINKERS = ("cc", "gcc", "clang", "ld", "ld.lld")
"""Programs that link for this machine, the best first."""


def linker(triple: str = "") -> list[str] | None:
    """
    The command of a linker there is for this machine, or for another that `triple` names.

    The last to be asked is the one of the ziglang package (`pip install 'xonnc[link]'`), which links for any.
    """
    architecture, system = (triple.split("-")[0], "linux-gnu") if triple else ("", "")
    names = (f"{architecture}-{system}-gcc", "ld.lld") if triple else LINKERS
    found = next(filter(None, map(which, names)), None)
    if found is not None:
        return [found]
    if find_spec("ziglang") is None:
        return None
    machine = ["-target", f"{architecture}-{system}"] if triple else []
    return [sys.executable, "-m", "ziglang", "cc", *machine]


def link(objects: Path, library: Path, triple: str = "", output: Path | None = None) -> None:
    """
    Makes a shared library of an object file, for this machine or the one that `triple` names.

    Raises `XonncError` where there is no linker, or with what it says if it fails; it names the file `output`
    that the library is to become.
    """
    output = output or library
    program = linker(triple)
    if program is None:
        names = f"{triple.split('-')[0]}-linux-gnu-gcc, ld.lld" if triple else ", ".join(LINKERS)
        raise XonncError(
            f"{output}: none of {names} is there to make a shared library; pip install 'xonnc[link]' brings "
            f"one, and -o {output.with_suffix('.o')} makes an object file"
        )
    # Of the C library, code needs functions of floats.
    needs = [] if Path(program[0]).name in ("ld", "ld.lld") else ["-lm"]
    command = [*program, "-shared", "-o", str(library), str(objects), *needs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        library.unlink(missing_ok=True)
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise XonncError(f"{output}: {Path(program[0]).name} fails: {said}")
