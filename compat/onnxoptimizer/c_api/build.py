"""Compile the C API of ONNX-optimizer for the Python that runs."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.runtime.native.c_compiler import COMPILERS, c_compiler

HEADER = "onnxoptimizer_c_api.h"
SOURCE = "onnxoptimizer_c_api.c"
LIBRARY = "libonnx_optimizer_c_api" + (".dylib" if sys.platform == "darwin" else ".so")
"""The name that ONNX-optimizer's own library has."""

_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-w")


def build(folder: Path) -> list[Path]:
    """
    Write header and library to a folder, which is made if it does not exist, and return their paths.

    Raises `XonncError` if a C compiler, the headers of Python, or its shared library is missing.
    """
    if sys.platform == "win32":
        raise XonncError("--c-api: the library is made on Linux and macOS alone")
    compiler = c_compiler()
    if compiler is None:
        raise XonncError(
            f"--c-api: none of {', '.join(COMPILERS)} is installed to compile the library; install one, "
            "or pip install 'xonnc[link]'"
        )
    headers, python = _headers(), _shared_python()
    here = Path(__file__).parent
    with TemporaryDirectory() as name:
        made = Path(name, LIBRARY)
        defines = {"XONNC_PYTHON": sys.executable, "XONNC_LIBPYTHON": str(python)}
        command = [
            *(*compiler, *_FLAGS, f"-I{headers}"),
            *(f"-D{macro}={_c_string(text)}" for macro, text in defines.items()),
            *(str(here / SOURCE), str(python), f"-Wl,-rpath,{python.parent}", "-o", str(made)),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise XonncError(
                f"--c-api: {compiler[0]}: cannot be run: {error.strerror}; CC names the C compiler"
            ) from None
        if done.returncode:
            reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise XonncError(f"--c-api: {Path(compiler[0]).name} fails: {reason}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise XonncError(f"--c-api: {folder}: {error.strerror}") from error
        for file in (here / HEADER, made):
            with atomic_write(folder / file.name) as output:
                output.write(file.read_bytes())
    return [folder / HEADER, folder / LIBRARY]


def _headers() -> Path:
    folder = Path(sysconfig.get_path("include"))
    if not (folder / "Python.h").is_file():
        raise XonncError(
            f"--c-api: the headers of Python are missing ({folder / 'Python.h'}); Debian and Ubuntu "
            "have them in python3-dev, Fedora in python3-devel"
        )
    return folder


def _shared_python() -> Path:
    """Return the shared library of the Python that runs."""
    for path in _candidates():
        if path.is_file():
            return path
    raise XonncError(
        "--c-api: this Python has no shared library (libpython) for programs to link; install one, such as "
        "libpython3 of Debian and Ubuntu, or use a Python that is built with --enable-shared"
    )


def _candidates() -> Iterator[Path]:
    value = sysconfig.get_config_var
    stem = f"libpython{value('LDVERSION') or value('py_version_short')}"
    names = [str(value("INSTSONAME") or ""), f"{stem}.so.1.0", f"{stem}.so", f"{stem}.dylib"]
    library = Path(str(value("LIBDIR") or Path(sys.base_prefix, "lib")))
    folders = [library, library / str(value("MULTIARCH") or ""), Path(sys.base_prefix, "lib")]
    for name in names:
        if ".so" in name or name.endswith(".dylib"):
            yield from (folder / name for folder in folders)


def _c_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
