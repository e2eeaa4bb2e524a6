#!/usr/bin/env python3
"""Runs onnx-translate from a bare checkout; the tool itself is tools/translate.py."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent / "src")
    from xonnc.tools.translate import main

    sys.exit(main())
