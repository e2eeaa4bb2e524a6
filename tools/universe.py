"""
What xonnc gives to every xDSL tool: dialects and passes, found by the entry point `xdsl.universe`.

Every start of `xdsl-opt` loads this module, so everything here is a function that imports when called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.universe import Universe

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def _onnx() -> Dialect:
    from xonnc.dialects.onnx import get_onnx

    return get_onnx()


XONNC_UNIVERSE = Universe(all_dialects={"onnx": _onnx})
