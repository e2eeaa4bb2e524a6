"""C source gives what is chosen where ONNX leaves it open, and what native code gives elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from c_programs import outputs_of

from xonnc.fuzzing.edge_cases import difference, instantiate, joined, value_sets
from xonnc.fuzzing.edge_templates import TEMPLATES
from xonnc.fuzzing.edge_values import CHOICES, EdgeNode, is_same
from xonnc.fuzzing.random_models import Array

EVERY = 16
"""One template of so many: C takes its time to compile."""


def outputs(folder: Path, nodes: Sequence[EdgeNode], like: Sequence[Array]) -> list[Array]:
    """What C source gives for all nodes."""
    return outputs_of(folder, joined(nodes), [array for node in nodes for array in node.feeds.values()], like)


def test_c_source_gives_the_same(tmp_path: Path):
    chosen = [each for each in CHOICES if all(array.size for array in each.expected)]
    expected = [array for each in chosen for array in each.expected]
    found = outputs(tmp_path, [each.node for each in chosen], expected)
    names = [each.node.operator for each in chosen for _ in each.expected]
    for name, value, requested in zip(names, found, expected, strict=True):
        assert is_same(value, requested), f"{name}: {value} is not {requested}"


def test_c_source_gives_what_native_code_gives(tmp_path: Path):
    current = [each for each in TEMPLATES if each.opset == 23 and each.data]
    nodes = [instantiate(each, value_sets(each)[0]) for each in current[::EVERY]]
    native = [node.native() for node in nodes]
    found = iter(outputs(tmp_path, nodes, [array for arrays in native for array in arrays]))
    for node, arrays in zip(nodes, native, strict=True):
        for expected in arrays:
            assert not difference(node.operator, "edges", expected, next(found)), node.operator
