"""An operator in C: compiled into sessions and libraries, and a part of C source."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from xonnc.plugin import Plugin, TensorType, attribute, c_function, one, operator, type_variables

plugin = Plugin("scans", version="1.0")


@operator(plugin, domain="com.scans", name="CumMax")
class CumMax:
    """The largest element so far along the last axis; with `reverse`, from the end."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = type_variables(T=[np.float32])
    reverse = attribute(int, default=0, choices=(0, 1))

    # A static function with a name of its own: the source may become part of a larger file.
    c_source = c_function(
        "scans_cum_max",
        """
        static void scans_cum_max(const xonnc_tensor *inputs, const xonnc_tensor *outputs, int64_t reverse)
        {
            const float *x = inputs[0].data;
            float *y = outputs[0].data;
            const int64_t rank = inputs[0].rank;
            const int64_t row = rank ? inputs[0].shape[rank - 1] : 1;
            for (int64_t start = 0; start < inputs[0].size; start += row) {
                int64_t i = reverse ? start + row - 1 : start;
                float best = x[i];
                for (int64_t step = 0; step < row; step++, i += reverse ? -1 : 1) {
                    if (x[i] > best || x[i] != x[i]) best = x[i];
                    y[i] = best;
                }
            }
        }
        """,
    )

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Any) -> Any:
        if x.ndim == 0:
            return x
        return (
            np.flip(np.maximum.accumulate(np.flip(x, -1), -1), -1)
            if op.reverse
            else np.maximum.accumulate(x, -1)
        )

    @staticmethod
    def samples(rng: np.random.Generator) -> Iterator[Any]:
        for shape in ((), (5,), (2, 3, 7), (0, 3), (3, 0)):
            x = np.asarray(rng.normal(size=shape), np.float32)
            if x.size > 4:
                x.flat[3] = np.nan
            yield from (([x], {"reverse": reverse}) for reverse in (0, 1))
