"""`fuse-channels-onnx`: fold per-channel arithmetic into the weights of convolutions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.rewriting.driver import apply_rules
from xonnc.transforms.rules import fuse_channels, fuse_dequantized

RULES = fuse_channels.RULES | fuse_dequantized.RULES


@dataclass(frozen=True)
class FuseChannels(ModulePass):
    """
    Fold batch normalisations, scales and offsets per channel into the weights of the convolution before
    them, and factors into the scales of quantized weights.

    Option: `disable-pattern` names rules to leave out.
    """

    name = "fuse-channels-onnx"

    disable_pattern: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, ctx, RULES.without(self.disable_pattern), pass_name=self.name)
