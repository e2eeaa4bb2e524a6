"""
Every operator on edge values, and the page of what is computed where ONNX leaves the result open.

    python bench/edge_values.py [--only Relu]
    python bench/edge_values.py --write docs/edge-values.md

Runs all templates of `fuzzing/edge_templates.py`, also with other element types, empty and of rank 0. Exits 1
if constant propagation, native code, C source (where there is a C compiler) and the reference evaluator
disagree. With `--write` only the page is written.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.c_source.comparison import c_disagreements
from xonnc.formats.atomic_write import atomic_write
from xonnc.fuzzing.edge_cases import disagreements, is_valid, value_sets, variants
from xonnc.fuzzing.edge_templates import TEMPLATES
from xonnc.fuzzing.edge_values import page
from xonnc.runtime.native.c_compiler import c_compiler


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--only", default="", help="run this operator only")
    parser.add_argument("--write", type=Path, help="write the page to this file")
    options = parser.parse_args()
    if options.write is not None:
        with atomic_write(options.write) as stream:
            stream.write(page().encode())
        return 0
    warnings.simplefilter("ignore")
    cases = failed = 0
    for template in TEMPLATES:
        if options.only not in ("", template.operator):
            continue
        every = (template, *filter(is_valid, variants(template)))
        for line in c_disagreements(every) if c_compiler() else ():
            failed += 1
            print(line, flush=True)
        for each in every:
            cases += len(value_sets(each))
            types = ", ".join(f"{data.dtype.name}{list(data.shape)}" for data in each.data.values())
            for line in disagreements(each):
                failed += 1
                print(f"{line} ({types})", flush=True)
    print(f"{cases} cases, {failed} disagreements")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
