"""Every operator as C source on edge values, against native code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from xonnc.artifacts import compile_artifact
from xonnc.errors import XonncError
from xonnc.fuzzing.edge_cases import difference, instantiate, joined, value_sets
from xonnc.fuzzing.edge_templates import NodeTemplate
from xonnc.fuzzing.edge_values import EdgeNode
from xonnc.fuzzing.random_models import Feeds
from xonnc.native import compile_native
from xonnc.verification_models import open_model

SESSION_ONLY = "the session, which is Python"
"""In errors of C source about results and bodies whose sizes are found at run time."""


def c_disagreements(templates: Sequence[NodeTemplate]) -> Iterator[str]:
    """
    Disagreements between native code and C source of templates of one opset, a line each.

    All are compiled as one model, since a C compiler takes its time; as models of their own where one of them
    has no C source.
    """
    nodes = [instantiate(each, value_sets(each)[0]) for each in templates]
    with TemporaryDirectory() as folder:
        source = Path(folder) / "net.c"
        try:
            session = compile_native(joined(nodes), cache=False)
            compile_artifact(joined(nodes), source, "portable")
            program = open_model(source)
        except XonncError as error:
            for each in templates if len(templates) > 1 else ():
                yield from c_disagreements([each])
            if len(templates) == 1 and not _is_expected(nodes[0], str(error)):
                yield f"{templates[0].operator}: C source: {error}"
            return
        for count in range(max(len(value_sets(each)) for each in templates)):
            kinds = [value_sets(each)[count % len(value_sets(each))] for each in templates]
            feeds = _feeds([instantiate(*each) for each in zip(templates, kinds, strict=True)])
            native, found = session.run(None, feeds), program.run(feeds)
            owners = [index for index, each in enumerate(templates) for _ in range(each.outputs)]
            for index, expected, value in zip(owners, native, found, strict=True):
                operator = templates[index].operator
                wrong = difference(operator, kinds[index], np.asarray(expected), np.asarray(value))
                if wrong:
                    yield f"{operator}, {kinds[index]}: C source gives {wrong}, which is by native code"


def _is_expected(node: EdgeNode, error: str) -> bool:
    """Whether native code refuses a node too, or leaves it to the session or the host."""
    try:
        session = compile_native(node.model(is_constant=False), cache=False)
    except XonncError:
        return True
    return bool(session.host_calls()) or SESSION_ONLY in error


def _feeds(nodes: Sequence[EdgeNode]) -> Feeds:
    return {
        f"n{index}_{name}": array for index, node in enumerate(nodes) for name, array in node.feeds.items()
    }
