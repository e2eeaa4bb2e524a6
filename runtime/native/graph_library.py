"""The machine code of a built model: exported as a shared library or an archive, and loaded again."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from xonnc.argument_types import require_path
from xonnc.errors import XonncError, cannot_read
from xonnc.formats.atomic_write import atomic_writes, require_writable
from xonnc.runtime.native.jit import Code, Threads, is_foreign
from xonnc.runtime.native.linked_code import LinkedCode
from xonnc.runtime.native.linker import link

OBJECT = "lib.o"
"""The object file in an archive."""

SUFFIXES = (".so", ".tar", ".o")


def identity_function(library: str) -> str:
    """Return the name of the function by which code is recognised as that of a graph."""
    return f"xonnc_graph_{library}"


@dataclass(frozen=True)
class GraphLibrary:
    """The code of a graph: an object file in memory, or a shared library."""

    code: bytes
    """The object file; empty for a shared library."""
    path: Path | None = None
    """The shared library."""
    triple: str = ""
    """The target triple of code for another architecture."""

    def __repr__(self) -> str:
        code = f"{len(self.code):,} bytes" if self.code else str(self.path)
        return f"<GraphLibrary: {code}{f' for {self.triple}' * bool(self.triple)}>"

    def export_library(self, path: str | Path) -> Path:
        """
        Write the code: `.so` links a shared library, `.tar` has an object file to link elsewhere, `.o` is it.

        Returns the path. Raises `XonncError` for another suffix, if there is no linker, or for a library that
        was loaded from a shared library.
        """
        file = require_path(path)
        if file.suffix not in SUFFIXES:
            raise XonncError(f"{file}: a library is exported to {', '.join(SUFFIXES)}")
        if not self.code:
            raise XonncError(f"{file}: the library was loaded from {self.path}; copy that file")
        require_writable(file)
        with TemporaryDirectory(dir=file.parent) as folder, atomic_writes() as written:
            if file.suffix == ".so":
                source, linked = Path(folder) / OBJECT, Path(folder) / "lib.so"
                source.write_bytes(self.code)
                link(source, linked, self.triple if is_foreign(self.triple) else "", file)
                written.adopt(linked, file)
            else:
                with written.open(file) as stream:
                    stream.write(_archive(self.code) if file.suffix == ".tar" else self.code)
        return file

    def load(self, library: str, names: Mapping[str, object], threads: Threads) -> Code | LinkedCode:
        """
        Load the functions `names` into this process, and start the threads.

        Raises `XonncError` for code of another graph, or that cannot be loaded.
        """
        if is_foreign(self.triple):
            raise XonncError(f"the library: code for {self.triple}, which does not run here; export it")
        known = identity_function(library)
        if self.path is None:
            code = Code(self.code, names, threads)
            if not code.has(known):
                raise XonncError("the library: not the code that was built with this graph")
            return code
        return LinkedCode(self.path, known, names, threads)


def load_library(path: str | Path) -> GraphLibrary:
    """Load what `GraphLibrary.export_library` wrote; `XonncError` for anything else."""
    file = require_path(path)
    if file.suffix not in SUFFIXES:
        raise XonncError(f"{file}: a library is one of {', '.join(SUFFIXES)}")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise cannot_read(file, error) from None
    if file.suffix == ".tar":
        content = _object_in(file, content)
    if not content.startswith(b"\x7fELF"):
        raise XonncError(f"{file}: no machine code in ELF, the format of Linux")
    return GraphLibrary(b"", file) if file.suffix == ".so" else GraphLibrary(content)


def _archive(code: bytes) -> bytes:
    """Return an archive with the object file; equal code gives equal bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        entry = tarfile.TarInfo(OBJECT)
        entry.size = len(code)
        archive.addfile(entry, io.BytesIO(code))
    return stream.getvalue()


def _object_in(path: Path, content: bytes) -> bytes:
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            found = archive.extractfile(OBJECT)
            if found is not None:
                return found.read()
    except (tarfile.TarError, KeyError):
        pass
    raise XonncError(f"{path}: no archive with {OBJECT} in it")
