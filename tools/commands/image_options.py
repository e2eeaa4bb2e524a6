"""Options that say which inputs of a network lie as images, and what their pixels stand for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xonnc.errors import XonncError

if TYPE_CHECKING:
    from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--input-format`, `--input-mean`, `--input-std`."""
    parser.add_argument(
        "--input-format",
        action="append",
        default=[],
        metavar="[NAME=]FORMAT",
        help="pixel format of an image input of the first convolution: R8, A8B8G8R8 (bytes R, G, B, A) "
        "and others for INT8, R16_F and A16B16G16R16_F for FP16; NAME is needed with several inputs",
    )
    parser.add_argument(
        "--input-mean",
        action="append",
        default=[],
        metavar="[NAME=]M[,M,M]",
        help="mean of normalised pixels: the model's values are (pixel - mean) / std, pixels 0 to 255; "
        "one for each channel, or one for all (default: 0)",
    )
    parser.add_argument(
        "--input-std",
        action="append",
        default=[],
        metavar="[NAME=]S[,S,S]",
        help="standard deviation of normalised pixels, see --input-mean (default: 1)",
    )


def images(args: argparse.Namespace) -> dict[str, ImageInput]:
    """The inputs that are images by name; `""` for the only one there is."""
    formats = _by_name("--input-format", args.input_format)
    means = _numbers("--input-mean", args.input_mean)
    deviations = _numbers("--input-std", args.input_std)
    for option, found in (("--input-mean", means), ("--input-std", deviations)):
        if left := sorted(found.keys() - formats.keys()):
            whose = f" of {left[0]}" if left[0] else ""
            raise XonncError(f"{option}{whose}: an image has them; say which by --input-format")
    if not formats:
        return {}
    # Imported late, with the compiler for NVDLA, which native code does not need.
    from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput

    return {
        name: ImageInput(given, means.get(name, (0.0,)), deviations.get(name, (1.0,)))
        for name, given in formats.items()
    }


def _by_name(option: str, given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, _, value = text.rpartition("=")
        if name in found:
            raise XonncError(
                f"{option} {text}: given before" + (f" for {name}" if name else "; name the input")
            )
        found[name] = value
    return found


def _numbers(option: str, given: Sequence[str]) -> dict[str, tuple[float, ...]]:
    found: dict[str, tuple[float, ...]] = {}
    for name, text in _by_name(option, given).items():
        try:
            found[name] = tuple(float(number) for number in text.split(","))
        except ValueError:
            raise XonncError(
                f"{option} {text}: numbers with commas between them, as 123.7,116.3,103.5"
            ) from None
    return found
