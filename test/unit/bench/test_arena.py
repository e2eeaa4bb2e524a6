"""The table of what runs take beside the weights."""

from __future__ import annotations

from bench.arena import NETWORKS, ArenaResult, markdown
from bench.models import MODELS


def test_a_row_says_how_far_the_plan_is_above_the_bound():
    rows = [
        ArenaResult("a", 2_000_000, 2_000_000, 2.5, 5.0),
        ArenaResult("b", 1_100_000, 1_000_000, 1.5, 0.0),
    ]
    assert markdown(rows)[2:] == [
        "| a | 2.00 | equal | 2.50 | 5.00 | 0.50 |",
        "| b | 1.10 | 10.0% | 1.50 | 0.00 | – |",
    ]


def test_every_network_is_one_of_the_models():
    assert set(NETWORKS) <= set(MODELS)
