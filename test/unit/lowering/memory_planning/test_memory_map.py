"""Maps of memory: what is alive in a step, what lies in the place of what, drawings."""

from __future__ import annotations

from xonnc.lowering.memory_planning.memory_map import MemoryMap, PlacedBuffer

MAP = MemoryMap(
    ("a", "b", "c"),
    (PlacedBuffer("x", 0, 1, 0, 64), PlacedBuffer("y", 1, 2, 0, 64), PlacedBuffer("z", 1, 1, 64, 128)),
    192,
    192,
    128,
)


def test_two_buffers_in_one_place_count_once():
    assert [MAP.alive(step) for step in range(3)] == [64, 192, 64]
    assert MAP.peak_step() == 1


def test_a_buffer_in_the_place_of_another():
    assert [MAP.is_in_place(buffer) for buffer in MAP.buffers] == [False, True, False]


def test_a_drawing_has_a_letter_for_each_buffer():
    rows = [line.split() for line in MAP.drawing()]
    assert rows[-1] == ["0", "aab"]
    assert rows[0] == ["184", ".c."]
    assert len(rows) == 24


def test_steps_and_bytes_beyond_a_screen_share_columns_and_rows():
    steps = tuple(map(str, range(200)))
    wide = MemoryMap(steps, (PlacedBuffer("x", 0, 199, 0, 10_000),), 10_000, 10_000, 10_000)
    assert {len(line.split()[1]) for line in wide.drawing()} == {67}
    assert len(list(wide.drawing())) == 24
    assert list(MemoryMap((), (), 0, 0, 0).drawing()) == []
