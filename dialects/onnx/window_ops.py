"""What convolutions and pools have in common."""

from __future__ import annotations

from typing import Protocol

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, StringAttr


class WindowOp(Protocol):
    """An op that moves a window over an image; ONNX allows each list to be absent."""

    @property
    def auto_pad(self) -> StringAttr: ...
    @property
    def pads(self) -> ArrayAttr[IntegerAttr[IntegerType]] | None: ...
    @property
    def strides(self) -> ArrayAttr[IntegerAttr[IntegerType]] | None: ...
    @property
    def dilations(self) -> ArrayAttr[IntegerAttr[IntegerType]] | None: ...
