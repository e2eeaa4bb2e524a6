"""Attributes of functions that compute several images in one run, and of their arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from xonnc.dialects.dla.engines import integer

BATCH_ATTRIBUTE = "dla.batch"
"""The function's attribute with the number of images that it is to compute."""

IMAGES_ATTRIBUTE = "dla.images"
"""The attribute of an argument or result of several images: how many, and the channels of each."""


@dataclass(frozen=True)
class ImageCount:
    """How many images an argument or a result holds, and the channels of each."""

    count: int
    channels: int

    def encoded(self) -> DictionaryAttr:
        """Return the attribute of an argument or result."""
        return DictionaryAttr({"count": integer(self.count), "channels": integer(self.channels)})


def holds_several_images(block: Block) -> bool:
    """Whether the function of `block` computes several images in one run."""
    function = block.parent_op()
    assert isinstance(function, FuncOp)
    return any(images_in(function.arg_attrs, index) is not None for index in range(len(block.args)))


def images_in(attributes: ArrayAttr[DictionaryAttr] | None, index: int) -> ImageCount | None:
    """Return the images that an argument or result holds by its attributes; `None`: those of its type."""
    entries = list(attributes or ())
    images = entries[index].data.get(IMAGES_ATTRIBUTE) if index < len(entries) else None
    if not isinstance(images, DictionaryAttr):
        return None
    count, channels = (images.data.get(name) for name in ("count", "channels"))
    if not isinstance(count, IntegerAttr) or not isinstance(channels, IntegerAttr):
        return None
    return ImageCount(count.value.data, channels.value.data)


def with_images(
    attributes: ArrayAttr[DictionaryAttr] | None, images: Sequence[ImageCount]
) -> ArrayAttr[DictionaryAttr]:
    """Return the attributes of arguments or results with the images of each."""
    given = [entry.data for entry in attributes or ()] or [{} for _ in images]
    return ArrayAttr(
        [
            DictionaryAttr({**entry, IMAGES_ATTRIBUTE: one.encoded()})
            for entry, one in zip(given, images, strict=True)
        ]
    )
