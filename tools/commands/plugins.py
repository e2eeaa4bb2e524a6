"""`xonnc plugins`: lists plug-ins, checks one, begins a new one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from xonnc.dialects.onnx import registry
from xonnc.errors import XonncError, suggest
from xonnc.formats.atomic_write import atomic_write
from xonnc.plugins import bundled, loading
from xonnc.plugins.op_class import PluginOp
from xonnc.plugins.operators import OperatorSpec, Plugin
from xonnc.plugins.registration import registered
from xonnc.plugins.scaffold import plugin_file
from xonnc.tools.console import wrote
from xonnc.tools.plugin_checks import CheckResult, check_operator
from xonnc.tools.plugin_rule_checks import check_rule
from xonnc.tools.process import Exit

BODIES = ("infer", "reference", "decompose", "kernel", "layout", "c_source", "lookup", "layers")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=("list", "check", "new"), help="what to do")
    parser.add_argument(
        "name", nargs="?", help="check: a Python file or the name of a plug-in; new: the file to write"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing; the exit code tells")


def run(args: argparse.Namespace) -> int:
    """Run the command; exit 1 if a check fails."""
    if args.action == "list":
        return _list(args.json)
    if not args.name:
        raise XonncError(
            f"plugins {args.action}: name a {'file' if args.action == 'new' else 'file or plug-in'}"
        )
    if args.action == "new":
        return _new(Path(args.name))
    return _check(_wanted(args.name), args.json, args.quiet)


def _list(as_json: bool) -> int:
    plugins = registered()
    if as_json:
        print(json.dumps([_described(plugin) for plugin in plugins], indent=1))
        return Exit.DONE
    for plugin in plugins:
        print(f"{plugin.name} {plugin.version}  {plugin.source}")
        for spec in plugin.operators:
            bodies = ", ".join(_bodies(spec)) or "nothing but its declaration"
            winner = _overriding(spec)
            note = f"  overridden by plug-in {winner}" if winner else ""
            print(f"  {spec.domain or 'ai.onnx'}.{spec.name}-{spec.since}  {bodies}{note}")
        for rule in plugin.rules:
            print(f"  {rule.name}  a rule of {rule.into}")
        for name, joining in plugin.passes.items():
            print(f"  pass {name}" + (f", after stage {joining.after}" if joining.after else ""))
        if plugin.layouts:
            print(f"  layout preferences of {', '.join(plugin.layouts)}")
        for backend in plugin.backends:
            print(f"  backend {backend.name}, targets {', '.join(backend.targets)}")
    if not plugins:
        print(
            "no plug-ins; --plugin FILE, XONNC_PLUGINS, or a package's entry point 'xonnc.plugins' adds some"
        )
    return Exit.DONE


def _bodies(spec: OperatorSpec) -> Sequence[str]:
    return [name for name in BODIES if getattr(spec.body, name, None) is not None]


def _overriding(spec: OperatorSpec) -> str | None:
    """Return the name of the plug-in whose declaration takes the place of this one."""
    found = registry.op_class(spec.domain, spec.name, spec.since)
    if found is None or found is spec.kind or not issubclass(found, PluginOp):
        return None
    return found.DECLARATION.plugin.name


def _described(plugin: Plugin) -> dict[str, object]:
    return {
        "name": plugin.name,
        "version": plugin.version,
        "source": plugin.source,
        "operators": [
            {
                "domain": spec.domain,
                "name": spec.name,
                "since": spec.since,
                "bodies": _bodies(spec),
                "overridden_by": _overriding(spec),
            }
            for spec in plugin.operators
        ],
        "rules": [{"name": rule.name, "into": rule.into} for rule in plugin.rules],
        "passes": list(plugin.passes),
        "layouts": list(plugin.layouts),
        "backends": {backend.name: list(backend.targets) for backend in plugin.backends},
    }


def _wanted(name: str) -> Sequence[Plugin]:
    if name.endswith(".py") or Path(name).exists():
        return loading.load_file(name)
    if name in bundled.BUNDLED:
        return [bundled.load(name)]
    known = {plugin.name: plugin for plugin in registered()}
    if name not in known:
        raise XonncError(f"no plug-in is called '{name}'{suggest(name, known)}; a file ends in .py")
    return [known[name]]


def _check(plugins: Sequence[Plugin], as_json: bool, is_quiet: bool) -> int:
    findings: list[CheckResult] = [
        finding for plugin in plugins for spec in plugin.operators for finding in check_operator(spec)
    ]
    findings += [check_rule(rule) for plugin in plugins for rule in plugin.rules]
    failed = [finding for finding in findings if finding.is_failure]
    if as_json:
        print(json.dumps([vars(finding) for finding in findings], indent=1))
    elif not is_quiet:
        _print(findings)
    return Exit.INPUT if failed else Exit.DONE


def _print(findings: Sequence[CheckResult]) -> None:
    """Print a table of the operators, and one of the rules."""
    rules = [finding for finding in findings if finding.check == "rule"]
    others = [finding for finding in findings if finding.check != "rule"]
    if others:
        _print_operators(others)
    if not findings:
        print("no operators or rules to check")
    if others and rules:
        print()
    width = max((len(each.operator) for each in rules), default=0)
    if rules:
        print(f"{'rule':<{width}}  instances")
    for rule in rules:
        print(f"{rule.operator:<{width}}  {'FAILED' if rule.is_failure else rule.outcome}")
        if rule.is_failure or rule.note:
            print(f"  {rule.outcome if rule.is_failure else rule.note}")


def _print_operators(findings: Sequence[CheckResult]) -> None:
    checks = list(dict.fromkeys(finding.check for finding in findings))
    width = max((len(finding.operator) for finding in findings), default=0)
    width = max(width, len("operator"))
    print(f"{'operator':<{width}}  " + "  ".join(f"{check:<9}" for check in checks).rstrip())
    for operator in dict.fromkeys(finding.operator for finding in findings):
        own = {finding.check: finding for finding in findings if finding.operator == operator}
        cells = [
            "FAILED"
            if check in own and own[check].is_failure
            else own[check].outcome
            if check in own
            else "-"
            for check in checks
        ]
        print(f"{operator:<{width}}  " + "  ".join(f"{cell:<9}" for cell in cells).rstrip())
        for finding in own.values():
            if finding.is_failure:
                print(f"  {finding.check}: {finding.outcome}")


def _new(path: Path) -> int:
    if path.exists():
        raise XonncError(f"{path}: exists already; name another file")
    name = path.stem.replace("-", "_")
    if path.suffix != ".py" or not name.isidentifier():
        raise XonncError(f"{path}: name a Python file, as acme.py")
    with atomic_write(path) as file:
        file.write(plugin_file(name, path.name).encode())
    wrote(path, remark=f"; next: xonnc plugins check {path}")
    return Exit.DONE
