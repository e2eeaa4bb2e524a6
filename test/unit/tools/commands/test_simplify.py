"""Arguments of `xonnc simplify`."""

from __future__ import annotations

import argparse

import pytest

from xonnc.tools.commands.simplify import named_shape


@pytest.mark.parametrize(
    ("text", "name", "shape"),
    [
        ("x:1,3,224,224", "x", (1, 3, 224, 224)),
        ("x:-1", "x", (-1,)),
        ("x:0,2", "x", (0, 2)),
        (f"x:{(1 << 63) - 1}", "x", ((1 << 63) - 1,)),
        ("x:", "x", ()),
        ("serving:x:0:2,3", "serving:x:0", (2, 3)),
    ],
)
def test_shapes_with_names(text: str, name: str, shape: tuple[int, ...]):
    assert named_shape(text) == (name, shape)


@pytest.mark.parametrize(
    "text", ["", "x", ":", ":1,2", "1,2", "x:-2", "x:1,-2", f"x:{1 << 63}", "x:a", "x:1,", "x:,", "x:1.5"]
)
def test_other_texts_are_refused(text: str):
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        named_shape(text)
    assert str(caught.value) == f"'{text}' must have the form NAME:SIZES, such as x:1,3,-1"
