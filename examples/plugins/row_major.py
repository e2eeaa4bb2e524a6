"""Layouts of operators of ONNX: convolutions with few channels, and the pools after them, are row-major."""

from typing import Literal

from xonnc.plugin import BackendNode, Plugin, layout_preference

plugin = Plugin("row_major", version="1.0")

FEW = 16


@layout_preference(plugin, "Conv", "MaxPool")
def row_major(node: BackendNode) -> Literal["NCHW"] | None:
    """Blocks of channels are mostly padding for few of them."""
    result = node.outputs[0]
    channels = result.shape[1] if result is not None and result.shape is not None else None
    return "NCHW" if isinstance(channels, int) and channels <= FEW else None
