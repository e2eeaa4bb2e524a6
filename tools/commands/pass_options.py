"""Options of the passes: `-O`, `--enable-pass`, `--disable-pass`, and `--layout` of inputs and outputs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypedDict

from xonnc.errors import XonncError
from xonnc.transforms.optimization_levels import (
    DEFAULT_LEVEL,
    FAST_MATH,
    LEVELS,
    require_optional,
    require_pass,
)

OWN_FLAGS = tuple(f"O{level}" for level in LEVELS)
"""Options that onnx-mlir has as well, with the same spelling."""


class PassChoice(TypedDict):
    """The options as arguments of the compiler."""

    level: int
    enable_pass: list[str]
    disable_pass: list[str]
    layouts: dict[str, str]


def add_arguments(add: Callable[..., argparse.Action], llvm: str = "") -> None:
    """Add the options with `add`, a method of a parser or group; `llvm` is appended to the help of `-O`."""
    add(
        "-O",
        type=int,
        choices=LEVELS,
        dest="level",
        metavar="N",
        help=f"optimization level, 0 to 3 (default: {DEFAULT_LEVEL}); 'xonnc passes --levels' shows the "
        f"passes of each{llvm}",
    )
    for option, does, check in (
        ("--enable-pass", "enable a pass of a higher level", require_pass),
        ("--disable-pass", "disable a pass of this level, or an optional one of NVDLA", _require_optional),
    ):
        add(
            option,
            type=_checked(check),
            action="append",
            default=[],
            metavar="NAME",
            help=f"{does}; may be repeated",
        )

    add(
        "--fast-math",
        action=argparse.BooleanOptionalAction,
        help="apply rules that hold for real numbers, so that floats are rounded elsewhere than in the model "
        "(default: yes)",
    )
    add(
        "--layout",
        type=_layout,
        action="append",
        default=[],
        metavar="NAME:NHWC",
        help="convert an input or output to another layout (NAME:FROM:TO; FROM is NCHW); may be repeated",
    )


def _layout(text: str) -> tuple[str, str]:
    from xonnc.transforms.models.set_layouts_onnx import parse_layout

    try:
        return parse_layout(text)
    except XonncError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _require_optional(name: str) -> str:
    """Return the name of a pass that may be disabled; raise `XonncError` for any other."""
    if not _is_of_dla(name):
        return require_optional(name)
    from xonnc.lowering.dla_to_loadable.stages import require_optional_pass

    return require_optional_pass(name)


def _is_of_dla(name: str) -> bool:
    """Whether a pass is one of NVDLA's back end, whose names begin alike."""
    return name.startswith("dla-")


def _checked(check: Callable[[str], str]) -> Callable[[str], str]:
    """Return an argparse type that accepts the names `check` accepts."""

    def name(text: str) -> str:
        try:
            return check(text)
        except XonncError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return name


def given(args: argparse.Namespace) -> dict[str, bool]:
    """Return which of the options that are not for NVDLA were given, by spelling."""
    return {
        f"-O{args.level}": args.level is not None,
        "--enable-pass": bool(args.enable_pass),
        "--disable-pass": not all(map(_is_of_dla, args.disable_pass)),
        "--no-fast-math": args.fast_math is False,
        "--layout": bool(args.layout),
    }


def choice(args: argparse.Namespace) -> PassChoice:
    """Return the options as arguments of `simplify` and the compiler."""
    return PassChoice(
        level=DEFAULT_LEVEL if args.level is None else args.level,
        enable_pass=args.enable_pass,
        disable_pass=[*args.disable_pass, *([FAST_MATH] if args.fast_math is False else [])],
        layouts=dict(args.layout),
    )
