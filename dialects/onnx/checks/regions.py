"""Verification rules for ops with regions: block arguments and yielded types."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.checks.verifier import integer_of, refuse, region_of, values_of
from xonnc.dialects.onnx.types import are_compatible


def branches(op: Operation) -> None:
    """`If`: both branches yield the types of the results."""
    for field, word in (("then_branch", "then"), ("else_branch", "else")):
        given = _yielded(op, field)
        if given is None:
            continue
        if len(given) != len(op.results):
            refuse(op, f"{word} branch #results={len(given)} differ from if #results={len(op.results)}")
        for index, (value, result) in enumerate(zip(given, op.results, strict=True), start=1):
            if not are_compatible(value, result.type):
                refuse(op, f"{word} branch disagrees on result type #{index} of {len(given)}")


def loop_body(op: Operation) -> None:
    """`Loop`: the body takes iteration number, condition and carried values, and yields all but the first."""
    carried = values_of(op, "v_initial")
    _check_arguments(op, 2 + len(carried), "an iteration number, a condition and the carried values")
    _check_results(op, 1 + len(op.results), "a condition and the results")


def scan_body(op: Operation) -> None:
    """`Scan`: the body takes and yields state variables and scan elements."""
    inputs = values_of(op, "initial_state_and_scan_inputs")
    scanned = integer_of(op, "num_scan_inputs") or 0
    if not 0 < scanned <= len(inputs):
        refuse(op, f"num_scan_inputs is {scanned}, of {len(inputs)} inputs")
    _check_arguments(op, len(inputs), "states and slices of the scan inputs")
    _check_results(op, len(op.results), "the results")


def mapped_body(op: Operation) -> None:
    """`SequenceMap`: the body takes an element of each input and yields one of each result."""
    _check_arguments(op, len(op.operands), "elements of the inputs")
    _check_results(op, len(op.results), "the results")


def _check_arguments(op: Operation, expected: int, what: str) -> None:
    found = len(region_of(op, "body").block.args)
    if found != expected:
        refuse(op, f"body takes {found} values; it needs {expected}: {what}")


def _check_results(op: Operation, expected: int, what: str) -> None:
    given = _yielded(op, "body")
    if given is not None and len(given) != expected:
        refuse(op, f"body yields {len(given)} values; it needs {expected}: {what}")


def _yielded(op: Operation, field: str) -> Sequence[Attribute] | None:
    """Return the types that a region yields; `None` if the region is still empty."""
    last = region_of(op, field).block.last_op
    if last is None:
        return None
    if last.name != "onnx.Yield":
        refuse(op, f"{field} must terminate with onnx.Yield")
    return [operand.type for operand in last.operands]
