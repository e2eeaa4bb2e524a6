"""Results written over the front of an operand: what the analysis allows gives the same numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from xdsl.dialects.arith import Arith
from xdsl.dialects.func import FuncOp

from xonnc.contexts import new_context
from xonnc.dialects.krnl.memory import CallOp
from xonnc.lowering.native.compaction import may_compact
from xonnc.tools.ir_text import read_module


@dataclass(frozen=True)
class Copies:
    """
    A loop nest that stores the last of some loaded elements.

    An index is, for each axis, the factor of the loop of that number, and an offset.
    """

    sizes: Sequence[int]
    read: Sequence[int]
    written: Sequence[int]
    loads: Sequence[Sequence[tuple[int, int]]]
    store: Sequence[tuple[int, int]]

    def text(self) -> str:
        """The kernel and its call."""
        loops = ", ".join(f"%l#{axis}" for axis in range(len(self.sizes)))
        bounds = ", ".join(f"%l#{axis} -> %i{axis} = 0 to {size}" for axis, size in enumerate(self.sizes))
        kinds = [f"memref<{'x'.join(map(str, shape))}xf32>" for shape in (self.written, self.read)]
        lines: list[str] = []
        for number, access in enumerate((*self.loads, self.store)):
            names: list[str] = []
            for axis, (factor, offset) in enumerate(access):
                at = f"{number}_{axis}"
                lines.append(f"%f{at} = arith.constant {factor} : index")
                lines.append(f"%o{at} = arith.constant {offset} : index")
                lines.append(f"%p{at} = arith.muli %i{axis}, %f{at} : index")
                lines.append(f"%q{at} = arith.addi %p{at}, %o{at} : index")
                names.append(f"%q{at}")
            where = ", ".join(names)
            if number < len(self.loads):
                lines.append(f"%v{number} = krnl.load %x[{where}] : {kinds[1]}")
            else:
                lines.append(f"krnl.store %v{number - 1}, %y[{where}] : {kinds[0]}")
        body = "\n".join(lines)
        call = f'"krnl.call"(%y, %x) {{funcName = "k", numOfOutput = 1 : si64}} : ({", ".join(kinds)}) -> ()'
        parameters = f"(%y: {kinds[0]}, %x: {kinds[1]})"
        return (
            f"func.func @model{parameters} {{\n{call}\nreturn\n}}\n"
            f"func.func private @k{parameters} {{\n"
            f"%l:{len(self.sizes)} = krnl.define_loops {len(self.sizes)}\n"
            f"krnl.iterate({loops}) with ({bounds}) {{\n{body}\n}}\nreturn\n}}"
        )

    def is_allowed(self) -> bool:
        """What the analysis says."""
        context = new_context()
        context.load_dialect(Arith)
        module = read_module(context, self.text(), "kernels")
        call = next(op for op in module.walk() if isinstance(op, CallOp))
        kernel = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "k")
        return may_compact(call, kernel, 0, 1)

    def is_right(self) -> bool:
        """Whether the nest gives the same numbers over the front of its operand as apart from it."""
        memory = np.arange(1, np.prod(self.read) + 1)
        apart = np.zeros(np.prod(self.written), np.int64)
        front = memory.copy()
        stored: list[np.intp] = []
        for indices in np.ndindex(*self.sizes):
            *loads, store = (
                np.ravel_multi_index(
                    [factor * at + offset for at, (factor, offset) in zip(indices, access, strict=True)],
                    shape,
                )
                for access, shape in [*((load, self.read) for load in self.loads), (self.store, self.written)]
            )
            if any(front[load] != memory[load] for load in loads):
                return False
            apart[store] = front[store] = memory[loads[-1]]
            stored.append(store)
        return bool((front[stored] == apart[stored]).all())


PIXELS = Copies((2, 3, 4, 16), (2, 6, 8, 16), (2, 3, 4, 16), [[(1, 0), (2, 0), (2, 0), (1, 0)]], [(1, 0)] * 4)

CASES = {
    "every second pixel": (PIXELS, True),
    "from within a halo": (
        Copies((2, 3, 4, 8), (2, 8, 10, 8), (2, 3, 4, 8), [[(1, 0), (2, 1), (2, 1), (1, 0)]], [(1, 0)] * 4),
        True,
    ),
    "the rear": (Copies((6,), (10,), (6,), [[(1, 4)]], [(1, 0)]), True),
    "the front of each row": (Copies((3, 4), (3, 7), (3, 4), [[(1, 0), (1, 0)]], [(1, 0)] * 2), True),
    "a window of two": (Copies((6,), (12,), (6,), [[(2, 1)], [(2, 0)]], [(1, 0)]), True),
    "backwards": (Copies((6,), (12,), (6,), [[(-1, 6)]], [(1, 0)]), False),
    "the front after it": (Copies((5,), (12,), (6,), [[(1, 0)]], [(1, 1)]), False),
    "columns": (Copies((3, 4), (4, 6), (3, 4), [[(1, 0), (1, 0)]], [(1, 0)] * 2), True),
    "one element to all": (Copies((6,), (12,), (6,), [[(0, 0)]], [(1, 0)]), False),
    "all to one element": (Copies((6,), (12,), (6,), [[(1, 0)]], [(0, 0)]), False),
    "of the same size": (Copies((6,), (6,), (6,), [[(1, 0)]], [(1, 0)]), False),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str):
    nest, is_allowed = CASES[name]
    assert nest.is_allowed() == is_allowed
    assert nest.is_right() or not is_allowed


def random_nest(generator: random.Random) -> Copies:
    sizes = [generator.randint(1, 4) for _ in range(generator.randint(1, 3))]
    loads = [
        [(generator.choice([0, 1, 1, 2, 2]), generator.randrange(3)) for _ in sizes]
        for _ in range(generator.randint(1, 2))
    ]
    store = [(1, generator.choice([0, 0, 0, 1])) for _ in sizes]
    ends = [[factor * (size - 1) + offset + 1 for size, (factor, offset) in zip(sizes, access, strict=True)]
            for access in (*loads, store)]  # fmt: skip
    read = [max(each) + generator.randrange(2) for each in zip(*ends[:-1], strict=True)]
    return Copies(sizes, read, [end + generator.choice([0, 0, 1]) for end in ends[-1]], loads, store)


def test_random_nests_that_are_allowed_are_right():
    generator = random.Random(11)
    allowed = 0
    for _ in range(300):
        nest = random_nest(generator)
        if nest.is_allowed():
            allowed += 1
            assert nest.is_right(), nest
    assert allowed > 40
