"""Extensions of the compiler by plug-ins: rules of passes, passes of pipelines, dialects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

    from xonnc.rewriting.rules import RuleSet

NATIVE_STAGES = (
    "simplified",
    "legalized",
    "outlined",
    "bf16",
    "winograd",
    "fused",
    "memory",
    "layout",
    "krnl",
    "prepacked",
    "parallel",
    "shared",
    "planned",
)
"""The stages of native compilation, in sessions and ahead of time, after which passes can run."""

_rules: dict[str, RuleSet] = {}
_passes: dict[str, type[ModulePass]] = {}
_joined: dict[str, list[str]] = {}
_dialects: dict[str, Callable[[], Dialect]] = {}
_reserved: set[str] = set()
_reserved_dialects: set[str] = set()
_identities: list[str] = []


def extend(pass_name: str, rules: RuleSet) -> None:
    """Add rules to a pass; raise `RuleError` if one name stands for two rules."""
    _rules[pass_name] = _rules[pass_name] | rules if pass_name in _rules else rules


def rules_joining(pass_name: str) -> RuleSet | None:
    """Return the rules added to a pass, or `None`."""
    return _rules.get(pass_name)


def reserve_passes(names: Iterable[str]) -> None:
    """The names that passes of the compiler have."""
    _reserved.update(names)


def is_taken(name: str) -> bool:
    """Whether a pass has this name."""
    return name in _reserved or name in _passes


def add_pass(name: str, kind: type[ModulePass]) -> None:
    """Add a pass from outside."""
    _passes[name] = kind


def join_stage(stage: str, name: str) -> None:
    """Run the pass `name`, which was added, after a stage of the pipelines."""
    _joined.setdefault(stage, []).append(name)


def with_joined(stages: Sequence[str]) -> tuple[str, ...]:
    """Return stages in order, each followed by the passes that joined after it."""
    return tuple(name for stage in stages for name in (stage, *_joined.get(stage, ())))


def finish_stage(
    stage: str, context: Context, module: ModuleOp, on_stage: Callable[[str, ModuleOp], None]
) -> None:
    """Report a stage, then run the passes that joined after it; each is reported as a stage of its own."""
    on_stage(stage, module)
    for name in _joined.get(stage, ()):
        _passes[name]().apply(context, module)
        on_stage(name, module)


def added_passes() -> Mapping[str, type[ModulePass]]:
    """The passes from outside."""
    return _passes


def reserve_dialects(names: Iterable[str]) -> None:
    """The names that dialects of the compiler have."""
    _reserved_dialects.update(names)


def is_dialect(name: str) -> bool:
    """Whether a dialect of the compiler has this name."""
    return name in _reserved_dialects


def add_dialect(name: str, factory: Callable[[], Dialect]) -> None:
    """Add a dialect from outside."""
    _dialects[name] = factory


def added_dialects() -> Mapping[str, Callable[[], Dialect]]:
    """The dialects from outside."""
    return _dialects


def add_identity(identity: str) -> None:
    """Add what tells one state of an extension from another, for the keys of compiled programs."""
    _identities.append(identity)


def identities() -> str:
    """The fingerprint of the extensions in use."""
    return "\n".join(sorted(_identities))
