"""The onnx dialect: every ONNX operator, its types, attributes and constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def get_onnx() -> Dialect:
    """
    A new dialect object, with a pool of constants of its own; for one context.

    Importing this package loads no op: a tool that only lists its dialects stays fast.
    """
    from xdsl.ir import Dialect

    from xonnc.dialects.onnx.assembly.disposable import DisposableSyntax
    from xonnc.dialects.onnx.elements import DisposableElementsAttr, DisposablePool
    from xonnc.dialects.onnx.layout import LayoutAttr
    from xonnc.dialects.onnx.registry import op_classes
    from xonnc.dialects.onnx.types import MapType, OptType, SeqType, StringType

    return Dialect(
        "onnx",
        list(op_classes()),
        [DisposableElementsAttr, LayoutAttr, MapType, OptType, SeqType, StringType],
        [DisposablePool(), DisposableSyntax()],
    )
