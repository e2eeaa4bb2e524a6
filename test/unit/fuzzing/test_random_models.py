"""Random models are valid, run, have every motif in them, and are the same for the same seed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.fuzzing.differential import Original
from xonnc.fuzzing.model_builder import ModelBuilder, NotApplicable, new_builder
from xonnc.fuzzing.motifs.data_movement import even_splits
from xonnc.fuzzing.random_models import MOTIFS_BY_THEME, random_model
from xonnc.fuzzing.validity import invalidity

SEEDS = range(400)


def test_the_same_seed_gives_the_same_model_and_inputs():
    first, second = random_model(7), random_model(7)
    assert first.model.SerializeToString() == second.model.SerializeToString()
    assert random_model(8).model.SerializeToString() != first.model.SerializeToString()
    for one, other in zip(first.feeds, second.feeds, strict=True):
        assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


def test_models_are_valid_and_have_every_motif_and_many_opsets():
    motifs: Counter[str] = Counter()
    opsets: set[int] = set()
    dynamic = 0
    for seed in SEEDS:
        drawn = random_model(seed)
        assert not invalidity(drawn.model, with_shapes=False), seed
        motifs.update(drawn.motifs)
        opsets.add(drawn.model.opset_import[0].version)
        dims = [dim for one in drawn.model.graph.input for dim in one.type.tensor_type.shape.dim]
        dynamic += any(not dim.HasField("dim_value") for dim in dims)
    expected = {f"{theme}.{motif.__name__}" for theme, table in MOTIFS_BY_THEME.items() for motif in table}
    assert not expected - motifs.keys()
    assert {9, 11, 13, 17, 21, 24} <= opsets
    assert dynamic > len(SEEDS) // 10


def test_nearly_all_models_run_on_all_kinds_of_inputs():
    runs = [len(Original(one.model, one.feeds).runs) for one in map(random_model, (2, 3, 5, 6, 7, 8, 9, 10))]
    assert min(runs) >= 3


def test_a_motif_that_does_not_fit_leaves_nothing_behind():
    builder = new_builder(0, 13, allows_nonfinite=False, allows_empty=False)

    def motif(builder: ModelBuilder) -> None:
        builder.keep(builder.node("Relu", builder.take()))
        builder.node("Gelu", builder.values[-1])

    assert not builder.attempt(motif)
    for left in (builder.nodes, builder.initializers, builder.values, builder.shared.inputs):
        assert not left


def test_operands_of_types_that_an_operator_does_not_take_do_not_fit():
    builder = new_builder(0, 13, allows_nonfinite=False, allows_empty=False)
    truth = builder.input(np.dtype(np.bool_), (2,))
    number = builder.input(np.dtype(np.float32), (2,))
    with pytest.raises(NotApplicable):
        builder.node("Add", truth, truth)
    with pytest.raises(NotApplicable):
        builder.node("Add", truth, number)
    with pytest.raises(NotApplicable):
        builder.node("Add", number)


def test_only_the_last_part_of_a_split_is_smaller():
    splits = 0
    for seed in range(200):
        builder = new_builder(seed, 18, allows_nonfinite=False, allows_empty=True)
        builder.keep(builder.input(np.dtype(np.float32), (5,)))
        builder.attempt(even_splits)
        splits += len(builder.nodes)
        # The onnx package infers [2, 2, 2, -1] for four parts of five elements.
        assert all(size >= 0 for value in builder.values for size in value.shape), seed
    assert splits > 100


def test_the_reference_runs_what_onnxruntime_runs():
    compared = 0
    for drawn in map(random_model, SEEDS[:40]):
        try:
            original = Original(drawn.model, drawn.feeds)
        except XonncError:
            # Neither takes it.
            continue
        for feeds, outputs in original.runs:
            by_reference = original.by_reference(feeds)
            if by_reference is not None:
                assert by_reference.keys() == outputs.keys()
                compared += 1
    assert compared > 10
