"""Rules of the checks allow values up to their limits: `test_rules.py` has those beyond."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from xonnc.formats.nvdla.checks.problem import Violation

CONV = "nv_full/conv_k3p1_int8"
POOL = "nv_full/pdp_max2s2_fp16"
SPLIT_ROW = "nv_full/pdp_split3_avg_fp16"

AT_THE_LIMIT: dict[str, list[tuple[str, Mapping[str, Any]]]] = {
    "pads-are-below-the-window": [
        (POOL, {f"op[0].pad_{side}": 1}) for side in ("left", "right", "top", "bottom")
    ],
    "pooled-row-fits": [
        (POOL, {"surface[0].dst_data.width": 128, "surface[0].src_data.width": 256}),
        (SPLIT_ROW, {"op[0].partial_width_first": 128}),
    ],
    "weight-size": [("nv_full/conv_wcompress_int8", {"surface[0].weight_data.size": 14464})],
    "conv-fields": [
        (CONV, {"op[0].conv_stride_x": 8, "op[0].conv_stride_y": 1, "op[0].dilation_x": 32}),
        (CONV, {"op[0].pad_x_left": 31, "op[0].pad_y_bottom": 63, "op[0].kernel_width_csc": 32}),
        (CONV, {"op[0].out_cvt.truncate": 31, "op[0].in_cvt.truncate": 63, "op[0].pra_truncate": 3}),
    ],
    "rows-are-fetched-and-released": [
        (CONV, {"op[0].fetch_grain": 1, "op[0].release": 9}),
        (CONV, {"op[0].fetch_grain": 9, "op[0].release": 1}),
    ],
    "bdma-transfers": [("nv_full/bdma_1", {"surface[0].transfers[0].line_repeat": 1})],
}
"""Edits up to what a rule allows; others may be broken."""


@pytest.mark.parametrize(
    ("rule", "name", "edits"), [(rule, *case) for rule, cases in AT_THE_LIMIT.items() for case in cases]
)
def test_a_rule_allows_its_limit(
    rule: str,
    name: str,
    edits: Mapping[str, Any],
    check_edited: Callable[[str, Mapping[str, Any]], list[Violation]],
):
    assert [problem for problem in check_edited(name, edits) if problem.rule == rule] == []
