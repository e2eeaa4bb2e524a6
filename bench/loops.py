"""Loops of 200 iterations for `bench/kernels.py`, ended by a condition or a constant trip count."""

ENDED_BY_CONDITION = """
t = Constant<value = bool {1}>()
last, y = Loop("", t, x) <
  body = turn (int64 i, bool go, float[16] before) => (bool on, float[16] after, float[16] seen) {
    most = Constant<value = int64 {199}>()
    half = Constant<value = float {0.5}>()
    on = Less(i, most)
    scaled = Mul(before, half)
    after = Tanh(scaled)
    seen = Add(after, x)
  }
>
"""
"""Scan outputs of small elementwise operators."""

WITH_PRODUCTS = """
t = Constant<value = bool {1}>()
last, y = Loop("", t, x) <
  body = turn (int64 i, bool go, float[1, 256] before) => (bool on, float[1, 256] after, float[1, 256] seen) {
    most = Constant<value = int64 {199}>()
    on = Less(i, most)
    product = MatMul(before, w)
    after = Tanh(product)
    next = MatMul(after, w)
    seen = Sigmoid(next)
  }
>
"""
"""Scan outputs of two products by a matrix."""

GROWING = """
t = Constant<value = bool {1}>()
m = Constant<value = int64 {200}>()
last, y = Loop(m, t, x, x) <
  body = turn (int64 i, bool go, float[1, N] before, float[n, N] all)
      => (bool on, float[1, N] after, float[k, N] longer) {
    product = MatMul(before, w)
    after = Tanh(product)
    longer = Concat<axis = 0>(all, after)
    on = Identity(go)
  }
>
"""
"""A tensor to which each iteration appends a row of size N."""


def growing(size: int) -> str:
    """Return the nodes of a loop that appends rows of a size to a tensor."""
    return GROWING.replace("N]", f"{size}]")
