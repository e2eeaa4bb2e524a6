"""Descriptions of ops in a sentence or two: by hand, or the first words of the schema."""

from __future__ import annotations

import re
import textwrap

from xonnc.tools.onnx_dialect.op_descriptions import DESCRIPTIONS
from xonnc.tools.onnx_dialect.schemas import OperatorSchema

WIDTH = 104
"""Columns a docstring may fill, inside a class."""

_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_TAG = re.compile(r"</?\w+/?>")
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)`'\"\]])\.(?=\s|$)")
_AS_IN_NUMPY = re.compile(r",[^,]*broadcast[^.;]*as in numpy([.;])")
_MAX_LENGTH = 320


def summary(op: str, operator: OperatorSchema) -> str:
    """One paragraph for the op of this name, wrapped."""
    words = DESCRIPTIONS.get(op) or DESCRIPTIONS.get(operator.name) or _first_sentences(operator.doc)
    if is_broadcast_by_attribute(operator):
        words = _AS_IN_NUMPY.sub(r"\1", words)
    return wrapped(words)


def is_broadcast_by_attribute(operator: OperatorSchema) -> bool:
    """Whether it is of the times before opset 7, when only the second operand could be broadcast."""
    return any(attribute.name == "broadcast" for attribute in operator.attributes)


def wrapped(words: str) -> str:
    """Text in lines of a docstring."""
    return "\n".join(textwrap.wrap(words, WIDTH, break_long_words=False, break_on_hyphens=False))


def _first_sentences(doc: str) -> str:
    """The first two sentences, or one if two are long."""
    plain = _TAG.sub(" ", _LINK.sub(r"\1", doc)).replace("\\", "")
    paragraph = next((part for part in re.split(r"\n\s*\n", plain) if part.strip()), "")
    paragraph = " ".join(paragraph.split())
    ends = [match.end() for match in _SENTENCE_END.finditer(paragraph)]
    if not ends:
        return paragraph.rstrip(" :.,") + "."
    end = ends[1] if len(ends) > 1 and ends[1] < _MAX_LENGTH else ends[0]
    return paragraph[:end]
