"""
Run `RUN: onnx-opt … | filecheck …` lines inside lit's own process: 25 ms a test instead of half a second.

Lines that only make files (`rm`, `mkdir`, `echo`) are run by `sh`. Tests with anything else than these and
pipes of `onnx-opt`, `filecheck` and `not` are run by lit's shell, as are those of plug-ins, which stay in a
process.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

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

PLUGIN = "--plugin"
MAKES_FILES = ["rm"], ["mkdir"], ["echo"]

_RUN = re.compile(r"RUN:(.*)")
_KEYWORDS = re.compile(r"\b(?:(?:XFAIL|REQUIRES|UNSUPPORTED|ALLOW_RETRIES|DEFINE|REDEFINE):|END\.)")
_OTHER_SUBSTITUTION = re.compile(r"%(?![st]\b)[a-zA-Z{(]")
_ERRORS, _BOTH, _OUTPUT = "2>&1 >/dev/null", "2>&1", "2>/dev/null"
_STREAMS = {_ERRORS: "\1", _BOTH: "\0", _OUTPUT: "\2"}
"""Redirections, and the character that stands for each while a line is split; the longest first."""


@dataclass(frozen=True)
class Command:
    """One command of a pipe."""

    tool: str
    args: tuple[str, ...]
    inverted: bool
    piped: str = _OUTPUT
    """The redirection that leaves what the next command reads."""


@dataclass(frozen=True)
class Preparation:
    """A line that makes files."""

    line: str


Pipe: TypeAlias = "list[Command] | Preparation"


@dataclass(frozen=True)
class Paths:
    """What `%s` and `%t` stand for."""

    source: Path
    temporary: Path

    def substituted(self, word: str) -> str:
        """Return a word with its substitutions."""
        return word.replace("%s", str(self.source)).replace("%t", str(self.temporary))


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
        temporary = Path(test.getExecPath()).parent / "Output" / f"{path.name}.tmp"
        temporary.parent.mkdir(parents=True, exist_ok=True)
        pipes = script(path.read_text(), Paths(path, temporary))
        if pipes is None or test.config.unsupported:
            return self.shell.execute(test, lit_config)
        for pipe in pipes:
            problem = failure(pipe)
            if problem:
                return TEST.Result(TEST.FAIL, f"{describe(pipe)}\n{problem}")
        return TEST.Result(TEST.PASS, "")


def script(source: str, paths: Paths) -> list[Pipe] | None:
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
    pipes = [parse(line, paths) for line in lines]
    return None if None in pipes else [pipe for pipe in pipes if pipe]


def parse(line: str, paths: Paths) -> Pipe | None:
    """Return the commands of one line, `None` if it needs a shell."""
    if _OTHER_SUBSTITUTION.search(line) or "`" in line or "$" in line:
        return None
    if "|" not in line and all(part.split()[:1] in MAKES_FILES for part in line.split("&&")):
        return Preparation(paths.substituted(line))
    for redirection, mark in _STREAMS.items():
        line = line.replace(redirection, mark)
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
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
    commands = [command(part, paths) for part in parts]
    return None if None in commands else [found for found in commands if found]


def command(words: list[str], paths: Paths) -> Command | None:
    """Return one command, `None` if its tool is not run in process."""
    inverted = words[:1] == ["not"]
    words = words[1:] if inverted else words
    if not words or words[0] not in OPT | CHECK or any(word.startswith(PLUGIN) for word in words):
        return None
    marks = {mark: redirection for redirection, mark in _STREAMS.items()}
    args = tuple(paths.substituted(word) for word in words[1:] if word not in marks)
    return Command(words[0], args, inverted, next((marks[word] for word in words if word in marks), _OUTPUT))


def failure(pipe: Pipe) -> str:
    """Run a pipe and describe what failed; empty if nothing did."""
    if isinstance(pipe, Preparation):
        done = subprocess.run(["sh", "-c", pipe.line], capture_output=True, text=True)
        return done.stderr or f"exit code {done.returncode}" if done.returncode else ""
    text, problem = "", ""
    for one in pipe:
        if one.tool in OPT:
            code, out, err = run_opt(one.args, text)
            text = {_BOTH: err + out, _ERRORS: err, _OUTPUT: out}[one.piped]
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
            found = FInput("<stdin>", text) if options.input_file == "-" else FInput.from_opts(options)
            code = Matcher(options, found, Parser.from_opts(options)).run()
        except (ParseError, RuntimeError, OSError) as error:
            return 2, f"{said.getvalue()}{error}"
    return code, said.getvalue()


def describe(pipe: Pipe) -> str:
    """The pipe as it could be typed."""
    if isinstance(pipe, Preparation):
        return pipe.line
    return " | ".join(
        shlex.join([*(["not"] if one.inverted else []), one.tool, *one.args])
        + ("" if one.piped == _OUTPUT else f" {one.piped}")
        for one in pipe
    )
