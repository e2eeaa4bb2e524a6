"""Loadables as text against goldens; `UPDATE_GOLDENS=1 pytest` writes what is printed now."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

from xonnc.formats.nvdla import text
from xonnc.formats.nvdla.loadable import EventEntry, Loadable
from xonnc.formats.nvdla.records import ConvOp, LutParam, PdpOp, Record
from xonnc.formats.nvdla.text import dump_text

GOLDENS = Path(__file__).parent / "goldens"
NAMES = (
    "nv_full/bdma_strided_iface011",
    "nv_full/cdp_l5_exp5_int8",
    "nv_full/emu_conv_softmax",
    "nv_full/graph_residual_fp16",
    "nv_full/img_y8_u8v8_int8",
    "nv_full/lut_two_tables_int8",
    "nv_full/pdp_split3_avg_int8",
    "nv_full/rubik_contract_int16",
    "nv_small/conv_padval_int8",
)


@pytest.mark.parametrize("name", NAMES)
def test_text_is_the_golden(name: str, vector: Callable[[str], Loadable]):
    printed = dump_text(vector(name))
    golden = GOLDENS / f"{name.replace('/', '-')}.txt"
    if os.environ.get("UPDATE_GOLDENS"):
        golden.write_text(printed)
    assert printed == golden.read_text()


def test_one_changed_weight_changes_one_line(vector: Callable[[str], Loadable]):
    loadable = vector("nv_small/conv_padval_int8")
    before = dump_text(loadable).splitlines()
    blobs = [
        replace(blob, data=b"\x55" + bytes(blob.data)[1:]) if blob.name == "tb-0" else blob
        for blob in loadable.blobs
    ]
    after = dump_text(replace(loadable, blobs=tuple(blobs))).splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 1
    assert "'tb-0'" in changed[0][0]


@pytest.mark.parametrize("record", [ConvOp, LutParam, PdpOp])
def test_every_field_is_on_a_line(record: type[Record]):
    """A field that stood in no theme would never be printed."""
    themed = [name for theme in text.THEMES[record] for name in theme]
    tables = {"linear_exp_table", "linear_only_table"}
    assert sorted(themed) == sorted({field.name for field in fields(record)} - tables)


def test_events_say_who_waits_and_who_signals():
    events = (EventEntry(id=0, val=1, op=1), EventEntry(id=1, target=2, val=1, op=0))
    printed = dump_text(Loadable(events=events))
    assert "event 0 target 0 value 1 signal\nevent 1 target 2 value 1 wait\n" in printed
