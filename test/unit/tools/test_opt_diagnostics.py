"""`--verify-diagnostics` checks what a text says it expects."""

from __future__ import annotations

import pytest

from xonnc.tools.diagnostics import Diagnostic
from xonnc.tools.expectations import expectations, unmet_expectations
from xonnc.tools.opt import run_opt

ARGS = ["--verify-diagnostics", "--split-input-file"]
OP = '%0 = "onnx.Relu"() : () -> tensor<1xf32>'
MESSAGE = "expected 1 operand"


@pytest.mark.parametrize(
    "text",
    [
        f"// expected-error@+1 {{{{{MESSAGE}}}}}\n{OP}",
        f"// expected-error@below {{{{{MESSAGE}}}}}\n{OP}",
        f"// expected-error @below {{{{{MESSAGE}}}}}\n// a comment\n{OP}".replace("// a comment\n", ""),
        f"{OP} // expected-error {{{{{MESSAGE}}}}}",
        f"{OP}\n// expected-error@above {{{{{MESSAGE}}}}}",
        f"{OP}\n\n// expected-error@-2 {{{{{MESSAGE}}}}}",
        f"// expected-error-re@+1 {{{{expected {{{{[0-9]+}}}} operand}}}}\n{OP}",
        f"// expected-error@+1 {{{{{MESSAGE}}}}}\n{OP}\n// -----"
        + f"\n{OP} // expected-error {{{{{MESSAGE}}}}}",
        '// expected-error@+1 {{Operation mine.op is not registered}}\n"mine.op"() : () -> ()',
        "func.func private @f()",
    ],
)
def test_what_is_expected_comes(text: str):
    code, _, err = run_opt(ARGS, text)
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OP, "<stdin>:1:6: error: unexpected error: 'onnx.Relu' op expected 1 operand"),
        (
            f"// expected-error@+2 {{{{{MESSAGE}}}}}\n{OP}",
            f'<stdin>:1: error: expected error "{MESSAGE}" was',
        ),
        (f"// expected-error@+1 {{{{something else}}}}\n{OP}", 'expected error "something else" was'),
        (f"// expected-warning@+1 {{{{{MESSAGE}}}}}\n{OP}", f'expected warning "{MESSAGE}" was not produced'),
        ("// expected-note {{hm}}\nfunc.func private @f()", 'expected note "hm" was not produced'),
        ("// expected-remark {{hm}}\nfunc.func private @f()", 'expected remark "hm" was not produced'),
        (f"func.func private @f()\n// -----\n{OP}", "<stdin>:3:6: error: unexpected error"),
    ],
)
def test_what_is_missing_or_unexpected_fails(text: str, message: str):
    code, _, err = run_opt(ARGS, text)
    assert code == 1
    assert message in err


def test_one_message_meets_one_expectation():
    text = "// expected-error@+2 {{a}}\n// expected-error@+1 {{a}}\nop"
    assert unmet_expectations(text, [Diagnostic("error", "a", "f", 3, 1)], "f") == [
        'f:2: error: expected error "a" was not produced'
    ]
    assert unmet_expectations(text, [Diagnostic("error", "a", "f", 3, 1)] * 2, "f") == []


def test_a_message_without_a_place_is_expected_anywhere():
    text = "op\n// expected-error@unknown {{a}}"
    assert unmet_expectations(text, [Diagnostic("error", "a b", "f")], "f") == []
    assert len(unmet_expectations(text, [Diagnostic("error", "a b", "f", 1, 1)], "f")) == 2


def test_lines_of_expectations():
    text = "one\n// expected-error@below {{a}}\n// expected-note@above {{b}}\ntwo // expected-remark {{c}}"
    assert [(found.severity, found.line) for found in expectations(text)] == [
        ("error", 4),
        ("note", 1),
        ("remark", 4),
    ]


def test_a_long_line_is_cut_around_the_place():
    text = "x" * 500 + "y" + "z" * 500
    _, shown, caret = Diagnostic("error", "m", "f", 1, 501).text(text).splitlines()
    assert len(shown) <= 240
    assert shown[caret.index("^")] == "y"


def test_a_place_behind_the_text_shows_no_line():
    assert Diagnostic("error", "m", "f", 7, 1).text("one\ntwo") == "f:7:1: error: m"
