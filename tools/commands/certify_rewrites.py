"""`xonnc certify-rewrites`: prove every rewrite rule, or compare it with the ONNX reference."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import UnknownNameError, XonncError, suggest
from xonnc.tools.console import columns, plural, progress, row, wrote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xonnc.fuzzing.certification.certificates import Certificate
    from xonnc.fuzzing.rules.tables import Table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="NAME",
        help="a rule, or a table of rules; may be repeated (default: all rules)",
    )
    parser.add_argument(
        "-n",
        "--count",
        type=int,
        default=1000,
        help="number of random instances of a rule without proof (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the instances (default: %(default)s)")
    parser.add_argument(
        "--no-z3", action="store_true", help="prove by exact arguments alone, without the package z3-solver"
    )
    parser.add_argument("-o", dest="output", type=Path, metavar="FILE", help="write the page in Markdown")
    parser.add_argument("--json", action="store_true", help="print the certificates as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing, only set the exit code")


def run(args: argparse.Namespace) -> int:
    """Certify and report; exit code 1 if a rule is wrong on an instance."""
    from xonnc.formats.atomic_write import atomic_write
    from xonnc.fuzzing.certification import smt
    from xonnc.fuzzing.certification.certificate_page import page
    from xonnc.fuzzing.certification.certificates import PROVEN, Certifier

    if args.count < 1:
        raise XonncError(f"--count {args.count}: at least one instance is needed")
    if args.seed < 0:
        raise XonncError(f"--seed {args.seed}: seeds are 0 and above")
    if not args.no_z3 and not smt.is_installed():
        raise XonncError(
            "certify-rewrites needs the package z3-solver: pip install 'xonnc[certify]', or give --no-z3"
        )
    cases = _cases(args.rule)
    certifier = Certifier(args.count, args.seed, not args.no_z3)
    found: list[Certificate] = []
    with progress("certifying rewrite rules", args.quiet or args.json) as step:
        for index, (table, name) in enumerate(cases):
            step(index, len(cases), name)
            found.append(certifier.certificate(table, name))
    if args.output is not None:
        with atomic_write(args.output) as file:
            file.write(page(found, args.count, args.seed, PROVEN).encode())
    if args.json:
        print(json.dumps([asdict(one) for one in found], indent=2))
    elif not args.quiet:
        _report(found, args.output)
    return 1 if any(one.wrong for one in found) else 0


def _cases(selected: Sequence[str]) -> Sequence[tuple[Table, str]]:
    from xonnc.fuzzing.rules.tables import CASES
    from xonnc.passes import use_onnx_package

    use_onnx_package()
    known = {*(table.name for table, _ in CASES), *(name for _, name in CASES)}
    for name in selected:
        if name not in known:
            raise UnknownNameError(f"--rule {name}: no such rule or table{suggest(name, known)}")
    return [(table, name) for table, name in CASES if not selected or {table.name, name} & set(selected)]


def _report(found: Sequence[Certificate], output: Path | None) -> None:
    from xonnc.fuzzing.certification.certificate_page import summary

    rows = [(one.table, one.rule, one.method, one.assumes, f"{one.instances:,}") for one in found]
    print(
        "\n".join(
            f"  {line}" for line in columns([("table", "rule", "method", "assumes", "instances"), *rows])
        )
    )
    for method, count in Counter(one.method for one in found).most_common():
        row(method, plural(count, "rule"))
    for one in found:
        for problem in one.wrong:
            row("WRONG", problem)
    row("result", summary(found))
    if output is not None:
        wrote(output)
