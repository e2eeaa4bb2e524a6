"""`xonnc tensor`: convert a tensor from one file format to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from xonnc.tools.model_output import add_output_file, add_report, report, require_given_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.epilog = (
        "Formats by file ending: .npy (NumPy), .pb (TensorProto), .bin (raw, little-endian), .pgm and .ppm\n"
        "(8-bit pixels, H x W x C), .dimg (values as text, as nvdla_runtime writes them), .json."
    )
    parser.add_argument("action", choices=["convert"], help="what to do")
    parser.add_argument("input", type=Path, help="the tensor to read")
    add_output_file(parser, "the file to write")
    parser.add_argument("--shape", type=_shape, metavar="1,3,224,224", help="shape of the result")
    parser.add_argument("--type", metavar="TYPE", help="element type of the result, such as float32")
    add_report(parser)


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(size) for size in text.split(",")) if text else ()
    except ValueError:
        shape = (-1,)
    if any(size < 0 for size in shape):
        raise argparse.ArgumentTypeError(f"'{text}' must be a list of sizes, such as 1,3,224,224")
    return shape


def run(args: argparse.Namespace) -> int:
    """Convert a tensor."""
    from xonnc.formats.atomic_write import atomic_write
    from xonnc.tools.files import require_output
    from xonnc.tools.tensor_files import TENSOR_ENDINGS, encoded, read

    require_given_output(args)
    require_output(args.output, TENSOR_ENDINGS, args.input, takes_others=True)
    array = read(args.input, args.shape, args.type)
    content = encoded(args.output, array)
    with atomic_write(args.output) as stream:
        stream.write(content)
    shape = list(array.shape)
    facts = {"type": str(array.dtype), "shape": shape}
    report(args, facts, [f"{args.input.name}   {array.dtype}{shape}"], [args.output])
    return 0
