"""Loop for the reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, cast

import numpy as np
import onnx

from xonnc.formats.onnx.tensors import AnyArray


@cache
def loop() -> type:
    """
    Return Loop of the evaluator with an absent condition, scan outputs of any rank, and no iterations.

    The evaluator's own takes an absent condition to be false, joins scan outputs along their first axis
    instead of a new one, and fails if there are none.
    """
    base = import_module("onnx.reference.ops.op_loop").Loop

    def run(
        self: Any,
        limit: AnyArray | None,
        condition: AnyArray | None,
        *initial: object,
        context: Mapping[str, object] | None = None,
        attributes: object = None,
        bindings: object = None,
        **_: object,
    ) -> tuple[object, ...]:
        body = self.body
        names = cast("list[str]", body.input_names)
        carried = list(initial)
        scanned: list[list[AnyArray]] = [[] for _ in body.output_names[1 + len(carried) :]]
        going = condition is None or bool(np.all(condition))
        count = None if limit is None else int(np.asarray(limit).reshape(()))
        iteration = 0
        while going and (count is None or iteration < count):
            own = [np.array(iteration, np.int64), np.array(going), *carried]
            outputs = self._run_body(
                {**(context or {}), **dict(zip(names, own, strict=True))},
                attributes=attributes,
                bindings=bindings,
            )
            going, carried = bool(np.all(outputs[0])), list(outputs[1 : 1 + len(carried)])
            for rows, row in zip(scanned, outputs[1 + len(carried) :], strict=True):
                rows.append(np.asarray(row))
            iteration += 1
        types = body.output_types[1 + len(carried) :]
        return (*carried, *(_stacked(rows, kind) for rows, kind in zip(scanned, types, strict=True)))

    return type("Loop", (base,), {"op_domain": "", "_run": run})


def _stacked(rows: list[AnyArray], declared: onnx.TypeProto) -> AnyArray:
    """Return a scan output; `ValueError` if there are no iterations and the declared shape is not static."""
    if rows:
        return np.stack(rows)
    tensor = declared.tensor_type
    if not tensor.HasField("shape") or not all(each.HasField("dim_value") for each in tensor.shape.dim):
        raise ValueError("no iterations, and the body declares no static shape of a scan output")
    shape = [each.dim_value for each in tensor.shape.dim]
    return np.zeros([0, *shape], onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
