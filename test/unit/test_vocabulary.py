"""Private words stay out: names, docstrings, comments, messages and docs use the terms of the field."""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

BANNED = {
    r"open sizes?|sizes? left open|sizes? (?:that )?a run tells|only a run tells": "dynamic shapes",
    r"what a run (?:finds|tells)|found sizes": "data-dependent shapes",
    r"steer(?:s|ing|ed)?": "shape-determining",
    r"no numbers?(?! of)": "NaN",
    r"whole numbers?": "integer",
    r"truth values?": "boolean",
    r"halves": "float16",
    r"byte (?:chains?|products?|points|convolutions?|images|moves|sums)": "int8 …, quantized …",
    r"quiet channels": "cross-layer equalization",
    r"drifts?": "bias correction",
    r"fading": "exponential moving average",
    r"class scores": "post-transforms",
    r"by halves": "binary search",
    r"in front of": "before",
    r"the house|rooms?": "packages, layout",
    r"waits? for(?! the (?:lock|process|thread)| OP_| \S+ events?)": "is bound by",
    r"roundings": "quantization",
    r"\w*quantis\w*": "quantize, quantization, dequantize",
    r"written out|write out|writes out|writing out|put together again": "decompose, inline, expand",
    r"in blocks": "channel-blocked layout (NCHWc)",
    r"(?:MOST|LEAST|FEW)_\w+": "MAX_…, MIN_…",
    r"Along|Side": "AffineExpr, AffineMap",
    r"Declined": "MatchFailure",
    r"turns": "iterations",
    r"packings": "prepacked weights, weight prepacking",
    r"shared? out|shares out": "parallelized over, divided among",
    r"nobody|[Ww]atcher": "no-op callback, StageCallback",
    r"lets? go of|somebody|nothing comes out": "free, release; another program, the first read; empty result",
    r"krnl\.(?:later|part)|dla\.grid": "krnl.deferred_call, krnl.subview, dla.qparams",
    r"issue \d+": "what is measured or promised, not a number of the tracker",
    r"(?:spec|design)/[\w-]+\.md": "a page of docs/ or a public source",
}
"""Regular expressions of whole words, and what the field says. A space also matches an underscore."""

PRIVATE_NAMES = {
    "came": "found, written",
    "goes": "condition",
    "there": "available, defined, actual",
    "place": "index, position, offset, location, axis",
    "places": "indices, positions, locations",
    "told": "message, remark, text",
    "gone": "removed",
}
"""Words that are ordinary in prose but say nothing as names of variables, functions or fields."""

OLD_SPELLINGS = {
    ("lowering/onnx_to_krnl/convert_onnx_to_krnl.py", "open_sizes"),
}
"""Names that stay for one more release, by file."""

CASE_MATTERS = {r"Along|Side", r"(?:MOST|LEAST|FEW)_\w+"}
"""Patterns of which the other case is an ordinary word."""


def _expression(index: int, pattern: str) -> str:
    flags = "" if pattern in CASE_MATTERS else "i"
    return rf"(?P<w{index}>(?{flags}:{pattern.replace(' ', '[ _]')})(?![A-Za-z]))"


# Where a word begins is asked first: at most positions none does.
_WORDS = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(_expression(index, pattern) for index, pattern in enumerate(BANNED))})"
)

_NAMES = re.compile(rf"\b(?:{'|'.join(PRIVATE_NAMES)})\b")


def _text_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [
        f for f in listed.stdout.splitlines() if f != "test/unit/test_vocabulary.py" and (ROOT / f).is_file()
    ]


def _text_of(path: Path, has_names: bool) -> Iterator[tuple[int, str]]:
    """The lines of a page; the names, strings and comments of a Python file."""
    text = path.read_text()
    if path.suffix == ".md":
        # The changelog has to name old spellings, as code.
        is_changelog = path.name == "CHANGELOG.md"
        yield from enumerate((re.sub(r"`[^`]*`", "", text) if is_changelog else text).splitlines(), 1)
        return
    if not _WORDS.search(text) and not (has_names and _NAMES.search(text)):
        # No token has what the text has not; to take it apart takes most of the time of these tests.
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NAME, tokenize.STRING, tokenize.COMMENT):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


@pytest.mark.parametrize("file", _text_files())
def test_no_private_words(file: str):
    has_names = file.endswith(".py") and not file.startswith("test/")
    texts = list(_text_of(ROOT / file, has_names))
    found = [
        f"{file}:{line}: {match.group()!r}: say {list(BANNED.values())[int(match.lastgroup[1:])]!r}"
        for line, text in texts
        for match in _WORDS.finditer(text)
        if match.lastgroup and (file, match.group()) not in OLD_SPELLINGS
    ]
    if has_names:
        found += [
            f"{file}:{line}: {text!r}: name it {PRIVATE_NAMES[text]!r}"
            for line, text in texts
            if text in PRIVATE_NAMES
        ]
    assert not found, "\n".join(found)
