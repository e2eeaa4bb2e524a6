"""`xonnc rules list`: the rewrite rules, their patterns and results, and how each is tested."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from xonnc.errors import XonncError, suggest
from xonnc.tools.console import columns

if TYPE_CHECKING:
    from xonnc.rewriting.rules import Rule


@dataclass(frozen=True)
class ListedRule:
    """A rewrite rule: its table, what it rewrites to what, and its tests."""

    table: str
    """A table of the compiler, or the pass that a rule of a plug-in joins."""
    name: str
    rewrite: str
    doc: str
    benefit: int
    conditions: int
    """The number of conditions on the values and attributes that its pattern captures."""
    tests: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("action", choices=("list",), help="what to do")
    parser.add_argument(
        "rules", nargs="*", metavar="RULE", help="names of rules or tables, with * as wildcard (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """List the rules."""
    found = list(_rules())
    known = {name for each in found for name in (each.name, each.table)}
    for expected in args.rules:
        if not any(fnmatchcase(name, expected) for name in known):
            raise XonncError(f"no rule or table '{expected}'{suggest(expected, known)}")
    if args.rules:
        found = [each for each in found if _is_wanted(each, args.rules)]
    if args.json:
        print(json.dumps([asdict(each) for each in found], indent=2))
        return 0
    rows = [(each.table, each.name, each.tests, each.rewrite) for each in found]
    for line in columns([("table", "rule", "tests", "rewrites"), *rows]):
        print(line)
    return 0


def _is_wanted(rule: ListedRule, expected: list[str]) -> bool:
    return any(fnmatchcase(name, each) for each in expected for name in (rule.name, rule.table))


def _rules() -> Iterator[ListedRule]:
    """Yield the rules of the compiler by table, then those of plug-ins by pass."""
    from xonnc.fuzzing.rules.generators.constprop_evaluated import ELSEWHERE
    from xonnc.fuzzing.rules.tables import TABLES
    from xonnc.plugins.registration import registered
    from xonnc.transforms.constprop_onnx import ConstProp

    for table in TABLES:
        for name, rule in table.rules.items():
            count = len(table.examples.get(name, ()))
            cases = f", {count} case{'s' if count > 1 else ''}" if count else ""
            yield _listed(table.name, name, rule, f"random instances{cases}")
    generated = {name for table in TABLES for name in table.rules}
    for name, rule in ConstProp().rules().items():
        if name not in generated:
            yield _listed("constprop", name, rule, ELSEWHERE[name])
    for plugin in registered():
        for joining in plugin.rules:
            for name, rule in joining.table().items():
                # What its function builds is not in the pattern: the docstring says it.
                rewrite = " ".join(rule.doc.split()) or str(rule.root)
                tests = f"those of plug-in {plugin.name}"
                yield replace(_listed(joining.into, name, rule, tests), rewrite=rewrite)


def _listed(table: str, name: str, rule: Rule, tests: str) -> ListedRule:
    rewrite, doc = str(rule), " ".join(rule.doc.split())
    conditions = len(rule.where) + len(rule.guards)
    return ListedRule(table, name, rewrite, doc, rule.benefit, conditions, tests)
