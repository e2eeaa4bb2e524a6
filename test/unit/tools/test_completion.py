"""Completion and manual page: every command with its description, every argument with its help."""

from __future__ import annotations

import argparse
import re

import pytest

from xonnc.tools import completion
from xonnc.tools.driver import COMMANDS, command_parser

PARSERS = {name: command_parser(name) for name in COMMANDS}


def plain(text: str) -> str:
    """The text of a manual page without its macros."""
    return re.sub(r"\\f[BIR]|\\&", "", text).replace("\\-", "-").replace("\\\\", "\\")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_argument_of_a_command_is_offered_and_explained(name: str):
    parser = PARSERS[name]
    shown = {
        option: completion.argument_help(parser, action)
        for action in completion.visible_arguments(parser)
        for option in action.option_strings
    }
    assert "--help" in shown
    assert completion.options(parser) == shown
    page = completion.man({name: parser})
    lines = [plain(line) for line in page.splitlines()]
    start = lines.index(f".SS {name}")
    assert lines[start + 1] == " ".join((parser.description or "").split()) != ""
    described = dict(zip(lines[start + 3 :: 3], lines[start + 4 :: 3], strict=True))
    assert described == {
        ", ".join(action.option_strings) or action.dest: completion.argument_help(parser, action)
        for action in completion.visible_arguments(parser)
    }
    assert set(lines[start + 2 :: 3]) == {".TP"}
    zsh = completion.zsh({name: parser})
    assert f"'{name}:{(parser.description or '').rstrip('.')}'".replace("'", "") in zsh.replace(
        "'\\''", ""
    ).replace("'", "")
    assert all(option in zsh for option in shown)
    assert f'{name}) options="{" ".join(shown)}" ;;' in completion.bash({name: parser})


def test_suppressed_arguments_are_not_offered():
    parser = argparse.ArgumentParser("xonnc try", description=".starts with a dot")
    parser.add_argument("--shown", help="100 %% of 'it'")
    parser.add_argument("--hidden", help=argparse.SUPPRESS)
    assert completion.options(parser) == {
        "-h": "show this help message and exit",
        "--help": "show this help message and exit",
        "--shown": "100 % of 'it'",
    }
    assert "--hidden" not in completion.man({"try": parser})
    # A dot at the start of a line would be a macro.
    assert "\n\\&.starts with a dot\n" in completion.man({"try": parser})
    assert r"'--shown:100 % of '\''it'\'''" in completion.zsh({"try": parser})
