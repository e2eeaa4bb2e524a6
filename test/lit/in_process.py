"""
Run `RUN: onnx-opt … | filecheck …` lines inside lit's own process: 25 ms a test instead of half a second.

Tests with anything else than pipes of `onnx-opt`, `filecheck` and `not` are run by lit's shell.
"""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

from filecheck.error import ParseError
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from xonnc.tools.opt import run_opt

FORMATS: Any = import_module("lit.formats")
TEST: Any = import_module("lit.Test")
"""Imported by name, as lit has no type annotations."""

OPT = {"onnx-opt", "onnx-mlir-opt"}
CHECK = {"filecheck", "FileCheck"}

_RUN = re.compile(r"RUN:(.*)")
_KEYWORDS = re.compile(r"\b(?:XFAIL|REQUIRES|UNSUPPORTED|ALLOW_RETRIES|DEFINE|REDEFINE|END)[.:]")
_OTHER_SUBSTITUTION = re.compile(r"%(?!s\b)[a-zA-Z{(]")
_BOTH = "2>&1"


@dataclass(frozen=True)
class Command:
    """One command of a pipe."""

    tool: str
    args: tuple[str, ...]
    inverted: bool
    both_streams: bool


class InProcessTest:
    """A lit test format that runs tests in process if it can."""

    def __init__(self) -> None:
        self.shell = FORMATS.ShTest()

    def getTestsInDirectory(self, *where: Any) -> Any:  # lit's name
        """Return the tests of a folder, as lit's own format finds them."""
        return self.shell.getTestsInDirectory(*where)

    def getTestsForPath(self, *where: Any) -> Any:  # lit's name
        """Return the test in a file."""
        return self.shell.getTestsForPath(*where)

    def execute(self, test: Any, lit_config: Any) -> Any:
        """Run one test."""
        path = Path(test.getSourcePath())
        pipes = script(path.read_text(), path)
        if pipes is None or test.config.unsupported:
            return self.shell.execute(test, lit_config)
        for pipe in pipes:
            problem = failure(pipe)
            if problem:
                return TEST.Result(TEST.FAIL, f"{describe(pipe)}\n{problem}")
        return TEST.Result(TEST.PASS, "")


def script(source: str, path: Path) -> list[list[Command]] | None:
    """Return the pipes of a test file, `None` if one of them needs a shell."""
    if _KEYWORDS.search(source):
        return None
    lines: list[str] = []
    open_line = ""
    for match in _RUN.finditer(source):
        text = open_line + match[1].strip()
        if text.endswith("\\"):
            open_line = text[:-1]
            continue
        lines.append(text)
        open_line = ""
    if not lines or open_line:
        return None
    pipes = [parse(line, path) for line in lines]
    return None if None in pipes else [pipe for pipe in pipes if pipe]


def parse(line: str, path: Path) -> list[Command] | None:
    """Return the commands of one line, `None` if it needs a shell."""
    if _OTHER_SUBSTITUTION.search(line) or "`" in line or "$" in line:
        return None
    lexer = shlex.shlex(line.replace(_BOTH, "\0"), posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    parts: list[list[str]] = [[]]
    for token in lexer:
        if token == "|":
            parts.append([])
        elif token and not set(token) - set("|&;<>()"):
            return None
        else:
            parts[-1].append(token)
    commands = [command(part, path) for part in parts]
    return None if None in commands else [found for found in commands if found]


def command(words: list[str], path: Path) -> Command | None:
    """Return one command, `None` if its tool is not run in process."""
    inverted = words[:1] == ["not"]
    words = words[1:] if inverted else words
    if not words or words[0] not in OPT | CHECK:
        return None
    args = tuple(word.replace("%s", str(path)) for word in words[1:] if word != "\0")
    return Command(words[0], args, inverted, "\0" in words)


def failure(pipe: list[Command]) -> str:
    """Run a pipe and describe what failed; empty if nothing did."""
    text, problem = "", ""
    for one in pipe:
        if one.tool in OPT:
            code, out, err = run_opt(one.args, text)
            text = err + out if one.both_streams else out
        else:
            code, err = check(one.args, text)
            text = ""
        if (code == 0) == one.inverted:
            problem += f"{one.tool} ended with exit code {code}\n{err}\n"
    return problem


def check(args: tuple[str, ...], text: str) -> tuple[int, str]:
    """Run filecheck and return its exit code and output."""
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        try:
            options = parse_argv_options(["filecheck", *args])
            code = Matcher(options, FInput("<stdin>", text), Parser.from_opts(options)).run()
        except (ParseError, RuntimeError, OSError) as error:
            return 2, f"{said.getvalue()}{error}"
    return code, said.getvalue()


def describe(pipe: list[Command]) -> str:
    """The pipe as it could be typed."""
    return " | ".join(
        shlex.join([*(["not"] if one.inverted else []), one.tool, *one.args])
        + (f" {_BOTH}" if one.both_streams else "")
        for one in pipe
    )
