"""`xonnc registers`: the register sequence of a loadable, for systems without NVDLA's driver and runtime."""

from __future__ import annotations

import argparse
import json
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from xonnc.errors import XonncError
from xonnc.targets import load_target
from xonnc.tools.console import plural, row, size, wrote
from xonnc.tools.files import is_package

_BASE = 0x80000000
_ALIGNMENT = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("loadable", type=Path, help="the loadable (.nvdla)")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="the folder to write, new or empty"
    )
    parser.add_argument("--target", default="nv_full", help="its configuration (default: %(default)s)")
    parser.add_argument(
        "--header",
        type=Path,
        metavar="FILE",
        help="NVIDIA's opendla.h of the core: the trace then has numbers instead of fields",
    )
    parser.add_argument(
        "--base",
        type=lambda text: int(text, 0),
        default=_BASE,
        metavar="ADDRESS",
        help=f"device address of the memory in the trace (default: {_BASE:#x})",
    )
    parser.add_argument("--name", help="prefix of the C names (default: that of the loadable)")
    parser.add_argument("--json", action="store_true", help="print the files and tensors as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Write the trace, the memory images and the C source."""
    from xonnc.formats.nvdla.checks.loadable_check import read_checked
    from xonnc.formats.nvdla.registers.c_source import c_files
    from xonnc.formats.nvdla.registers.definitions import read_definitions
    from xonnc.formats.nvdla.registers.program import register_program
    from xonnc.formats.nvdla.registers.trace import image_file, image_text, trace_text

    if is_package(args.loadable):
        raise XonncError(
            f"{args.loadable}: a package, whose CPU parts have no registers; name a loadable (.nvdla), which "
            "'xonnc compile --require-dla' makes"
        )
    folder: Path = args.output
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise XonncError(f"{folder}: there is such a file or folder; name another with --output")
    name = re.sub(r"\W", "_", args.loadable.stem, flags=re.ASCII) if args.name is None else args.name
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None:
        raise XonncError(f"name '{name}': C names are of letters, digits and _; give one with --name")
    target = load_target(args.target)
    program = register_program(read_checked(args.loadable, target), target)
    if args.base % _ALIGNMENT or not 0 <= args.base < (1 << 64) - program.memory_bytes:
        raise XonncError(f"--base {args.base:#x}: the memory begins at a multiple of {_ALIGNMENT} below 2^64")
    definitions = None if args.header is None else read_definitions(args.header)
    texts = {
        "trace.cfg": trace_text(program, args.base, definitions),
        **c_files(program, name, f"{args.loadable.name} on {target.name}, by xonnc"),
        **{image_file(index): image_text(image.data) for index, image in enumerate(program.images)},
    }
    _write(folder, texts)
    if args.json:
        tensors = {
            role: [{"name": one.name, "offset": one.position, "bytes": one.size} for one in each]
            for role, each in (("inputs", program.inputs), ("outputs", program.outputs))
        }
        files = {file: len(text) for file, text in texts.items()}
        print(json.dumps({"output": str(folder), "files": files, **tensors}, indent=2))
    elif not args.quiet:
        print(f"{args.loadable.name}   {plural(program.operations, 'operation')} on {target.name}")
        row("memory", size(program.memory_bytes))
        row("trace", "trace.cfg, numbers" if definitions else "trace.cfg, by fields; --header for numbers")
        row("C", f"{name}.c, {name}.h")
        wrote(folder)
    return 0


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Write all files before the folder gets its name."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as temporary:
        output = Path(temporary) / "registers"
        output.mkdir()
        for file, text in texts.items():
            (output / file).write_text(text)
        if folder.exists():
            folder.rmdir()
        os.replace(output, folder)
