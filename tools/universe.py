"""
What xonnc gives to every xDSL tool: dialects and passes, found by the entry point `xdsl.universe`.

Every start of `xdsl-opt` loads this module, so everything here is a function that imports when called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.universe import Universe

if TYPE_CHECKING:
    from xdsl.ir import Attribute, Dialect, Operation
    from xdsl.passes import ModulePass


def _onnx() -> Dialect:
    from xonnc.dialects.onnx import get_onnx

    return get_onnx()


def _canonicalize() -> type[ModulePass]:
    from xonnc.transforms.canonicalize_onnx import Canonicalize

    return Canonicalize


def _constprop() -> type[ModulePass]:
    from xonnc.transforms.constprop_onnx import ConstProp

    return ConstProp


def _scrub() -> type[ModulePass]:
    from xonnc.transforms.scrub_disposable import ScrubDisposable

    return ScrubDisposable


def _shape_inference() -> type[ModulePass]:
    from xonnc.transforms.shape_inference_onnx import ShapeInference, use_fallback

    use_fallback(_infer_by_onnx)
    return ShapeInference


def _simplify() -> type[ModulePass]:
    from xonnc.transforms.shape_inference_onnx import use_fallback
    from xonnc.transforms.simplify_onnx import Simplify

    use_fallback(_infer_by_onnx)
    return Simplify


def _infer_by_onnx(op: Operation) -> Sequence[Attribute | None]:
    from xonnc.formats.onnx.infer import infer_results

    return infer_results(op)


XONNC_UNIVERSE = Universe(
    all_dialects={"onnx": _onnx},
    all_passes={
        "canonicalize-onnx": _canonicalize,
        "constprop-onnx": _constprop,
        "scrub-disposable": _scrub,
        "shape-inference-onnx": _shape_inference,
        "simplify-onnx": _simplify,
    },
)
