"""
Consistency checks of rewrite rules of plug-ins on drawn instances of their patterns.

The reference evaluator computes each instance before and after the rule, which must change neither results
nor their types. Operands broadcast together and are finite; attributes of the pattern have their defaults. A
rule that no drawn instance matches is not judged.
"""

from __future__ import annotations

import zlib

import numpy as np
from xdsl.utils.exceptions import VerifyException

from xonnc.errors import XonncError
from xonnc.formats.onnx.reference_evaluator import program_of
from xonnc.fuzzing.rules.draws import Draw
from xonnc.fuzzing.rules.instances import Example, Instance
from xonnc.fuzzing.rules.sweep import keeps, types_of
from xonnc.fuzzing.rules.tables import broadcasting
from xonnc.plugins.operators import JoiningRule
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.rules import RuleSet
from xonnc.tools.plugin_checks import CheckResult, compared
from xonnc.transforms.shape_inference_onnx import infer_shapes

KINDS = (np.float32, np.float64, np.int64, np.bool_)
"""The element types of drawn operands, in turn."""

DRAWN, NEEDED = 80, 12
"""The largest number of instances drawn, and of those that the rule matches, after which no more are."""

NO_MATCH = "no drawn instance matches its pattern and condition"


def check_rule(joining: JoiningRule) -> CheckResult:
    """Return the result of the check of a rule."""
    table = joining.table()
    matched = 0
    for number in range(DRAWN):
        try:
            problem = _problem(table, joining.name, number)
        except XonncError as error:
            return CheckResult(joining.name, "rule", f"instance {number}: {error}")
        if problem is None:
            continue
        if problem:
            return CheckResult(joining.name, "rule", f"instance {number}: {problem}")
        matched += 1
        if matched == NEEDED:
            break
    return CheckResult(joining.name, "rule", "ok" if matched else "-", "" if matched else NO_MATCH)


def _problem(table: RuleSet, name: str, number: int) -> str | None:
    """Return what is wrong with the rule on an instance; `None` if it does not match it."""
    kind, root = KINDS[number % len(KINDS)], table[name].root
    seed = zlib.crc32(f"{name} {number}".encode())
    draw = Draw(np.random.default_rng(seed), np.dtype(kind), number)
    try:
        example = broadcasting(root)(draw)
        assert isinstance(example, Example)
        instance = Instance(root, example, kind, False, seed)
    except (VerifyException, XonncError):
        return None  # An operator of the pattern does not take this type, or needs an attribute.
    inputs, old_types = list(instance.feeds.values()), types_of(instance)
    before = program_of(instance.module.clone())
    if not apply_rules(instance.module, instance.context, table, pass_name="check").changed:
        return None
    infer_shapes(instance.module)
    try:
        instance.module.verify()
    except VerifyException as error:
        return f"the result is invalid: {' '.join(str(error).split())}"
    types = types_of(instance)
    if not all(map(keeps, old_types, types)):
        were, are = (", ".join(map(str, each)) for each in (old_types, types))
        return f"the types of the results were {were} and are {are}"
    shapes = ", ".join(f"{name} {each.dtype}{list(each.shape)}" for name, each in instance.feeds.items())
    with np.errstate(all="ignore"):
        try:
            expected = [np.asarray(each) for each in before(inputs)]
        except XonncError:
            return None  # The reference evaluator does not take this instance.
        found = [np.asarray(each) for each in program_of(instance.module)(inputs)]
    different = compared("the rule", found, expected, "the pattern")
    return f"({shapes}): {different}" if different else ""
