"""Values of onnx-mlir's options from command line, environment variable and configuration file."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from xdsl.utils.arg_spec import ArgSpec, ParameterListType
from xdsl.utils.hints import isa

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.input_files import record_input
from xonnc.tools.pass_flags import suggest_pass
from xonnc.tools.peer_flags import PeerFlag, Tool, peer_flags, spelled
from xonnc.tools.usage import UsageError

ENVIRONMENT = "ONNX_MLIR_FLAGS"
"""The variable with flags, unless `--customEnvFlags` names another."""

CONFIGURATION_KEY = "compile-options"

_SWITCH = {"true": True, "1": True, "false": False, "0": False}


@dataclass
class PeerSettings:
    """The options that were given, by the spelling used."""

    values: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def on(self, name: str, default: bool = False) -> bool:
        """Return whether a switch is on; the last occurrence wins."""
        given = self.values.get(name)
        return _SWITCH[given[-1]] if given else default

    def text(self, name: str) -> str | None:
        """Return the value of an option, the last if it occurs more than once."""
        given = self.values.get(name)
        return given[-1] if given else None

    def names(self, name: str) -> tuple[str, ...]:
        """Return the comma-separated names of all values of an option."""
        return tuple(part for text in self.values.get(name, ()) for part in text.split(",") if part)

    def number(self, name: str) -> int | None:
        """Return the integer value of an option; `UsageError` for other text."""
        text = self.text(name)
        if text is None:
            return None
        if not text.isdecimal():
            raise UsageError(f"option '--{name}' takes a number, found '{text}'")
        return int(text)

    def chosen(self, names: Iterable[str]) -> str | None:
        """Return the one of several switches that was given last."""
        given = [name for name in self.values if name in names and self.on(name)]
        return given[-1] if given else None

    def for_passes(self, specs: Iterable[ArgSpec]) -> list[ArgSpec]:
        """Return the passes with the options set here; options of the pass itself take precedence."""
        beside: dict[str, dict[str, ParameterListType]] = {}
        for spelling, given in self.values.items():
            for name, option in peer_flags()[spelling].sets:
                options = beside.setdefault(name, {})
                options[option] = tuple(part for text in given for part in text.split(",") if part)
        return [replace(spec, parameters=beside.get(spec.name, {}) | spec.parameters) for spec in specs]

    def arguments(self) -> list[str]:
        """Return the options as command-line arguments."""
        return [
            f"--{name}={text}" if peer_flags()[name].value or text != "true" else f"--{name}"
            for name, given in self.values.items()
            for text in given
            if name not in ("config-file", "save-config-file", "customEnvFlags")
        ]


def take_peer_flags(
    argv: Sequence[str], tool: Tool, known: Collection[str] = ()
) -> tuple[PeerSettings, list[str]]:
    """
    Extract onnx-mlir's options from `argv`; return them and the remaining arguments.

    `known` are names that mean something else to this tool. `UsageError` names an option that the tool does
    not take, with the nearest there is. Writes the file that `--save-config-file` names.
    """
    settings = PeerSettings()
    _take_stored(settings, argv, tool)
    rest: list[str] = []
    arguments = iter(argv)
    for argument in arguments:
        if not _take(settings, argument, arguments, tool, known):
            rest.append(argument)
    if (file := settings.text("save-config-file")) is not None:
        text = json.dumps({CONFIGURATION_KEY: settings.arguments()}, indent=2)
        with atomic_write(Path(file)) as stream:
            stream.write(f"{text}\n".encode())
    return settings, rest


def _take(
    settings: PeerSettings, argument: str, following: Iterator[str], tool: Tool, known: Collection[str]
) -> bool:
    """Record the option in `argument`; return whether it is one of onnx-mlir's."""
    if not argument.startswith("-") or argument == "-":
        return False
    name, equals, value = argument.lstrip("-").partition("=")
    if name[:1] == "j" and name[1:].isdecimal() and not argument.startswith("--"):
        name, equals, value = "j", "=", name[1:]
    flag = peer_flags().get(name)
    if flag is None or flag.is_own or (tool not in flag.by and name in known):
        return False
    if tool not in flag.by:
        raise UsageError(refusal(flag, name))
    if flag.value is None:
        value = value if equals else "true"
        if value not in _SWITCH:
            raise UsageError(f"option '{spelled(name)}' takes true or false, found '{value}'")
    elif not equals and flag.default is not None:
        value = flag.default
    elif not equals:
        found = next(following, None)
        if found is None:
            raise UsageError(f"option '{spelled(name)}' needs a value: {flag.value}")
        value = found
    if flag.choices and value not in flag.choices:
        listed = ", ".join(flag.choices)
        raise UsageError(
            f"option '{spelled(name)}' takes {listed}, found '{value}'{suggest_pass(value, flag.choices)};"
            f" {flag.does}"
        )
    settings.values.setdefault(name, []).append(value)
    return True


def refusal(flag: PeerFlag, spelling: str) -> str:
    """Return why a tool does not accept an option, and the alternative."""
    if flag.by:
        return f"option '{spelled(spelling)}' of onnx-mlir is for {' and '.join(flag.by)}"
    return f"option '{spelled(spelling)}' of onnx-mlir is not taken; nearest: {flag.does}"


def _take_stored(settings: PeerSettings, argv: Sequence[str], tool: Tool) -> None:
    """Record the options from configuration file and environment that apply to this tool."""
    found: list[str] = []
    for file in _given(argv, "config-file"):
        found += _read_configuration(Path(file))
    variable = next(reversed(_given(argv, "customEnvFlags")), ENVIRONMENT)
    try:
        found += shlex.split(os.environ.get(variable, ""))
    except ValueError as error:
        raise UsageError(f"cannot read the flags in {variable}: {error}") from error
    arguments = iter(found)
    for argument in arguments:
        name, equals, _ = argument.lstrip("-").partition("=")
        flag = peer_flags().get(name)
        if flag is None:
            raise UsageError(f"no option '{argument}' of onnx-mlir{suggest_pass(name, peer_flags())}")
        # One variable serves all tools; each takes what is its own.
        if tool in flag.by:
            _take(settings, argument, arguments, tool, ())
        elif flag.value is not None and flag.default is None and not equals:
            next(arguments, None)


def _given(argv: Sequence[str], option: str) -> list[str]:
    """Return the values of one option in `argv`, before the options are parsed."""
    values: list[str] = []
    for argument, following in zip(argv, [*argv[1:], ""], strict=False):
        name, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and name == option:
            values.append(value if equals else following)
    return values


def _read_configuration(path: Path) -> list[str]:
    record_input(path)
    try:
        content: object = json.loads(path.read_text())
    except ValueError as error:
        raise XonncError(f"{path}: no JSON: {error}") from error
    options = content.get(CONFIGURATION_KEY) if isa(content, dict[str, object]) else None
    if not isa(options, list[str]):
        raise XonncError(f'{path}: a list of flags is needed, as {{"{CONFIGURATION_KEY}": ["-O3"]}}')
    return options
