"""Which equations of Einsum native code computes as matrix products."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from xonnc.transforms.rules.legalize_einsum import is_matrix_product
from xonnc.transforms.shapes.einsum import parsed


@pytest.mark.parametrize(
    ("equation", "ranks", "is_product"),
    [
        ("abc,cd->abd", (3, 2), True),
        ("bnqd,bnkd->bnqk", (4, 4), True),
        ("...ij,...jk", (3, 3), True),
        ("i,ij->j", (1, 2), True),
        ("ij,j->i", (2, 1), False),
        ("bij,bj->bi", (3, 2), False),
        ("i,ij,jk->k", (1, 2, 2), True),
        ("ij,ij->i", (2, 2), False),
        ("i,j->ij", (1, 1), False),
        ("i,i", (1, 1), False),
        ("ij->ji", (2,), True),
        ("ij->i", (2,), False),
        ("ii->i", (2,), False),
        (",i->i", (0, 1), False),
    ],
)
def test_what_sums_products_of_elements_used_again_is_a_product(
    equation: str, ranks: Sequence[int], is_product: bool
) -> None:
    found = parsed(equation, ranks)
    assert found is not None
    assert is_matrix_product(found) is is_product
