"""The rewriting engine, on a dialect of seven ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    NoneType,
    Signedness,
    TensorType,
    UnrankedTensorType,
    f32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator, Pure

from xonnc.dialects.onnx.elements import DisposableElementsAttr, DisposablePool, elements_array
from xonnc.dialects.onnx.locations import node_location, node_name, output_names
from xonnc.errors import XonncError
from xonnc.rewriting.driver import RewriteReport, apply_rules, apply_rules_within
from xonnc.rewriting.matcher import NO_MATCH, Matcher, compile_rule
from xonnc.rewriting.patterns import (
    Array,
    Constant,
    DialectInterface,
    ImperativeRewrite,
    MatchFailure,
    Node,
    RewriteResult,
    Template,
    absent,
    attr,
    compute,
    const,
    consts,
    elementwise,
    fold,
    maybe,
    one_use,
    rest,
    variable,
)
from xonnc.rewriting.rules import RuleError, RuleSet, rule, rules
from xonnc.rewriting.statistics import collecting, tracing_rules

SI64 = IntegerType(64, Signedness.SIGNED)
F32X4 = TensorType(f32, [4])


class TinyOp(IRDLOperation):
    """An op without effects."""

    traits = traits_def(Pure())


@irdl_op_definition
class ConstantOp(TinyOp):
    name = "tiny.constant"
    value = opt_prop_def()
    output = result_def()


@irdl_op_definition
class AbsentOp(TinyOp):
    name = "tiny.absent"
    output = result_def()


@irdl_op_definition
class AddOp(TinyOp):
    name = "tiny.add"
    a = operand_def()
    b = operand_def()
    c = result_def()


@irdl_op_definition
class NegOp(TinyOp):
    name = "tiny.neg"
    x = operand_def()
    y = result_def()


@irdl_op_definition
class ScaleOp(TinyOp):
    name = "tiny.scale"
    x = operand_def()
    bias = operand_def()
    y = result_def()
    factor = prop_def(IntegerAttr, default_value=IntegerAttr(1, SI64))
    mode = opt_prop_def()


@irdl_op_definition
class SumOp(TinyOp):
    name = "tiny.sum"
    xs = var_operand_def()
    y = result_def()


@irdl_op_definition
class PairOp(TinyOp):
    name = "tiny.pair"
    x = operand_def()
    low = result_def()
    high = result_def()


@irdl_op_definition
class EndOp(IRDLOperation):
    name = "tiny.end"
    results_ = var_operand_def()
    traits = traits_def(IsTerminator())


OPS = (ConstantOp, AbsentOp, AddOp, NegOp, ScaleOp, SumOp, PairOp)
BY_NAME = {op.__name__.removesuffix("Op"): op for op in OPS}


def elements(context: Context, array: Array) -> Attribute:
    return DisposablePool.of(context).create(array)


def read(attribute: Attribute) -> Array:
    array = elements_array(attribute)
    assert array is not None
    return array


def type_of(attribute: Attribute) -> Attribute:
    assert isinstance(attribute, DisposableElementsAttr)
    return attribute.type


def result_types(
    op: type[Operation], operands: Sequence[SSAValue], properties: Mapping[str, Attribute]
) -> Sequence[Attribute]:
    return [UnrankedTensorType(f32)] * (2 if op is PairOp else 1)


def absent_op(location: LocationAttr) -> Operation:
    return AbsentOp.create(result_types=[NoneType()], location=location)


TINY = DialectInterface(BY_NAME.get, ConstantOp, absent_op, result_types)
Add, Neg, Scale, Sum, Pair, Nonsense = (
    Template(TINY, name) for name in ("Add", "Neg", "Scale", "Sum", "Pair", "Nonsense")
)
x, y = variable.x, variable.y
c, d = const.c, const.d

FOLD = rules(
    AddConst=rule(Add(c, d), fold(np.add)),
    NegConst=rule(Neg(c), elementwise(np.negative)),
)
REASSOCIATE = rules(
    ConstRight=rule(Add(c, x), Add(x, c)),
    Associate=rule(Add(one_use(Add(x, c)), d), Add(x, Add(c, d))),
)


class Graph:
    """Builds one function op by op."""

    def __init__(self) -> None:
        self.context = Context()
        self.context.load_dialect(Dialect("onnx", [], [], [DisposablePool()]))
        self.function = FuncOp("main", ([F32X4], [F32X4]))
        self.module = ModuleOp([self.function])
        self.x: SSAValue = self.function.args[0]

    def add(self, op: Operation, name: str = "") -> SSAValue:
        if name:
            op.location = node_location(name, [f"{name}_out"])
        self.function.body.block.add_op(op)
        return op.results[0]

    def constant(self, *numbers: float) -> SSAValue:
        attribute = elements(self.context, np.array(numbers, np.float32))
        return self.add(ConstantOp.create(result_types=[type_of(attribute)], properties={"value": attribute}))

    def op(
        self, kind: type[Operation], *operands: SSAValue, name: str = "", **properties: Attribute
    ) -> SSAValue:
        count = 2 if kind is PairOp else 1
        made = kind.create(operands=operands, result_types=[F32X4] * count, properties=properties)
        return self.add(made, name)

    def end(self, *results: SSAValue) -> None:
        self.add_end(EndOp.create(operands=results))

    def add_end(self, op: Operation) -> None:
        self.function.body.block.add_op(op)

    def run(self, table: RuleSet, max_rewrites: int | None = None) -> RewriteReport:
        report = apply_rules(self.module, self.context, table, pass_name="tiny", max_rewrites=max_rewrites)
        self.module.verify()
        return report

    @property
    def ops(self) -> list[str]:
        return [
            op.name.removeprefix("tiny.") for op in self.function.body.block.ops if not isinstance(op, EndOp)
        ]

    def returned(self, index: int = 0) -> SSAValue:
        last = self.function.body.block.last_op
        assert last is not None
        return last.operands[index]

    def array(self, index: int = 0) -> Array:
        owner = self.returned(index).owner
        assert isinstance(owner, ConstantOp)
        assert owner.value is not None
        return read(owner.value)


def test_folds_cascade() -> None:
    graph = Graph()
    total = graph.op(AddOp, graph.constant(1.0), graph.constant(2.0), name="first")
    graph.end(graph.op(AddOp, total, graph.constant(3.0), name="second"))
    report = graph.run(FOLD)
    assert graph.ops == ["constant"]
    assert graph.array().tolist() == [6.0]
    assert report.fired == {"AddConst": 2}


def test_the_root_replacement_keeps_its_location_and_names_of_merged_nodes_survive() -> None:
    graph = Graph()
    inner = graph.op(AddOp, graph.x, graph.constant(1.0), name="inner")
    graph.end(graph.op(AddOp, inner, graph.constant(2.0), name="outer"))
    graph.run(REASSOCIATE)
    outer = graph.returned().owner
    assert isinstance(outer, Operation)
    assert output_names(outer) == ("outer_out",)
    assert node_name(outer) == "outer"
    assert "inner" in str(outer.location)
    helper = outer.operands[1].owner
    assert isinstance(helper, Operation)
    assert output_names(helper) == ()
    assert node_name(helper) == "outer"


def test_a_node_without_a_name_takes_none_from_a_node_that_stays() -> None:
    table = rules(Associate=rule(Add(Add(x, c), d), Add(x, Add(c, d))))
    for is_read_again in (True, False):
        graph = Graph()
        inner = graph.op(AddOp, graph.x, graph.constant(1.0), name="inner")
        outer = graph.op(AddOp, inner, graph.constant(2.0))
        graph.end(*([outer, inner] if is_read_again else [outer]))
        graph.run(table)
        made = graph.returned().owner
        assert isinstance(made, Operation)
        assert node_name(made) == ("" if is_read_again else "inner")


def test_a_rewrite_without_inner_ops_keeps_the_location_whole() -> None:
    graph = Graph()
    graph.end(graph.op(AddOp, graph.constant(1.0), graph.x, name="only"))
    graph.run(REASSOCIATE)
    made = graph.returned().owner
    assert isinstance(made, Operation)
    assert made.location == node_location("only", ["only_out"])
    assert made.operands[0] is graph.x


def test_another_reader_keeps_the_inner_op() -> None:
    graph = Graph()
    inner = graph.op(AddOp, graph.x, graph.constant(1.0))
    graph.end(graph.op(AddOp, inner, graph.constant(2.0)), inner)
    assert not graph.run(REASSOCIATE).changed


def test_root_type_stays_and_nested_types_come_from_the_language() -> None:
    graph = Graph()
    inner = graph.op(AddOp, graph.x, graph.constant(1.0))
    graph.end(graph.op(AddOp, inner, graph.constant(2.0)))
    graph.run(REASSOCIATE)
    outer = graph.returned().owner
    assert isinstance(outer, Operation)
    assert outer.results[0].type == F32X4
    assert outer.operands[1].type == UnrankedTensorType(f32)


def test_dead_ops_go_with_their_operands() -> None:
    graph = Graph()
    graph.op(NegOp, graph.op(NegOp, graph.op(NegOp, graph.x)))
    graph.end(graph.x)
    graph.run(FOLD)
    assert graph.ops == []


def test_an_erased_op_releases_its_constants_at_once() -> None:
    graph = Graph()
    total = graph.constant(*range(2000))
    for _ in range(40):
        total = graph.op(AddOp, total, graph.constant(1.0))
    graph.end(total)
    pool = DisposablePool.of(graph.context)
    before = pool.statistics().live_bytes
    report = graph.run(FOLD)
    assert report.fired.total() == 40
    assert pool.statistics().peak_bytes <= before + 2 * 8000
    assert pool.statistics().alive == 1


def test_equal_attributes_merge_and_constants_are_hoisted() -> None:
    graph = Graph()
    shared = elements(graph.context, np.ones(4, np.float32))
    first = graph.op(NegOp, graph.x)
    one, two = (
        graph.add(ConstantOp.create(result_types=[F32X4], properties={"value": shared})) for _ in range(2)
    )
    graph.end(graph.op(AddOp, graph.op(AddOp, first, one), two))
    graph.run(rules(Never=rule(Neg(c), c)))
    assert graph.ops == ["constant", "neg", "add", "add"]


def test_hoisting_reverses_constants_outside_the_leading_run() -> None:
    graph = Graph()
    first = graph.constant(1.0)
    second = graph.constant(2.0)
    negated = graph.op(NegOp, graph.x)
    third = graph.constant(3.0)
    graph.end(graph.op(SumOp, negated, first, second, third))
    graph.run(rules(Never=rule(Neg(c), c)))
    constants = [op for op in graph.function.body.block.ops if isinstance(op, ConstantOp)]
    values = [float(read(op.value)[0]) for op in constants if op.value is not None]
    assert values == [3.0, 1.0, 2.0]


def test_one_wide_reader_costs_as_much_as_many_narrow_ones() -> None:
    def cost(width: int) -> int:
        graph = Graph()
        parts = [graph.op(NegOp, graph.constant(float(part))) for part in range(width)]
        graph.end(graph.op(SumOp, *parts))
        report = graph.run(FOLD)
        assert report.fired.total() == width
        return report.visits + report.attempts

    assert cost(400) < 4.4 * cost(100)


def test_values_that_are_there_replace_the_operands_of_a_wide_reader_together() -> None:
    table = rules(Unpair=rule(Pair(x), (x, x)), NegTwice=rule(Neg(Neg(x)), x))
    graph = Graph()
    parts: list[SSAValue] = []
    for _ in range(70):
        pair = PairOp.create(operands=[graph.x], result_types=[F32X4, F32X4])
        graph.add(pair)
        parts += [pair.low, graph.op(NegOp, graph.op(NegOp, pair.high))]
    graph.end(graph.op(SumOp, *parts), parts[0])
    report = graph.run(table)
    assert report.fired == {"Unpair": 70, "NegTwice": 70}
    assert graph.ops == ["sum"]
    total = graph.returned().owner
    assert isinstance(total, SumOp)
    assert list(total.operands) == [graph.x] * 140
    assert graph.returned(1) is graph.x


def test_visits_grow_with_the_number_of_ops() -> None:
    def cost(length: int) -> int:
        graph = Graph()
        total = graph.x
        for _ in range(length):
            total = graph.op(AddOp, total, graph.constant(1.0))
        graph.end(total)
        report = graph.run(FOLD | REASSOCIATE)
        assert graph.ops == ["constant", "add"]
        return report.visits + report.attempts

    assert cost(800) < 8.8 * cost(100)


def test_a_native_that_declines_leaves_everything() -> None:
    def refuse(operand: Constant) -> RewriteResult:
        return MatchFailure("not today")

    table = rules(Refused=rule(Add(x, const.operand), Add(Add(x, x), compute(refuse, const.operand))))
    graph = Graph()
    graph.end(graph.op(AddOp, graph.x, graph.constant(1.0)))
    seen: list[tuple[str, str]] = []
    with tracing_rules(["Refused"], lambda name, op, why: seen.append((name, why))):
        report = graph.run(table)
    assert not report.changed
    assert graph.ops == ["constant", "add"]
    assert seen == [("Refused", "not today")]


def test_a_function_gets_what_its_parameters_name() -> None:
    @rule(Scale(one_use(Scale(x, absent, factor=2).named("inner")), maybe.bias, factor=attr.factor))
    def merge(
        root: Operation, inner: Operation, x: SSAValue, bias: Constant | None, factor: int
    ) -> RewriteResult:
        """k (2 x) + b = (2 k) x + b"""
        assert inner.name == "tiny.scale"
        return Scale(x, bias.attribute if bias else absent, like=root, factor=2 * factor)

    graph = Graph()
    none = graph.add(AbsentOp.create(result_types=[NoneType()]))
    mode = IntegerAttr(7, SI64)
    inner = graph.op(ScaleOp, graph.x, none, factor=IntegerAttr(2, SI64))
    outer = graph.op(ScaleOp, inner, graph.constant(1.0), factor=IntegerAttr(3, SI64), mode=mode)
    graph.end(outer, graph.op(ScaleOp, outer, none))
    assert graph.run(rules(Merge=merge)).fired == {"Merge": 1}
    made = graph.returned().owner
    assert isinstance(made, ScaleOp)
    assert made.factor == IntegerAttr(6, SI64)
    assert made.mode == mode
    assert merge.doc == "k (2 x) + b = (2 k) x + b"


def test_absent_operands_are_made_where_a_result_has_none() -> None:
    graph = Graph()
    graph.end(graph.op(NegOp, graph.x))
    graph.run(rules(NegIsScale=rule(Neg(x), Scale(x, absent, factor=-1))))
    assert graph.ops == ["absent", "scale"]


def test_a_result_of_several_parts_replaces_every_result() -> None:
    graph = Graph()
    pair = PairOp.create(operands=[graph.x], result_types=[F32X4, F32X4])
    graph.add(pair)
    graph.end(pair.low, pair.high)
    graph.run(rules(Unpair=rule(Pair(x), (x, Neg(x).typed(F32X4)))))
    assert graph.returned(0) is graph.x
    assert graph.ops == ["neg"]
    assert graph.returned(1).type == F32X4


def test_another_result_of_an_inner_op_does_not_match() -> None:
    graph = Graph()
    pair = PairOp.create(operands=[graph.x], result_types=[F32X4, F32X4])
    graph.add(pair)
    graph.end(graph.op(NegOp, pair.high))
    table = rules(NegPair=rule(Neg(Pair(x)), x))
    assert not graph.run(table).changed
    matcher = compile_rule(table["NegPair"])
    neg = graph.returned().owner
    assert isinstance(neg, Operation)
    assert matcher.failure_reason(neg) == "another result of Pair is read"


def test_variadic_operands_bind_together() -> None:
    def total(constants: tuple[Constant, ...]) -> RewriteResult:
        return np.sum([constant.array for constant in constants], axis=0)

    graph = Graph()
    graph.end(
        graph.op(SumOp, graph.constant(1.0), graph.constant(2.0)), graph.op(SumOp, graph.x, graph.x, graph.x)
    )
    table = rules(
        SumConst=rule(Sum(consts.constants), compute(total, consts.constants)),
        SumTail=rule(Sum(x, rest.others), Sum(rest.others), where=at_least_three),
    )
    graph.run(table)
    assert graph.array(0).tolist() == [3.0]
    owner = graph.returned(1).owner
    assert isinstance(owner, SumOp)
    assert len(owner.operands) == 2


def at_least_three(others: Sequence[SSAValue]) -> str | None:
    return None if len(others) >= 2 else "two operands are left"


def test_an_edit_may_do_what_no_pattern_says() -> None:
    @rule(Neg(x))
    def edited(root: Operation, x: SSAValue) -> RewriteResult:
        """-x"""

        def apply(op: Operation) -> Sequence[SSAValue]:
            block = op.parent
            assert block is not None
            made = [SumOp.create(operands=[x], result_types=[F32X4]) for _ in range(2)]
            block.insert_ops_before(made, op)
            return made[0].results

        return ImperativeRewrite(apply)

    graph = Graph()
    graph.end(graph.op(NegOp, graph.x))
    graph.run(rules(Edited=edited))
    assert graph.ops == ["sum"]


def test_the_best_rule_is_tried_first_then_the_first_of_equals() -> None:
    table = rules(
        Later=rule(Add(x, y), Sum(x)),
        Sooner=rule(Add(Neg(x), y), x),
        AlsoLater=rule(Add(Neg(x), y), y),
        Bonus=rule(Add(x, y), Sum(y, y), bonus=5),
    )

    def fired(table: RuleSet) -> list[str]:
        graph = Graph()
        graph.end(graph.op(AddOp, graph.op(NegOp, graph.x), graph.x))
        return list(graph.run(table).fired)

    assert fired(table) == ["Bonus"]
    assert fired(table.without(["Bonus"])) == ["Sooner"]
    assert fired(table.without(["Bonus", "Sooner"])) == ["AlsoLater"]


def test_rules_that_undo_each_other_are_named() -> None:
    table = rules(There=rule(Neg(x), Sum(x)), Back=rule(Sum(x), Neg(x)))
    graph = Graph()
    graph.end(graph.op(NegOp, graph.x, name="conv1"))
    with pytest.raises(
        XonncError, match=r"conv1: rules undo each other.*(There, Back|Back, There).*50 rewrites"
    ):
        graph.run(table, max_rewrites=50)


def test_a_run_within_limits_stops_and_names_the_rules_at_work() -> None:
    graph = Graph()
    total = graph.x
    for _ in range(5):
        total = graph.op(AddOp, total, graph.constant(1.0))
    graph.end(total)
    visited: list[str] = []

    def visit(op: Operation) -> Sequence[Operation]:
        visited.append(op.name)
        return ()

    def run(most: int) -> RewriteReport:
        return apply_rules_within(
            graph.module, graph.context, REASSOCIATE, pass_name="tiny", max_rewrites=most, visit=visit
        )

    cut = run(2)
    assert cut.fired.total() == 2
    assert set(cut.unfinished) == set(cut.fired)
    assert not run(1_000).unfinished
    assert {"tiny.constant", "tiny.add"} <= set(visited)


def test_readers_of_an_op_retyped_by_a_visit_are_looked_at_again() -> None:
    graph = Graph()
    first = graph.op(AddOp, graph.x, graph.x)
    graph.end(graph.op(AddOp, first, graph.x))
    visited: list[Operation] = []

    def visit(op: Operation) -> Sequence[Operation]:
        visited.append(op)
        # Visited for the first time, the second sum says that the type of the first one is another.
        maker = op.operands[0].owner if op.operands else None
        return [maker] if isinstance(maker, AddOp) and visited.count(op) == 1 else ()

    apply_rules_within(
        graph.module, graph.context, RuleSet({}), pass_name="tiny", max_rewrites=10, visit=visit
    )
    second = next(iter(first.uses)).operation
    assert visited.count(second) == 2


def test_what_fired_is_told_to_the_ledger() -> None:
    graph = Graph()
    graph.end(graph.op(AddOp, graph.constant(1.0), graph.constant(2.0)))
    with collecting() as ledger:
        graph.run(FOLD)
    assert ledger.rows() == [("tiny", "AddConst", 1)]


@pytest.mark.parametrize(
    ("pattern", "result", "problem"),
    [
        (Add(x), x, r"Wrong: Add takes 2 operands \(a, b\), not 1"),
        (Add(x, y), Add(x), "Wrong: Add takes 2 operands, not 1"),
        (Scale(x, y, axis=1), x, "Wrong: Scale has no property 'axis'"),
        (Add(x, y), Scale(x, y, groups=1), "Wrong: Scale has no property 'groups'"),
        (Add(x, y), c, "Wrong: the result uses 'c', which the pattern does not bind"),
        (Add(x, y), Scale(x, y, factor=attr.f), "Wrong: the result uses 'f'"),
        (Add(x, const.x), x, "Wrong: 'x' is bound in two ways"),
        (Nonsense(x), x, "Wrong: no op is called Nonsense"),
        (Add(x, rest.more), x, r"Wrong: Add takes no \*more"),
        (Neg(x), compute(np.add, const.k), "Wrong: add.* asks for 'k'"),
        (Pair(x), (x, x, x), "Wrong: Pair has 2 results, not 3"),
        (Neg(Neg(x).named("root")), x, "Wrong: 'root' is bound twice"),
        (Neg(x), Scale(x, x, like=Neg(x)), "Wrong: the result copies properties of"),
    ],
)
def test_a_wrong_rule_is_an_error_when_it_is_written(pattern: Node, result: Node, problem: str) -> None:
    with pytest.raises(RuleError, match=problem):
        rules(Wrong=rule(pattern, result))


def test_a_condition_may_only_ask_for_bound_names() -> None:
    with pytest.raises(RuleError, match="Wrong: condition at_least_three asks for 'others'"):
        rules(Wrong=rule(Neg(x), x, where=at_least_three))


def test_two_tables_with_one_name_do_not_join() -> None:
    with pytest.raises(RuleError, match="AddConst: two rules have this name"):
        _ = FOLD | rules(AddConst=rule(Add(c, d), fold(np.subtract)))


def test_disabling_an_unknown_rule_suggests_a_near_one() -> None:
    assert list(FOLD.without(["AddConst"])) == ["NegConst"]
    with pytest.raises(XonncError, match=r"no rule is called 'AddConts'; did you mean 'AddConst'\?"):
        FOLD.without(["AddConts"])


def test_why_not_says_what_does_not_fit() -> None:
    graph = Graph()
    inner = graph.op(AddOp, graph.x, graph.constant(1.0))
    outer = graph.op(AddOp, inner, graph.constant(2.0))
    graph.end(outer, inner)
    matcher = compile_rule(REASSOCIATE["Associate"])
    assert isinstance(outer.owner, Operation)
    assert isinstance(inner.owner, Operation)
    assert matcher.failure_reason(outer.owner) == "Add has other readers"
    assert matcher.failure_reason(inner.owner) == "operand 0 is not made by Add"
    assert str(REASSOCIATE["Associate"]) == "Add(one_use(Add(x, c)), d) -> Add(x, Add(c, d))"


def test_a_rule_is_compiled_for_the_first_op_that_could_fit() -> None:
    graph = Graph()
    inner = graph.op(AddOp, graph.x, graph.x)
    outer = graph.op(AddOp, inner, graph.constant(2.0))
    graph.end(outer)
    matcher = Matcher(REASSOCIATE["Associate"])
    assert isinstance(inner.owner, Operation)
    assert isinstance(outer.owner, Operation)
    assert matcher.run(inner.owner) == NO_MATCH
    assert "compiled" not in vars(matcher)
    assert matcher.run(outer.owner) != NO_MATCH
    assert matcher.run is matcher.compiled.match
