"""Display of IR in notebooks, by `%load_ext xonnc`."""

from __future__ import annotations

from html import escape
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.assembly.printer import OnnxPrinter

MAX_ELEMENTS = 16
"""Elements of the largest constant that is shown."""


def load_ipython_extension(ipython: Any) -> None:
    """
    Show IR modules as text, without large constants; IPython calls this for `%load_ext xonnc`.

    Parameters:
        ipython: the running shell, an `InteractiveShell` of IPython.
    """
    ipython.display_formatter.formatters["text/html"].for_type(ModuleOp, module_html)


def module_html(module: ModuleOp) -> str:
    """
    Return the text of a module as HTML.

    Parameters:
        module: a module; constants of more than 16 elements are left out.

    Returns: a `<pre>` element.
    """
    stream = StringIO()
    OnnxPrinter(stream, elide_larger=MAX_ELEMENTS).print_op(module)
    return f"<pre>{escape(stream.getvalue())}</pre>"
