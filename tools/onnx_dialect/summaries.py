"""What an operator does, in a sentence or two: by hand, or in the first words of the schema."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

from xonnc.tools.onnx_dialect.schemas import Operator

WIDTH = 104
"""Columns a docstring may fill, inside a class."""

_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_TAG = re.compile(r"</?\w+/?>")
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)`'\"\]])\.(?=\s|$)")
_LONGEST = 320

SUMMARIES: Mapping[str, str] = {}
"""Operators whose schema begins with nothing that explains them."""


def summary(operator: Operator) -> str:
    """One paragraph, wrapped."""
    words = SUMMARIES.get(operator.name) or _first_sentences(operator.doc)
    return "\n".join(textwrap.wrap(words, WIDTH, break_long_words=False, break_on_hyphens=False))


def _first_sentences(doc: str) -> str:
    """The first two sentences, or one if two are long."""
    plain = _TAG.sub(" ", _LINK.sub(r"\1", doc)).replace("\\", "")
    paragraph = next((part for part in re.split(r"\n\s*\n", plain) if part.strip()), "")
    paragraph = " ".join(paragraph.split())
    ends = [match.end() for match in _SENTENCE_END.finditer(paragraph)]
    if not ends:
        return paragraph.rstrip(" :.,") + "."
    end = ends[1] if len(ends) > 1 and ends[1] < _LONGEST else ends[0]
    return paragraph[:end]
