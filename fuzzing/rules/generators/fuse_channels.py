"""What instances of transforms/rules/fuse_channels are made of: mostly those of the canonical rules."""

from __future__ import annotations

from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.generators.canonicalize_layer import (
    after_convolution,
    normalised_convolution,
    normalised_data,
)
from xonnc.fuzzing.rules.instances import Example


def after_norm(draw: Draw) -> Example:
    """Normalised data and a number for each channel, or one for all; or what is neither."""
    given = normalised_data(draw)
    shape = given.values["x"]
    assert isinstance(shape, tuple)
    count, ones = shape[1], (1,) * (len(shape) - 2)
    c = draw.pick((count, *ones), (1, count, *ones), (), (1,), (count, *ones))
    return Example({**given.values, "c": c}, given.attributes)


GENERATORS: dict[str, Generator] = {
    "FuseConstantBatchNormConv": normalised_convolution,
    "FuseConstantProductBatchNorm": after_norm,
    "FuseConstantProductConv": after_convolution(True),
    "FuseConstantSumBatchNorm": after_norm,
    "FuseConstantSumConv": after_convolution(True),
}
FINITE = dict.fromkeys(GENERATORS, "products and sums of infinities in another order are not the same")
