"""Rules that join a pass from outside of it."""

from __future__ import annotations

from xonnc.rewriting.rules import RuleSet

_JOINED: dict[str, RuleSet] = {}


def extend(pass_name: str, rules: RuleSet) -> None:
    """Lets rules take part in a pass; raises `RuleError` for two rules of one name."""
    _JOINED[pass_name] = _JOINED[pass_name] | rules if pass_name in _JOINED else rules


def rules_joining(pass_name: str) -> RuleSet | None:
    """The rules that joined a pass, `None` if there are none."""
    return _JOINED.get(pass_name)
