"""Lookup tables of plug-ins: operators that NVDLA computes as a function of each element."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.errors import PluginFunctionError
from xonnc.lowering.onnx_to_dla.int8.function_lookup import add_unary_function
from xonnc.plugins.elementwise_kernels import Bind
from xonnc.plugins.op_class import PluginOp
from xonnc.plugins.operators import Array


def add_lookup(kind: type[PluginOp], bind: Bind) -> None:
    """Register the `lookup` body of an operator as its lowering for NVDLA."""
    lookup = kind.DECLARATION.function("lookup")
    assert lookup is not None

    def function_of(op: OnnxOp) -> Callable[[Array], Array]:
        bound = bind(op)

        def function(x: Array) -> Array:
            try:
                with np.errstate(all="ignore"):
                    found = np.asarray(lookup(bound, x), np.float64)
            except PluginFunctionError:
                raise
            except Exception as error:
                raise bound.fail(f"lookup raised {type(error).__name__}: {error}") from error
            if found.shape != x.shape:
                raise bound.fail(f"lookup gave shape {list(found.shape)} for {list(x.shape)}")
            return np.nan_to_num(found, posinf=1e30, neginf=-1e30)

        return function

    add_unary_function(kind, function_of)
