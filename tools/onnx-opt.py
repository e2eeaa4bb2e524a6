#!/usr/bin/env python3
"""Runs onnx-opt from a bare checkout; the tool itself is tools/opt.py."""

import sys
from pathlib import Path

if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    sys.path[0] = str(root / "src")
    import xonnc

    # Before an install `src/xonnc` has no links to the packages: they are found at the top of the checkout.
    xonnc.__path__.append(str(root))
    from xonnc.tools.opt import main

    sys.exit(main())
