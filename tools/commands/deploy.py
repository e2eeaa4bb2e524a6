"""`xonnc deploy`: a C++ program that runs a package on a board."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from xonnc.errors import XonncError
from xonnc.tools.console import plural, row, size, wrote
from xonnc.tools.files import is_package


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("package", type=Path, help="the package (.xpkg)")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="the folder to write, new or empty"
    )
    parser.add_argument(
        "--cpu",
        metavar="NAME",
        help="CPU parts as C source for any processor, which the board's compiler compiles (c), or as object "
        "files for a processor kind of 'xonnc targets' (default: the package's own, if it was compiled with "
        "--host, else c)",
    )
    parser.add_argument(
        "--target", metavar="FILE", help="the target of the package, if it is one of your own"
    )
    parser.add_argument("--name", help="the name of the program (default: that of the package)")
    parser.add_argument("--json", action="store_true", help="print the files as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Write the program."""
    from xonnc.deployment import deploy

    if args.package.exists() and not is_package(args.package):
        raise XonncError(
            f"{args.package}: no package; 'xonnc compile MODEL --package' makes one, of any model"
        )
    deployment = deploy(args.package, args.output, cpu=args.cpu, target=args.target, name=args.name)
    if args.json:
        print(json.dumps({"output": str(deployment.folder), "files": deployment.files}, indent=2))
    elif not args.quiet:
        program = deployment.program
        print(f"{program.package}   {plural(len(program.steps), 'step')} for {program.target}")
        for path, count in deployment.files.items():
            if path.startswith(("data/", "parts/")):
                row("part", f"{path} ({size(count)})")
        wrote(deployment.folder, remark=f"; {deployment.folder}/README.md says how to build it")
    return 0
