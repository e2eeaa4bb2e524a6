"""Damaged loadables through reading, decoding, checking and printing: errors of ours, soon and small."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.checks.loadable_check import check_loadable
from xonnc.formats.nvdla.enumerations import Interface
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.records import DataCube, SdpSurface
from xonnc.formats.nvdla.tasks import decode_tasks
from xonnc.formats.nvdla.text import dump_text
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.targets import load_target

SEED = 20_240
CASES = [
    "nv_full/bdma_strided",
    "nv_full/cdp_l5_exp5_int8",
    "nv_full/conv_wcompress_fp16",
    "nv_full/emu_conv_softmax",
    "nv_full/graph_deconv_fp16",
    "nv_full/graph_residual_int16_iface011",
    "nv_full/img_y8_u8v8_int8",
    "nv_full/sdp_x1x2y_int16",
    "nv_small/conv_hsplit_reuse_int8",
    "nv_small/pdp_split3_avg_int8",
]
EACH = 100
MAX_SECONDS = 20
MAX_BYTES = 64_000_000
EXTREMES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]


def refusal(make: Callable[[], object]) -> str | None:
    """What the error of ours says that `make` ends with; nothing if it ends well."""
    try:
        make()
    except XonncError as error:
        return str(error)
    return None


def outcome(data: bytes, target: str) -> str:
    """What the package makes of a file: `refused`, `problems` or `sound`; anything else is a bug."""
    refused = refusal(lambda: parse_loadable(data))
    if refused is not None:
        assert "\n" not in refused
        return "refused"
    loadable = parse_loadable(data)
    problems = check_loadable(loadable, load_target(target))
    assert all("\n" not in str(problem) and str(problem).startswith(problem.location) for problem in problems)
    undecodable = refusal(lambda: decode_tasks(loadable))
    assert problems or not undecodable, f"decoding fails but nothing was found: {undecodable}"
    assert refusal(lambda: dump_text(loadable)) == undecodable
    return "problems" if problems else "sound"


def flipped(data: bytes, random: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[random.randrange(len(changed))] = random.choice((0, 0xFF, random.randrange(256)))
    return bytes(changed)


def truncated(data: bytes, random: random.Random) -> bytes:
    return data[: random.randrange(len(data))]


def word_replaced(data: bytes, random: random.Random) -> bytes:
    """A 32-bit word of the head, where the tables are, becomes an extreme or a near offset."""
    changed = bytearray(data)
    offset = random.randrange(0, min(len(data) - 4, 2048), 4)
    value = random.choice((*EXTREMES, random.randrange(len(data))))
    struct.pack_into("<I", changed, offset, value)
    return bytes(changed)


def spliced(data: bytes, random: random.Random) -> bytes:
    begin, end, to = (random.randrange(len(data)) for _ in range(3))
    return data[:to] + data[begin : max(begin, end)] + data[to:]


LISTS = ("tasks", "memories", "addresses", "blobs", "tensors", "submits")


def entry_edited(data: bytes, random: random.Random) -> bytes:
    """A number of one entry of a list becomes another."""
    loadable = parse_loadable(data)
    name = random.choice([name for name in LISTS if getattr(loadable, name)])
    entries: list[Any] = list(getattr(loadable, name))
    index = random.randrange(len(entries))
    numbers = [
        field.name for field in fields(entries[index]) if isinstance(getattr(entries[index], field.name), int)
    ]
    tuples = [
        field.name
        for field in fields(entries[index])
        if isinstance(getattr(entries[index], field.name), tuple) and field.name != "version"
    ]
    field = random.choice(numbers + tuples)
    value = getattr(entries[index], field)
    changed = (
        random.choice(EXTREMES) if field in numbers else random.choice((value[:-1], value * 2, value[::-1]))
    )
    entries[index] = replace(entries[index], **{field: changed})
    return to_bytes(replace(loadable, **{name: entries}))


def descriptor_edited(data: bytes, random: random.Random) -> bytes:
    """A byte, half or word of a descriptor becomes an extreme, zero or a little more or less."""
    loadable = parse_loadable(data)
    blobs = list(loadable.blobs)
    index = random.choice([i for i, blob in enumerate(blobs) if blob.interface != Interface.NONE])
    payload = bytearray(bytes(blobs[index].data))
    code = random.choice("BHI")
    size = struct.calcsize(code)
    used = [offset for offset in range(0, len(payload) - size, size) if any(payload[offset : offset + size])]
    offset = random.choice(used or [0])
    (before,) = struct.unpack_from("<" + code, payload, offset)
    value = random.choice((*EXTREMES, before + 1, before - 1, before * 2))
    struct.pack_into("<" + code, payload, offset, value % (1 << (8 * size)))
    blobs[index] = replace(blobs[index], data=bytes(payload))
    return to_bytes(replace(loadable, blobs=blobs))


MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [
    flipped,
    truncated,
    word_replaced,
    spliced,
    entry_edited,
    descriptor_edited,
    descriptor_edited,
    descriptor_edited,
]


def mutants(data: bytes, name: str) -> Iterator[bytes]:
    for number in range(EACH):
        chance = random.Random(f"{SEED} {name} {number}")
        mutation = chance.choice(MUTATIONS)
        try:
            yield mutation(data, chance)
        except XonncError:
            # The edited number does not fit its field: there is no such file.
            continue


@pytest.fixture(scope="module")
def damaged(vector: Callable[[str], Loadable]) -> list[tuple[str, bytes]]:
    """Mutants and the targets they were made for."""
    return [
        (name.partition("/")[0], mutant) for name in CASES for mutant in mutants(to_bytes(vector(name)), name)
    ]


def test_every_damage_ends_well_and_soon(damaged: list[tuple[str, bytes]]):
    begin = time.process_time()
    counts = Counter(outcome(mutant, target) for target, mutant in damaged)
    assert time.process_time() - begin < MAX_SECONDS
    assert counts.total() >= 700
    # A test of damage that mostly does none, or that only the reader sees, would show nothing.
    assert counts["refused"] > 150
    assert counts["problems"] > 250


def test_damage_takes_no_memory(damaged: list[tuple[str, bytes]]):
    tracemalloc.start()
    for target, mutant in damaged[::5]:
        outcome(mutant, target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MAX_BYTES


def test_a_cube_of_millions_of_runs_takes_no_memory(vector: Callable[[str], Loadable]):
    loadable = vector("nv_full/sdp_identity_fp16")
    cube = DataCube(width=1, height=8192, channel=8192, line_stride=64, surf_stride=64 * 8192)
    payload = bytearray(bytes(loadable.by_name["task-0-surf_list"].data))
    for field, address in (("src_data", 1), ("dst_data", 2)):
        begin = SdpSurface.offset_of(field)
        payload[begin : begin + DataCube.SIZE] = replace(cube, address=address).pack()
    blobs = [
        replace(blob, data=bytes(payload)) if blob.name == "task-0-surf_list" else blob
        for blob in loadable.blobs
    ]
    memories = [
        replace(memory, size=(1 << 32) - 1) if memory.flags & 12 else memory for memory in loadable.memories
    ]
    data = to_bytes(replace(loadable, blobs=blobs, memories=memories))
    tracemalloc.start()
    begin = time.process_time()
    assert outcome(data, "nv_full") in ("problems", "sound")
    assert time.process_time() - begin < MAX_SECONDS
    assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    tracemalloc.stop()


def test_undamaged_files_are_sound(vector: Callable[[str], Loadable]):
    assert {outcome(to_bytes(vector(name)), name.partition("/")[0]) for name in CASES} == {"sound"}
