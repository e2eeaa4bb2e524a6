"""The attributes common to convolutions and pooling."""

from __future__ import annotations

from typing import Protocol

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, StringAttr


class WindowOp(Protocol):
    """A sliding-window op; each list is optional in ONNX."""

    @property
    def auto_pad(self) -> StringAttr: ...
    @property
    def pads(self) -> ArrayAttr[IntegerAttr[IntegerType]] | None: ...
    @property
    def strides(self) -> ArrayAttr[IntegerAttr[IntegerType]] | None: ...
    @property
    def dilations(self) -> ArrayAttr[IntegerAttr[IntegerType]] | None: ...
