"""`xonnc new-backend`: write an installable package with a backend of your own."""

from __future__ import annotations

import argparse
import json
import re
from importlib.util import find_spec
from pathlib import Path

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.plugins.backend_scaffold import backend_package
from xonnc.plugins.backends import backends
from xonnc.targets import target_names
from xonnc.targets.cpu import cpu_names
from xonnc.tools.process import Exit

TAKEN = ("cpu", "dla", "func", "krnl", "llvm", "microsoft", "onnx", "qonnx", "tosa")
"""Names of targets and dialects of the compiler."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("name", help="the name of the backend and its first target, such as npu")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="the folder to write (default: the name)"
    )
    parser.add_argument("--json", action="store_true", help="print the files as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Write the package."""
    name: str = args.name
    if re.fullmatch(r"[a-z][a-z0-9_]*", name) is None:
        raise XonncError(f"backend '{name}': the name must be lower-case letters, digits and _, such as npu")
    registered = [target for backend in backends() for target in (backend.name, *backend.targets)]
    if name in (*TAKEN, *target_names(), *cpu_names(), *registered):
        raise XonncError(f"backend '{name}': there is a target or dialect of this name; choose another")
    folder: Path = args.output or Path(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise XonncError(f"{folder}: exists already; name another folder with --output")
    package = backend_package(name)
    for path, text in package.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as stream:
            stream.write(text.encode())
    if args.json:
        print(json.dumps({"folder": str(folder), "files": sorted(map(str, package))}, indent=2))
    elif not args.quiet:
        package = f"./{folder}" if find_spec("pytest") else f"'./{folder}[test]'"
        print(f"wrote {folder}; next: pip install {package} && pytest {folder}")
    return Exit.DONE
