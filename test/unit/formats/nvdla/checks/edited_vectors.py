"""Golden vectors that break a rule when they are edited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

RuleCases: TypeAlias = dict[str, list[tuple[str, Mapping[str, Any], str]]]
"""By rule: the vector, what is edited in it, and a part of what is said."""

CONV = "nv_full/conv_k3p1_int8"
CHUNKS = "nv_full/conv_hsplit_reuse_fp16"
FUSED = "nv_full/pdp_fly_max_fp16"
IMAGE = "nv_full/img_rgba_int8"
PLANES = "nv_full/img_y8_u8v8_int8"
WINOGRAD = "nv_full/conv_winograd_fp16"
SMALL = "nv_small/conv_k3p1_int8"
SDP = "nv_full/sdp_x1_kernel_both_int16"
TABLE = "nv_full/lut_sigmoid_int8"
POOL = "nv_full/pdp_max2s2_fp16"
LENET = "nv_small/graph_lenetish_int8"
SPLIT_ROW = "nv_full/pdp_split3_avg_fp16"
LRN = "nv_full/cdp_l5_int8"
SHARED = "nv_full/graph_residual_fp16"
SOFTMAX = "nv_full/emu_softmax"
TASKS = "nv_full/graph_submits_fp16"
"""Three tasks of the accelerator, one after another."""
