"""Lexer of MLIR text by one regular expression: the tokens of xDSL's lexer, several times faster."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRTokenKind, StringLiteral

_SUFFIX = r"(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)"
# Possessive, as everything repeated here: a damaged text must not be tried in exponentially many ways.
_STRING = r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
_TOKEN = re.compile(
    rf"""
    (?:[ \t\r\n\f\v]++|//[^\n]*+)*+
    (?:
      (?P<PERCENT_IDENT>%{_SUFFIX})
    | (?P<BARE_IDENT>[a-zA-Z_][a-zA-Z0-9_$.]*)
    | (?P<PUNCTUATION>->|\{{-\#|\#-\}}|\.\.\.|[:,(){{}}\[\]<>=+/*?|-])
    | (?P<STRING_LIT>{_STRING})
    | (?P<FLOAT_LIT>(?!0x[0-9a-fA-F])[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?)
    | (?P<INTEGER_LIT>0x[0-9a-fA-F]+|[0-9]+)
    | (?P<AT_IDENT>@(?:[a-zA-Z_][a-zA-Z0-9_$.]*|{_STRING}))
    | (?P<HASH_IDENT>\#{_SUFFIX})
    | (?P<EXCLAMATION_IDENT>!{_SUFFIX})
    | (?P<CARET_IDENT>\^{_SUFFIX})
    )
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"(?:[ \t\r\n\f\v]++|//[^\n]*+)*+")
_KINDS = {kind.name: kind for kind in MLIRTokenKind}


@dataclass(init=False)
class SpelledToken(Token[MLIRTokenKind, str]):
    """A token that stores its text instead of slicing it from the input at each access."""

    def __init__(self, kind: MLIRTokenKind, span: Span[str], spelling: str) -> None:
        self.kind = kind
        self.span = span
        self.spelling = spelling

    @property
    def text(self) -> str:
        """The token's text."""
        return self.spelling


class OnnxLexer(MLIRLexer):
    """
    The lexer of `OnnxParser`.

    A string is text wherever its bytes are UTF-8; xDSL takes `"\\C3\\A9"`, its own print of `é`, for bytes.
    """

    def __init__(self, input: Input[str]) -> None:
        super().__init__(input)

    def lex(self) -> Token[MLIRTokenKind, str]:
        """Return the next token; what the expression does not match goes to xDSL's lexer and its errors."""
        match = _TOKEN.match(self.input.content, self.pos)
        if match is None:
            self._refuse_open_string()
            return super().lex()
        name = match.lastgroup or "PUNCTUATION"
        start, end = match.span(name)
        text = match[name]
        self.pos = end
        if name == "PUNCTUATION":
            kind = KIND_BY_PUNCTUATION_SPELLING[text]
        elif name == "STRING_LIT" and "\\" in text:
            kind = _string_kind(StringLiteral(start, end, self.input))
        else:
            kind = _KINDS[name]
        return SpelledToken(kind, Span(start, end, self.input), text)

    def _refuse_open_string(self) -> None:
        """Raise for an unterminated string, on which xDSL's regular expression takes exponential time."""
        space = _SPACE.match(self.input.content, self.pos)
        start = space.end() if space else self.pos
        if self.input.content.startswith(('"', '@"'), start):
            raise ParseError(
                Span(start, start + 1, self.input), "this string does not end, or has a wrong escape"
            )


def _string_kind(literal: StringLiteral) -> MLIRTokenKind:
    try:
        literal.bytes_contents.decode()
    except UnicodeDecodeError:
        return MLIRTokenKind.BYTES_LIT
    return MLIRTokenKind.STRING_LIT
