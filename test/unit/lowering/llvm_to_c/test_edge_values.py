"""C source gives what is chosen where ONNX leaves it open."""

from __future__ import annotations

from pathlib import Path

from c_programs import outputs_of
from onnx import compose, helper

from xonnc.fuzzing.edge_values import CHOICES, is_same


def test_c_source_gives_the_same(tmp_path: Path):
    """One model of all rows."""
    chosen = [each for each in CHOICES if all(array.size for array in each.expected)]
    models = [
        compose.add_prefix(each.node.model(is_constant=False), f"n{place}_")
        for place, each in enumerate(chosen)
    ]
    whole = models[0]
    imports = {entry.domain: entry.version for model in models for entry in model.opset_import}
    del whole.opset_import[:]
    whole.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in imports.items())
    for other in models[1:]:
        whole.graph.node.extend(other.graph.node)
        whole.graph.input.extend(other.graph.input)
        whole.graph.output.extend(other.graph.output)
        whole.graph.initializer.extend(other.graph.initializer)
    inputs = [array for each in chosen for array in each.node.feeds.values()]
    expected = [array for each in chosen for array in each.expected]
    found = outputs_of(tmp_path, whole, inputs, expected)
    names = [output.name for output in whole.graph.output]
    for name, value, wanted in zip(names, found, expected, strict=True):
        assert is_same(value, wanted), f"{name}: {value} is not {wanted}"
