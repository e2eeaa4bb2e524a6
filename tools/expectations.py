"""`--verify-diagnostics`: compare `// expected-error@+1 {{…}}` comments with the diagnostics produced."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xonnc.tools.diagnostics import Diagnostic

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|note|remark|warning)(?P<regex>-re)? *"
    r"(?P<where>@(?:[+-][0-9]+|above|below|unknown))? *\{\{(?P<text>.*)\}\}\s*$"
)


@dataclass
class Expectation:
    """An expected diagnostic: severity, message and line (`None`: no location in the file)."""

    severity: str
    text: str
    is_regex: bool
    line: int | None
    written: int
    met: bool = field(default=False)

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Return whether a diagnostic is the expected one; without location, it matches any line."""
        if diagnostic.severity != self.severity:
            return False
        if diagnostic.line is not None and diagnostic.line != self.line:
            return False
        if self.is_regex:
            return re.search(_regex(self.text), diagnostic.message) is not None
        return self.text in diagnostic.message


def expectations(source: str) -> list[Expectation]:
    """Return the expected diagnostics in the comments of a text."""
    found: list[Expectation] = []
    waiting: list[Expectation] = []
    last_plain = 0
    for number, line in enumerate(source.split("\n"), 1):
        match = _EXPECTED.search(line) if "expected-" in line else None
        is_plain = match is None or not line.lstrip().startswith("//")
        if is_plain:
            for expectation in waiting:
                expectation.line = number
            waiting.clear()
        if match is None:
            last_plain = number
            continue
        where = match["where"] or ""
        expectation = Expectation(match["severity"], match["text"], bool(match["regex"]), number, number)
        if where == "@above":
            expectation.line = last_plain
        elif where == "@below":
            waiting.append(expectation)
        elif where == "@unknown":
            expectation.line = None
        elif where:
            expectation.line = number + int(where[1:])
        found.append(expectation)
        if is_plain:
            last_plain = number
    return found


def unmet_expectations(source: str, produced: Iterable[Diagnostic], file: str) -> list[str]:
    """Return the expected diagnostics that were not produced and the unexpected ones that were."""
    waiting = expectations(source)
    problems: list[str] = []
    for diagnostic in produced:
        if not _meet(waiting, diagnostic):
            problems.append(
                f"{file}:{diagnostic.line or 0}:{diagnostic.column or 0}: error:"
                f" unexpected {diagnostic.severity}: {diagnostic.message}"
            )
    problems += [
        f'{file}:{expectation.written}: error: expected {expectation.severity} "{expectation.text}"'
        " was not produced"
        for expectation in waiting
        if not expectation.met
    ]
    return problems


def _meet(waiting: Sequence[Expectation], diagnostic: Diagnostic) -> bool:
    for expectation in waiting:
        if not expectation.met and expectation.matches(diagnostic):
            expectation.met = True
            return True
    return False


def _regex(text: str) -> str:
    """Compile `plain {{regex}} plain` to one regular expression."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts))
