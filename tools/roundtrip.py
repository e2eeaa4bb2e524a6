"""`--verify-roundtrip`: what is printed reads as what it was printed from."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.assembly import OnnxPrinter
from xonnc.tools.diagnostics import Diagnostic
from xonnc.tools.ir_text import make_ir_parser, parse_ir


def roundtrip_errors(
    ctx: Context, module: ModuleOp, name: str, text_of: Callable[[ModuleOp, bool], str] | None = None
) -> list[Diagnostic]:
    """
    Print the module in its own and in the generic form, read both, and compare.

    `text_of` prints in one of the two forms. Returns what is wrong, with `name` as the file.
    """
    show = text_of or _text
    for is_generic in (False, True):
        form = "generic" if is_generic else "custom"
        text = show(module, is_generic)
        parser = make_ir_parser(ctx, text, f"{name} ({form} form)")
        copy = parser if isinstance(parser, Diagnostic) else parse_ir(parser, text, name, True)
        if isinstance(copy, Diagnostic):
            message = f"roundtrip: the {form} form cannot be read again: {copy.message}"
            return [Diagnostic("error", message, name)]
        again = show(copy, is_generic)
        if again != text:
            pairs = zip(text.splitlines(), again.splitlines(), strict=False)
            first, second = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
            message = (
                f"roundtrip: the {form} form reads as something else: {first.strip()} | {second.strip()}"
            )
            return [Diagnostic("error", message, name)]
    return []


def _text(module: ModuleOp, is_generic: bool) -> str:
    stream = StringIO()
    printer = OnnxPrinter(stream=stream, print_generic_format=is_generic, print_debuginfo=True)
    printer.print_op(module)
    return stream.getvalue()
