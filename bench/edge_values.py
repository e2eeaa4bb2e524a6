"""The page of values at the edge of ONNX: `python bench/edge_values.py --write docs/edge-values.md`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xonnc.formats.atomic_write import atomic_write
from xonnc.fuzzing.edge_values import page


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--write", type=Path, help="where the page goes")
    options = parser.parse_args()
    if options.write is not None:
        with atomic_write(options.write) as stream:
            stream.write(page().encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
