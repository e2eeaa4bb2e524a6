"""What instances of transforms/rules/fuse_channels are made of: those of the canonical rules."""

from __future__ import annotations

from canonicalize_layer_generators import after_convolution, normalised_convolution, normalised_data
from rule_draws import Generator

GENERATORS: dict[str, Generator] = {
    "FuseConstantBatchNormConv": normalised_convolution,
    "FuseConstantProductConv": after_convolution(True),
    "FuseConstantSumConv": after_convolution(True),
    "RewriteConstantBatchNorm": normalised_data,
}
FINITE = dict.fromkeys(GENERATORS, "products and sums of infinities in another order are not the same")
