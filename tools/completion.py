"""Completion of the shells bash and zsh, and the manual page, from the argument parsers of the commands."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib.metadata import version

BASH = """\
# Completion of xonnc for bash: source this file, or put it into bash-completion's folder.
_xonnc() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" options=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    if [[ "$word" == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _xonnc xonnc
"""

ZSH = """\
#compdef xonnc
# Completion of xonnc for zsh: call it _xonnc and put it into a folder of $fpath.
_xonnc() {{
    local -a commands options
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    case "$words[2]" in
{cases}
    esac
    if [[ "$PREFIX" == -* ]]; then
        _describe option options
    else
        _files
    fi
}}
_xonnc "$@"
"""


def bash(parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the completion for bash."""
    cases = [f'        {name}) options="{" ".join(options(parser))}" ;;' for name, parser in parsers.items()]
    return BASH.format(commands=" ".join(parsers), cases="\n".join(cases))


def zsh(parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the completion for zsh, with descriptions."""
    commands = [f"        {_described(name, _first(parser))}" for name, parser in parsers.items()]
    cases: list[str] = []
    for name, parser in parsers.items():
        entries = " ".join(_described(option, help_text) for option, help_text in options(parser).items())
        cases.append(f"        {name}) options=({entries}) ;;")
    return ZSH.format(commands="\n".join(commands), cases="\n".join(cases))


def _described(name: str, text: str) -> str:
    escaped = f"{name}:{text}".replace("'", "'\\''")
    return f"'{escaped}'"


def options(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the options of a command with what they do."""
    found: dict[str, str] = {}
    for action in visible_arguments(parser):
        if action.option_strings:
            found |= dict.fromkeys(action.option_strings, argument_help(parser, action))
    return found


def visible_arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments that help texts show."""
    return [action for action in vars(parser)["_actions"] if action.help != argparse.SUPPRESS]


def argument_help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return the help text of an argument, on one line."""
    text = (action.help or "") % {**vars(action), "prog": parser.prog}
    return " ".join(text.split())


def _first(parser: argparse.ArgumentParser) -> str:
    return (parser.description or "").rstrip(".")


def man(parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the manual page, in the macros of man(7)."""
    lines = [
        f'.TH XONNC 1 "" "xonnc {version("xonnc")}" "User Commands"',
        ".SH NAME",
        r"xonnc \- compile ONNX models to native code and to NVDLA loadables",
        ".SH SYNOPSIS",
        r".B xonnc",
        r"\fICOMMAND\fR [\fIoptions\fR]",
        ".SH COMMANDS",
    ]
    for name, parser in parsers.items():
        lines += [f".SS {_roff(name)}", _roff(parser.description or "")]
        for action in visible_arguments(parser):
            names = ", ".join(rf"\fB{_roff(option)}\fR" for option in action.option_strings)
            lines += [".TP", names or rf"\fI{_roff(action.dest)}\fR", _roff(argument_help(parser, action))]
    return "\n".join([*lines, ""])


def _roff(text: str) -> str:
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace("-", "\\-")
    # A dot or quote at the start of a line would be a macro.
    return rf"\&{escaped}" if escaped[:1] in (".", "'") else escaped
