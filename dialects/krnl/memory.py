"""Access to buffers, constants, and kernel calls."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I64,
    AnySignlessIntegerType,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ShapedType,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.krnl.types import is_buffer

INDEX = IndexType()
SI64 = IntegerType(64, Signedness.SIGNED)


def element_of(buffer: SSAValue) -> Attribute:
    """Return the element type of a buffer."""
    assert is_buffer(buffer.type)
    return buffer.type.element_type


def shape_of(buffer: SSAValue) -> tuple[int, ...]:
    """Return the shape of a buffer."""
    assert is_buffer(buffer.type)
    return buffer.type.get_shape()


def _check_indices(op: IRDLOperation, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    assert is_buffer(buffer.type)
    if len(indices) != buffer.type.get_num_dims():
        raise VerifyException(
            f"{op.name} takes {buffer.type.get_num_dims()} indices for {buffer.type}, found {len(indices)}"
        )


@irdl_op_definition
class LoadOp(IRDLOperation):
    """
    Load of one element.

    ```mlir
    %v = krnl.load %m[%i, %j] : memref<4x4xf32>
    ```
    """

    name = "krnl.load"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    result = result_def()

    def __init__(self, memref: SSAValue, indices: Sequence[SSAValue]):
        # Not that of `IRDLOperation`, which takes three times as long: kernels have many accesses.
        Operation.__init__(self, operands=[memref, *indices], result_types=[element_of(memref)])

    def verify_(self) -> None:
        """One index per dimension, the buffer's element type."""
        _check_indices(self, self.memref, self.indices)
        if self.result.type != element_of(self.memref):
            raise VerifyException("result type matches element type of 'memref'")

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        """Parse what `print` writes."""
        buffer, indices = _parse_access(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        op = cls(
            parser.resolve_operand(buffer, type_), [parser.resolve_operand(each, INDEX) for each in indices]
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        """Print buffer, indices and type."""
        _print_access(printer, self.memref, self.indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)


@irdl_op_definition
class LookUpOp(IRDLOperation):
    """
    Load of the element of a table of 256 for a byte.

    With `shuffle`, an LLVM intrinsic that permutes bytes by bytes, loops of it are vectorized.

    ```mlir
    %v = "krnl.look_up"(%t, %b) {shuffle = "llvm.x86.avx2.pshuf.b"} : (memref<256xi8>, i8) -> i8
    ```
    """

    name = "krnl.look_up"

    table = operand_def(MemRefType)
    byte = operand_def(IntegerType(8))
    shuffle = opt_prop_def(StringAttr)
    result = result_def(IntegerType(8))

    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, table: SSAValue, byte: SSAValue, shuffle: str = ""):
        properties = {"shuffle": StringAttr(shuffle)} if shuffle else {}
        super().__init__(operands=[table, byte], properties=properties, result_types=[IntegerType(8)])

    def verify_(self) -> None:
        """A table of 256 bytes."""
        if shape_of(self.table) != (256,) or element_of(self.table) != IntegerType(8):
            raise VerifyException(f"krnl.look_up: a table is memref<256xi8>, found {self.table.type}")


@irdl_op_definition
class StoreOp(IRDLOperation):
    """
    Store of one element.

    ```mlir
    krnl.store %v, %m[%i, %j] : memref<4x4xf32>
    ```
    """

    name = "krnl.store"

    value = operand_def()
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)

    def __init__(self, value: SSAValue, memref: SSAValue, indices: Sequence[SSAValue]):
        Operation.__init__(self, operands=[value, memref, *indices])

    def verify_(self) -> None:
        """One index per dimension, the buffer's element type."""
        _check_indices(self, self.memref, self.indices)
        if self.value.type != element_of(self.memref):
            raise VerifyException("type of 'value' matches element type of 'memref'")

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        """Parse what `print` writes."""
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        buffer, indices = _parse_access(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        if not is_buffer(type_):
            parser.raise_error(f"expected a memref type, found {type_}")
        op = cls(
            parser.resolve_operand(value, type_.element_type),
            parser.resolve_operand(buffer, type_),
            [parser.resolve_operand(each, INDEX) for each in indices],
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        """Print value, buffer, indices and type."""
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(",")
        _print_access(printer, self.memref, self.indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)


def _parse_access(parser: Parser):
    buffer = parser.parse_unresolved_operand()
    indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
    return buffer, indices


def _print_access(printer: Printer, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    printer.print_string(" ")
    printer.print_ssa_value(buffer)
    with printer.in_square_brackets():
        printer.print_list(indices, printer.print_ssa_value)


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """
    In-register transposition of a square tile: `dest[j · strides[0] + i] = src[i · strides[1] + j]` from the
    indices on.

    Strides are in elements; the tile has `size` contiguous rows. A dynamic stride is `-9223372036854775808`,
    given in `dynamic_strides`.

    ```mlir
    "krnl.transpose"(%d, %s, %i, %j, %j, %i) {size = 8, strides = array<i64: 64, 32>} : …
    ```
    """

    name = "krnl.transpose"

    dest = operand_def(MemRefType)
    src = operand_def(MemRefType)
    dest_indices = var_operand_def(IndexType)
    src_indices = var_operand_def(IndexType)
    dynamic_strides = var_operand_def(IndexType)
    size = prop_def(IntegerAttr.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    def verify_(self) -> None:
        """One index per dimension, equal element types, a power of two, two strides."""
        _check_indices(self, self.dest, self.dest_indices)
        _check_indices(self, self.src, self.src_indices)
        size = self.size.value.data
        if size < 2 or size & (size - 1):
            raise VerifyException(f"krnl.transpose: size is a power of two above 1, found {size}")
        strides = self.strides.get_values()
        if len(strides) != 2:
            raise VerifyException("krnl.transpose: strides holds two numbers")
        if len(self.dynamic_strides) != strides.count(DYNAMIC_INDEX):
            raise VerifyException(
                f"krnl.transpose: {strides.count(DYNAMIC_INDEX)} dynamic strides, found "
                f"{len(self.dynamic_strides)} operands"
            )
        if element_of(self.dest) != element_of(self.src):
            raise VerifyException("element type of 'src' matches element type of 'dest'")


@irdl_op_definition
class MemcpyOp(IRDLOperation):
    """
    Copy of elements between buffers.

    ```mlir
    "krnl.memcpy"(%d, %s, %n, %c0, %c0) : (memref<4xf32>, memref<4xf32>, i64, index, index) -> ()
    ```
    """

    name = "krnl.memcpy"

    dest = operand_def(MemRefType)
    src = operand_def(MemRefType)
    num_elems = operand_def(i64)
    dest_offset = operand_def(IndexType)
    src_offset = operand_def(IndexType)


@irdl_op_definition
class MemsetOp(IRDLOperation):
    """
    Fill of a buffer with one value.

    ```mlir
    krnl.memset %m, %z {delayed = true} : memref<4x4xf32>
    ```
    """

    name = "krnl.memset"

    dest = operand_def(MemRefType)
    value = operand_def()
    delayed = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))

    def verify_(self) -> None:
        """The buffer's element type."""
        if self.value.type != element_of(self.dest):
            raise VerifyException("type of 'value' matches element type of 'dest'")

    @classmethod
    def parse(cls, parser: Parser) -> MemsetOp:
        """Parse what `print` writes."""
        buffer = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        delayed = attributes.pop("delayed", BoolAttr.from_bool(False))
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        if not is_buffer(type_):
            parser.raise_error(f"expected a memref type, found {type_}")
        operands = [parser.resolve_operand(buffer, type_), parser.resolve_operand(value, type_.element_type)]
        return cls(operands=operands, properties={"delayed": delayed}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print buffer, value and type; `delayed` only where it holds."""
        printer.print_string(" ")
        printer.print_ssa_value(self.dest)
        printer.print_string(", ")
        printer.print_ssa_value(self.value)
        delayed: dict[str, Attribute] = {"delayed": self.delayed} if self.delayed.value.data else {}
        printer.print_op_attributes(delayed | self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.dest.type)


@irdl_op_definition
class SameBufferOp(IRDLOperation):
    """
    Whether two buffers start at the same address.

    ```mlir
    %s = "krnl.same_buffer"(%a, %b) : (memref<4xf32>, memref<4xf32>) -> i1
    ```
    """

    name = "krnl.same_buffer"

    lhs = operand_def(MemRefType)
    rhs = operand_def(MemRefType)
    result = result_def(i1)

    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """
    A constant in memory.

    ```mlir
    %g = "krnl.global"() {name = "c0", shape = [1], value = dense<1.0> : tensor<1xf32>} : () -> memref<1xf32>
    ```
    """

    name = "krnl.global"

    shape = prop_def(Attribute)
    symbol = prop_def(StringAttr, prop_name="name")
    value = opt_prop_def(Attribute)
    offset = opt_prop_def(IntegerAttr)
    alignment = opt_prop_def(IntegerAttr)
    output = result_def(MemRefType)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def of(cls, name: str, value: Attribute, type_: MemRefType) -> GlobalOp:
        """A constant called `name` that holds the elements `value`."""
        shape = ArrayAttr([IntegerAttr(size, i64) for size in type_.get_shape()])
        return cls(
            properties={"name": StringAttr(name), "shape": shape, "value": value}, result_types=[type_]
        )


@irdl_op_definition
class CallOp(IRDLOperation):
    """
    A call of a kernel on buffers, written ones first.

    Dynamic sizes (indices) follow the buffers. A kernel that takes a range of iterations (two more indices)
    runs all of them: a constant number, or the value of the parameter at the index in `iterationsOf`. They
    may run in any order and in parallel.

    `inPlace` holds pairs of parameters, a written and a read buffer, that share memory: the kernel reads each
    element of the second before it writes that of the first. The first may be smaller than the second, if the
    call is `sequential`: it runs all iterations in order. `mayShare` holds such pairs that memory planning
    leaves apart, but which the caller of the model's function may give the same memory.

    ```mlir
    "krnl.call"(%o, %x) {funcName = "fn", numOfOutput = 1 : si64} : (memref<4xf32>, memref<4xf32>) -> ()
    ```
    """

    name = "krnl.call"

    parameters = var_operand_def()
    func_name = prop_def(StringAttr, prop_name="funcName")
    num_of_output = prop_def(IntegerAttr, prop_name="numOfOutput", default_value=IntegerAttr(1, SI64))
    iterations = opt_prop_def(IntegerAttr, prop_name="iterations")
    iterations_parameter = opt_prop_def(IntegerAttr, prop_name="iterationsOf")
    sequential = opt_prop_def(UnitAttr)
    in_place = opt_prop_def(DenseArrayBase.constr(i64), prop_name="inPlace")
    may_share = opt_prop_def(DenseArrayBase.constr(i64), prop_name="mayShare")
    returned = var_result_def(AnySignlessIntegerType)

    @classmethod
    def of(
        cls,
        name: str,
        outputs: Sequence[SSAValue],
        inputs: Sequence[SSAValue],
        iterations: int | SSAValue = 0,
        sizes: Sequence[SSAValue] = (),
    ) -> CallOp:
        """
        Create a call of the kernel `name`; `iterations` of a parallel kernel is a constant or one of `sizes`.
        """
        parameters = [*outputs, *inputs, *sizes]
        properties: dict[str, Attribute] = {
            "funcName": StringAttr(name),
            "numOfOutput": IntegerAttr(len(outputs), SI64),
        }
        if isinstance(iterations, SSAValue):
            properties["iterationsOf"] = IntegerAttr(parameters.index(iterations), i64)
        elif iterations:
            properties["iterations"] = IntegerAttr(iterations, i64)
        return cls(operands=[parameters], properties=properties, result_types=[[]])

    @property
    def outputs(self) -> Sequence[SSAValue]:
        """The written parameters."""
        return self.parameters[: self.num_of_output.value.data]

    @property
    def in_place_pairs(self) -> list[tuple[int, int]]:
        """Pairs of indices of parameters that share memory: written, read."""
        return _pairs(self.in_place)

    @property
    def shareable_pairs(self) -> list[tuple[int, int]]:
        """Pairs of indices of parameters that the caller may give the same memory: written, read."""
        return _pairs(self.may_share)

    def verify_(self) -> None:
        """The number of iterations is a constant or an index parameter; in-place pairs are valid."""
        self._verify_in_place()
        if self.iterations_parameter is not None:
            index = self.iterations_parameter.value.data
            if not 0 <= index < len(self.parameters) or self.parameters[index].type != INDEX:
                raise VerifyException(f"krnl.call: iterationsOf: parameter {index} is not an index")
            if self.iterations is not None:
                raise VerifyException(
                    "krnl.call: the number of iterations is a constant or a parameter, not both"
                )

    def _verify_in_place(self) -> None:
        written = len(self.outputs)
        for name, pairs in (("inPlace", self.in_place), ("mayShare", self.may_share)):
            if pairs is not None and len(pairs.get_values()) % 2:
                raise VerifyException(f"krnl.call: {name} holds pairs of parameters")
            for target, source in _pairs(pairs):
                if not 0 <= target < written <= source < len(self.parameters):
                    raise VerifyException(
                        f"krnl.call: {name} pairs one of the {written} parameters that are written with one "
                        f"of the others, found {target} and {source}"
                    )


def _pairs(pairs: DenseArrayBase[I64] | None) -> list[tuple[int, int]]:
    numbers = [] if pairs is None else [int(each) for each in pairs.get_values()]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


@irdl_op_definition
class KeepOp(IRDLOperation):
    """
    The first elements of a tensor along an axis: as many as the first of the two integers of `count`.

    ```mlir
    %y = "krnl.keep"(%x, %n) {axis = 1 : i64} : (tensor<3x60xi64>, memref<2xi64>) -> tensor<3x?xi64>
    ```
    """

    name = "krnl.keep"

    source = operand_def(TensorType)
    count = operand_def(MemRefType)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def()

    def __init__(self, source: SSAValue, count: SSAValue, axis: int, type_: Attribute):
        super().__init__(
            operands=[source, count], properties={"axis": IntegerAttr(axis, i64)}, result_types=[type_]
        )

    def verify_(self) -> None:
        """A count of memref<2xi64>, an axis of the tensor."""
        assert isinstance(self.source.type, ShapedType)
        rank, axis = self.source.type.get_num_dims(), self.axis.value.data
        if not 0 <= axis < rank:
            raise VerifyException(f"krnl.keep: axis {axis} of a tensor of rank {rank}")
        if shape_of(self.count) != (2,) or element_of(self.count) != i64:
            raise VerifyException(f"krnl.keep: count is memref<2xi64>, found {self.count.type}")


@irdl_op_definition
class DeferredCallOp(IRDLOperation):
    """
    A call of a function that the runtime makes once the shapes of the operands are known.

    ```mlir
    %y = "krnl.deferred_call"(%x) {callee = @found} : (tensor<?x3xi64>) -> tensor<?xf32>
    ```
    """

    name = "krnl.deferred_call"

    inputs = var_operand_def()
    callee = prop_def(SymbolRefAttr)
    outputs = var_result_def()

    def __init__(self, callee: str, inputs: Sequence[SSAValue], types: Sequence[Attribute]):
        super().__init__(
            operands=[inputs], properties={"callee": SymbolRefAttr(callee)}, result_types=[types]
        )


@irdl_op_definition
class SeedOp(IRDLOperation):
    """
    A random seed, new in each run.

    ```mlir
    %s = "krnl.seed"() : () -> memref<1xi64>
    ```
    """

    name = "krnl.seed"

    result = result_def(MemRefType)

    def __init__(self):
        super().__init__(result_types=[MemRefType(i64, [1])])

    def verify_(self) -> None:
        """memref<1xi64>."""
        if shape_of(self.result) != (1,) or element_of(self.result) != i64:
            raise VerifyException(f"krnl.seed gives memref<1xi64>, found {self.result.type}")


@irdl_op_definition
class EntryPointOp(IRDLOperation):
    """
    The function that is the model's entry point.

    ```mlir
    "krnl.entry_point"() {func = @main, numInputs = 1 : i32, numOutputs = 1 : i32, signature = ""} : () -> ()
    ```
    """

    name = "krnl.entry_point"

    func = prop_def(SymbolRefAttr)
    num_inputs = prop_def(IntegerAttr.constr(i32), prop_name="numInputs")
    num_outputs = prop_def(IntegerAttr.constr(i32), prop_name="numOutputs")
    signature = prop_def(StringAttr)
