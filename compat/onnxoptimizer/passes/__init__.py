"""The passes by theme; importing this package registers them."""

from xonnc.compat.onnxoptimizer.passes import (
    axes,
    conditions,
    constants,
    convolutions,
    equal_nodes,
    matmuls,
    movement,
    names,
    no_ops,
    separate,
    shapes,
)

__all__ = [
    "axes",
    "conditions",
    "constants",
    "convolutions",
    "equal_nodes",
    "matmuls",
    "movement",
    "names",
    "no_ops",
    "separate",
    "shapes",
]
