"""Follows a page of the documentation literally: writes its files, runs its code and commands in order."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tool_server import shell

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:#|//) (\S+\.\w+)")


def follow(page: Path, folder: Path, environment: Mapping[str, str] | None = None) -> int:
    """
    Follow a page in a folder; return the number of commands.

    A block whose first line is a comment with a file name is appended to that file. Other Python blocks run
    in this process, one after another. A command prints what stands below it: `…` matches anything within a
    line, a line of `…` any lines.
    """
    names: dict[str, object] = {}
    commands = 0
    for kind, block in BLOCK.findall(page.read_text()):
        if kind == "console":
            for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                _command(step, folder, environment or {})
                commands += 1
        elif (named := FILE.fullmatch(block.splitlines()[0])) is not None:
            with (folder / named[1]).open("a") as file:
                file.write(block)
        elif kind == "python":
            exec(compile(block, page.name, "exec"), names)
    return commands


def _command(step: str, folder: Path, environment: Mapping[str, str]) -> None:
    command, _, expected = step.partition("\n")
    done = shell(command, folder, {**os.environ, **environment}, is_merged=True)
    printed = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
    assert done.returncode == 0, f"{command}\n{printed}"
    # Escaping leaves the ellipsis alone.
    pattern = re.escape(expected.strip())
    pattern = re.sub(r"^…$", lambda _: r"(?s:.*?)", pattern, flags=re.MULTILINE)
    assert re.fullmatch(pattern.replace("…", ".*"), printed), f"{command}\n{printed}"
