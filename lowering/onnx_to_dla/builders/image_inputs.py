"""Image inputs of a network (pixel format, mean and std) as argument attributes of its function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, ModuleOp, StringAttr, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.interface_names import are_dictionaries, argument_names
from xonnc.errors import XonncError, suggest
from xonnc.formats.nvdla.enumerations import PixelFormat, Precision
from xonnc.formats.nvdla.pixel_normalization import Normalization
from xonnc.formats.nvdla.pixels import FLOAT_PIXELS, PIXEL_LAYOUTS

IMAGE_ATTRIBUTE = "dla.image"
"""The attribute of an argument: `{format = "A8B8G8R8", mean = [0.0 : f64], std = [1.0 : f64]}`."""

INTEGER_FORMATS = tuple(
    number.name
    for number in PixelFormat
    if number is PixelFormat.R8 or PixelFormat.A8B8G8R8 <= number <= PixelFormat.R8G8B8X8
)
FLOAT_FORMATS = tuple(sorted((PixelFormat(number).name for number in FLOAT_PIXELS), key=len))
FORMATS = (*INTEGER_FORMATS, *FLOAT_FORMATS)
"""Supported pixel formats, those of 8-bit pixels first (docs/internals/nvdla-hardware.md §3.3)."""


@dataclass(frozen=True)
class ImageInput:
    """
    Pixel format of an input, by the hardware's name, and its normalization.

    The model's values are `(pixel - mean) / std`, with one number for all channels or one per channel.
    """

    format: str
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self):
        if self.format not in FORMATS:
            raise XonncError(
                f"no image format '{self.format}'{suggest(self.format, FORMATS)}; "
                f"there are {', '.join(FORMATS)}"
            )
        if not self.mean or not all(map(isfinite, self.mean)):
            raise XonncError(
                f"mean {list(self.mean)} of an image (one finite number, or one for each channel)"
            )
        if not self.std or not all(isfinite(number) and number > 0 for number in self.std):
            raise XonncError(
                f"std {list(self.std)} of an image (one number above 0, or one for each channel)"
            )

    @property
    def number(self) -> PixelFormat:
        """The pixel format."""
        return PixelFormat[self.format]

    @property
    def precision(self) -> Precision:
        """The precision of convolutions that read such pixels."""
        return Precision.FP16 if self.number in FLOAT_PIXELS else Precision.INT8

    @property
    def channels(self) -> int:
        """Channels that the format delivers to the convolution core."""
        return PIXEL_LAYOUTS[self.number].channels

    def normalization(self, channels: int) -> Normalization | None:
        """
        Return the normalization for `channels` channels, `None` if the numbers of means or stds do not match.
        """
        if not {len(self.mean), len(self.std)} <= {1, channels}:
            return None
        mean, std = (
            numbers * channels if len(numbers) == 1 else numbers for numbers in (self.mean, self.std)
        )
        return Normalization(mean, std)


def set_images(module: ModuleOp, images: Mapping[str, ImageInput]) -> None:
    """
    Store which inputs of the network in `module` are images, by name; `""` means its only input.

    Raises `XonncError` for names that no input has.
    """
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    names = argument_names(function)
    left = dict(images)
    if "" in left:
        if len(names) != 1:
            raise XonncError(
                f"an image format for one of {len(names)} inputs; say which: {', '.join(names)} (NAME=FORMAT)"
            )
        left = {names[0]: left.pop(""), **left}
    if unknown := sorted(left.keys() - set(names)):
        raise XonncError(
            f"no input '{unknown[0]}'{suggest(unknown[0], names)} to be an image; "
            f"there are {', '.join(names)}"
        )
    given = list(function.arg_attrs) if are_dictionaries(function.arg_attrs) else []
    given += [DictionaryAttr({})] * (len(names) - len(given))
    function.arg_attrs = ArrayAttr(
        [
            DictionaryAttr({**entry.data, IMAGE_ATTRIBUTE: _encode(left[name])}) if name in left else entry
            for name, entry in zip(names, given, strict=True)
        ]
    )


def images_of(function: FuncOp) -> dict[int, ImageInput]:
    """Return the inputs that are images, by argument index."""
    given = list(function.arg_attrs) if are_dictionaries(function.arg_attrs) else []
    found = {
        index: entry.data[IMAGE_ATTRIBUTE]
        for index, entry in enumerate(given)
        if IMAGE_ATTRIBUTE in entry.data
    }
    return {index: _decode(attribute) for index, attribute in found.items()}


def set_normalizations(function: FuncOp, normalizations: Mapping[int, Normalization]) -> None:
    """Store the normalization of each image with one value per channel."""
    if not normalizations or not are_dictionaries(function.arg_attrs):
        return
    images = images_of(function)
    entries = list(function.arg_attrs)
    for index, one in normalizations.items():
        image = replace(images[index], mean=one.mean, std=one.std)
        entries[index] = DictionaryAttr({**entries[index].data, IMAGE_ATTRIBUTE: _encode(image)})
    function.arg_attrs = ArrayAttr(entries)


def _encode(image: ImageInput) -> DictionaryAttr:
    return DictionaryAttr(
        {
            "format": StringAttr(image.format),
            "mean": ArrayAttr([FloatAttr(number, f64) for number in image.mean]),
            "std": ArrayAttr([FloatAttr(number, f64) for number in image.std]),
        }
    )


def _decode(attribute: Attribute) -> ImageInput:
    if isinstance(attribute, DictionaryAttr):
        name, mean, std = (attribute.data.get(key) for key in ("format", "mean", "std"))
        if (
            isinstance(name, StringAttr)
            and isa(mean, ArrayAttr[FloatAttr])
            and isa(std, ArrayAttr[FloatAttr])
        ):
            numbers = (tuple(number.value.data for number in array) for array in (mean, std))
            return ImageInput(name.data, *numbers)
    raise XonncError(f"{IMAGE_ATTRIBUTE}: {attribute}; it has a format, means and deviations")
