"""Loop nests and their schedules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, SingleBlockImplicitTerminator, ensure_terminator
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.krnl.constants import scalar_attribute
from xonnc.dialects.krnl.types import LoopType

LOOP = LoopType()
INDEX = IndexType()
_SYMBOL_BOUND = AffineMapAttr(AffineMap.from_callable(lambda s: (s,), dim_symbol_split=(0, 1)))
"""A bound that is an SSA value."""


@lru_cache(4096)
def _constant_bound(bound: int) -> AffineMapAttr:
    return AffineMapAttr(AffineMap.constant_map(bound))


@irdl_op_definition
class DefineLoopsOp(IRDLOperation):
    """
    Handles of loops, for schedules.

    ```mlir
    %i, %j = krnl.define_loops 2
    ```
    """

    name = "krnl.define_loops"

    num_loops = prop_def(IntegerAttr)
    loops = var_result_def(LoopType)

    def __init__(self, count: int):
        # Not that of `IRDLOperation`, which takes three times as long: kernels have many loops.
        Operation.__init__(
            self, properties={"num_loops": scalar_attribute(count, i64)}, result_types=[LOOP] * count
        )

    def verify_(self) -> None:
        """One result per loop."""
        if len(self.loops) != self.num_loops.value.data:
            raise VerifyException(
                f"krnl.define_loops {self.num_loops.value.data} has {len(self.loops)} results"
            )

    @classmethod
    def parse(cls, parser: Parser) -> DefineLoopsOp:
        """Parse the count."""
        op = cls(parser.parse_integer(allow_boolean=False, allow_negative=False))
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        """Print the count."""
        printer.print_string(f" {self.num_loops.value.data}")
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class BlockOp(IRDLOperation):
    """
    Loop tiling (strip-mining): a loop over tiles and one inside a tile.

    ```mlir
    %ob, %ol = krnl.block %a 16 : (!krnl.loop) -> (!krnl.loop, !krnl.loop)
    ```
    """

    name = "krnl.block"

    loop = operand_def(LoopType)
    tile_size = prop_def(IntegerAttr.constr(i64))
    loop_block = result_def(LoopType)
    loop_local = result_def(LoopType)

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "$loop $tile_size attr-dict `:` functional-type(operands, results)"

    def verify_(self) -> None:
        """A positive tile size."""
        if self.tile_size.value.data < 1:
            raise VerifyException(f"krnl.block: a tile is above 0, found {self.tile_size.value.data}")


@irdl_op_definition
class PermuteOp(IRDLOperation):
    """
    Loop interchange: loop i moves to position `map[i]`.

    ```mlir
    krnl.permute(%p, %q) [1, 0] : !krnl.loop, !krnl.loop
    ```
    """

    name = "krnl.permute"

    loops = var_operand_def(LoopType)
    map = prop_def(ArrayAttr[IntegerAttr])

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "`(` $loops `)` $map attr-dict `:` type($loops)"

    def verify_(self) -> None:
        """A permutation."""
        permutation = [index.value.data for index in self.map]
        if sorted(permutation) != list(range(len(self.loops))):
            raise VerifyException(f"krnl.permute: {permutation} is no order of {len(self.loops)} loops")


@irdl_op_definition
class UnrollOp(IRDLOperation):
    """
    Full unrolling of a loop.

    ```mlir
    krnl.unroll %l : !krnl.loop
    ```
    """

    name = "krnl.unroll"

    loop = operand_def(LoopType)

    assembly_format = "$loop attr-dict `:` type($loop)"


@irdl_op_definition
class ParallelOp(IRDLOperation):
    """
    Loops whose iterations may run in parallel.

    ```mlir
    krnl.parallel(%p) : !krnl.loop
    ```
    """

    name = "krnl.parallel"

    loops = var_operand_def(LoopType)
    num_threads = opt_operand_def()
    proc_bind = opt_prop_def(StringAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    assembly_format = (
        "`(` $loops `)` (`,` `num_threads` `(` $num_threads^ `:` type($num_threads) `)`)? attr-dict"
        " `:` type($loops)"
    )


@irdl_op_definition
class GetInductionVarValueOp(IRDLOperation):
    """
    Induction variables of loops.

    ```mlir
    %i, %j = krnl.get_induction_var_value(%a, %b) : (!krnl.loop, !krnl.loop) -> (index, index)
    ```
    """

    name = "krnl.get_induction_var_value"

    loops = var_operand_def(LoopType)
    values = var_result_def(IndexType)

    assembly_format = "`(` $loops `)` attr-dict `:` functional-type($loops, $values)"

    def verify_(self) -> None:
        """One value per loop."""
        if len(self.loops) != len(self.values):
            raise VerifyException(
                f"krnl.get_induction_var_value: {len(self.loops)} loops, {len(self.values)} values"
            )


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The terminator of an iteration, an epilogue, a fusion group or a strip, with its results."""

    name = "krnl.yield"

    arguments = var_operand_def()

    traits = traits_def(IsTerminator())

    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    def verify_(self) -> None:
        """Operands of the parent's result types."""
        parent = self.parent_op()
        if parent is not None and parent.name in ("krnl.conv", "krnl.fused", "krnl.strip_mined_loop"):
            return
        if not isinstance(parent, IterateOp):
            raise VerifyException("only terminates krnl.iterate, krnl.conv and krnl.fused regions")
        if len(parent.results) != len(self.arguments):
            raise VerifyException("parent of yield must have same number of results as the yield operands")
        if any(a.type != b.type for a, b in zip(parent.results, self.arguments, strict=True)):
            raise VerifyException("types mismatch between yield op and its parent")


@irdl_op_definition
class IterateOp(IRDLOperation):
    """
    A loop nest: the scheduled loops `optimized` over the domain of the `input` loops.

    A bound is a constant or an SSA value. `iter_args` are loop-carried values.

    ```mlir
    krnl.iterate(%a, %b) with (%a -> %i = 0 to 8, %b -> %j = 2 to %n) { … }
    ```
    """

    name = "krnl.iterate"

    arguments = var_operand_def()
    num_optimized_loops = prop_def(IntegerAttr)
    bounds = prop_def(ArrayAttr[AffineMapAttr])
    body = region_def("single_block")
    returned = var_result_def()

    traits = traits_def(SingleBlockImplicitTerminator(YieldOp))

    def __init__(
        self,
        loops: Sequence[SSAValue],
        lower: Sequence[int | SSAValue],
        upper: Sequence[int | SSAValue],
        body: Region,
        iter_args: Sequence[SSAValue] = (),
        optimized: Sequence[SSAValue] | None = None,
    ):
        """
        Create loops from `lower` to `upper` (exclusive); `optimized` are the scheduled loops if different.
        """
        run = loops if optimized is None else optimized
        operands = list(run)
        maps: list[AffineMapAttr] = []
        for loop, *bounds in zip(loops, lower, upper, strict=True):
            operands.append(loop)
            for bound in bounds:
                if isinstance(bound, int):
                    maps.append(_constant_bound(bound))
                else:
                    maps.append(_SYMBOL_BOUND)
                    operands.append(bound)
        Operation.__init__(
            self,
            operands=[*operands, *iter_args],
            properties={"num_optimized_loops": scalar_attribute(len(run), i64), "bounds": ArrayAttr(maps)},
            regions=[body],
            result_types=[value.type for value in iter_args],
        )
        ensure_terminator(self, SingleBlockImplicitTerminator(YieldOp))

    @property
    def optimized_loops(self) -> Sequence[SSAValue]:
        """The scheduled loops, outermost first."""
        return self.arguments[: self.num_optimized_loops.value.data]

    def input_loops(self) -> list[tuple[SSAValue, int | SSAValue, int | SSAValue]]:
        """Return each loop of the domain with its lower and upper bound."""
        found: list[tuple[SSAValue, int | SSAValue, int | SSAValue]] = []
        index = self.num_optimized_loops.value.data
        maps = [bound.data for bound in self.bounds]
        for lower, upper in zip(maps[::2], maps[1::2], strict=True):
            loop = self.arguments[index]
            index += 1
            ends: list[int | SSAValue] = []
            for map_ in (lower, upper):
                count = map_.num_dims + map_.num_symbols
                ends.append(self.arguments[index] if count else map_.eval([], [])[0])
                index += count
            found.append((loop, ends[0], ends[1]))
        return found

    @property
    def iter_args(self) -> Sequence[SSAValue]:
        """Initial values of the loop-carried values."""
        return self.arguments[len(self.arguments) - len(self.returned) :]

    def verify_(self) -> None:
        """Bounds in pairs; block arguments: an index per loop, then the carried values."""
        maps = [bound.data for bound in self.bounds]
        if len(maps) % 2:
            raise VerifyException("krnl.iterate: bounds come in pairs")
        if any(len(map_.results) != 1 or map_.num_dims + map_.num_symbols > 1 for map_ in maps):
            raise VerifyException("krnl.iterate: a bound is a number or one value")
        count = (
            self.num_optimized_loops.value.data
            + len(maps) // 2
            + sum(map_.num_dims + map_.num_symbols for map_ in maps)
            + len(self.returned)
        )
        if count != len(self.arguments):
            raise VerifyException(
                f"krnl.iterate: {count} operands by its bounds, found {len(self.arguments)}"
            )
        types = [INDEX] * (len(maps) // 2) + [result.type for result in self.returned]
        if [argument.type for argument in self.body.block.args] != types:
            raise VerifyException("krnl.iterate: the body takes an index for each loop, then the iter_args")

    @classmethod
    def parse(cls, parser: Parser) -> IterateOp:
        """Parse what `print` writes."""
        optimized = _parse_loops(parser)
        parser.parse_keyword("with")
        heads = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_head(parser))
        arguments = [head[1] for head in heads]
        inits: list[SSAValue] = []
        if parser.parse_optional_keyword("iter_args"):
            pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_init(parser))
            parser.parse_punctuation("->")
            types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            if len(types) != len(pairs):
                parser.raise_error(f"{len(pairs)} iter_args, {len(types)} types")
            for (argument, init), type_ in zip(pairs, types, strict=True):
                arguments.append(argument.resolve(type_))
                inits.append(parser.resolve_operand(init, type_))
        region = parser.parse_region(arguments)
        attributes = parser.parse_optional_attr_dict()
        op = cls(
            [head[0] for head in heads],
            [head[2] for head in heads],
            [head[3] for head in heads],
            region,
            inits,
            optimized,
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        """Print the loops, their bounds, what is taken over and the body."""
        with printer.in_parens():
            printer.print_list(self.optimized_loops, printer.print_ssa_value)
        printer.print_string(" with ")
        args = self.body.block.args
        heads = self.input_loops()
        with printer.in_parens():
            printer.print_list(
                list(zip(heads, args, strict=False)), lambda pair: _print_head(printer, pair[0], pair[1])
            )
        if self.returned:
            printer.print_string(" iter_args")
            with printer.in_parens():
                printer.print_list(
                    list(zip(args[len(heads) :], self.iter_args, strict=True)),
                    lambda pair: _print_pair(printer, pair[0], pair[1]),
                )
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.returned.types, printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_block_terminators=bool(self.returned)
        )
        printer.print_op_attributes(self.attributes)


def _parse_loops(parser: Parser) -> list[SSAValue]:
    names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    return [parser.resolve_operand(name, LOOP) for name in names]


def _parse_head(parser: Parser) -> tuple[SSAValue, Parser.Argument, int | SSAValue, int | SSAValue]:
    loop = parser.resolve_operand(parser.parse_unresolved_operand(), LOOP)
    parser.parse_punctuation("->")
    argument = parser.parse_argument(expect_type=False).resolve(INDEX)
    parser.parse_punctuation("=")
    lower = _parse_bound(parser)
    parser.parse_keyword("to")
    return loop, argument, lower, _parse_bound(parser)


def _parse_bound(parser: Parser) -> int | SSAValue:
    value = parser.parse_optional_unresolved_operand()
    if value is not None:
        return parser.resolve_operand(value, INDEX)
    return parser.parse_integer(allow_boolean=False)


def _parse_init(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return argument, parser.parse_unresolved_operand()


def _print_head(
    printer: Printer, head: tuple[SSAValue, int | SSAValue, int | SSAValue], argument: SSAValue
) -> None:
    loop, lower, upper = head
    printer.print_ssa_value(loop)
    printer.print_string(" -> ")
    printer.print_ssa_value(argument)
    printer.print_string(" = ")
    _print_bound(printer, lower)
    printer.print_string(" to ")
    _print_bound(printer, upper)


def _print_bound(printer: Printer, bound: int | SSAValue) -> None:
    if isinstance(bound, int):
        printer.print_int(bound)
    else:
        printer.print_ssa_value(bound)


def _print_pair(printer: Printer, argument: SSAValue, init: SSAValue) -> None:
    printer.print_ssa_value(argument)
    printer.print_string(" = ")
    printer.print_ssa_value(init)
