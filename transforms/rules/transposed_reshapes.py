"""Reshapes that split axes, or merge neighbours, as reshapes before a transpose."""

from __future__ import annotations

from collections.abc import Sequence


def reshaped_before(
    shape: Sequence[int], perm: Sequence[int], result: Sequence[int]
) -> tuple[list[int], list[int]] | None:
    """
    Return how `reshape(transpose(x, perm), result)` is `transpose(reshape(x, sizes), order)`.

    Parameters:
        shape: the sizes of x, none of which is 0.
        perm: the permutation of its axes.
        result: the sizes of the result.

    Returns: `sizes` and `order`; `None` if axes are merged that are not neighbours in x, or if the order is
        that of the axes of x.
    """
    # Axes of one element may be anywhere: those of x are left out, the first ones of the result stay first.
    source = [axis for axis in range(len(shape)) if shape[axis] != 1]
    read = [source.index(axis) for axis in perm if shape[axis] != 1]
    first = next((axis for axis, size in enumerate(result) if size != 1), len(result))
    groups = _groups([shape[source[axis]] for axis in read], result, first)
    if groups is None or 0 in shape:
        return None
    # The groups in the order of x, where the axes of each must follow one another.
    sections = [(read[begin:end], made) for begin, end, made in groups]
    if any(axes != list(range(axes[0], axes[0] + len(axes))) for axes, _ in sections):
        return None
    ordered = [*range(first), *(axis for _, made in sorted(sections) for axis in made)]
    if ordered == sorted(ordered):
        return None
    return [result[axis] for axis in ordered], [ordered.index(axis) for axis in range(len(result))]


def _groups(
    sizes: Sequence[int], result: Sequence[int], start: int
) -> list[tuple[int, int, list[int]]] | None:
    """
    Return the least groups of neighbouring axes that become groups of axes of the result.

    Parameters:
        sizes: of the axes before, without those of one element.
        result: of the axes of the result.
        start: its first axis to be in a group.

    Returns: for each group its first axis, the axis after its last, and its axes of the result; `None` if
        there are no axes.
    """
    found: list[tuple[int, int, list[int]]] = []
    first = last = 0
    elements = expected = 1
    made: list[int] = []
    for axis, size in enumerate(result[start:], start):
        made.append(axis)
        elements *= size
        while expected < elements and last < len(sizes):
            expected *= sizes[last]
            last += 1
        if expected == elements and last > first:
            found.append((first, last, made))
            first, made = last, []
            elements = expected = 1
    if not found or last != len(sizes):
        return None
    found[-1][2].extend(made)
    return found
