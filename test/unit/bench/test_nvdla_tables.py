"""Tables of networks on the NVDLA as the page on accuracy has them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench import nvdla_memory, nvdla_networks
from bench.nvdla_zoo import Configuration, markdown

SMALL, FULL = Configuration("nv_small", "INT8"), Configuration("nv_full", "FP16")


def test_accuracy():
    rows = [
        nvdla_networks.NetworkResult("a", FULL, cosine=0.99995, integers="", clear_top1=9, same_top1=9),
        nvdla_networks.NetworkResult("a", SMALL, cosine=0.97, integers="equal", clear_top1=10, same_top1=9),
        nvdla_networks.NetworkResult("b", SMALL, cosine=0.99, integers="3 of 10 differ"),
    ]
    assert markdown(nvdla_networks.cells(rows)) == [
        "| network | nv_full FP16 | nv_small INT8 |",
        "|---|---|---|",
        "| a | 0.99995, 9/9 | **0.97000, 9/10** |",
        "| b |  | **0.99000** |",
    ]


def test_memory():
    rows = [
        nvdla_memory.NvdlaMemoryResult("a", FULL, 2048, 2048, 3_000_000, 4_000_000),
        nvdla_memory.NvdlaMemoryResult("a", SMALL, 2048, 2000, 3_000_000, 4_000_000),
    ]
    assert markdown(nvdla_memory.cells(rows))[2:] == [
        "| a | 2 KB; 3.0 of 4.0 MB | 2 KB (**2.4% above**); 3.0 of 4.0 MB |"
    ]
