"""Generators of instances with sequences and optionals, and with loops of few iterations."""

from __future__ import annotations

import numpy as np

from xonnc.dialects.onnx.types import element_type_of, tensor_type
from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.texts import Text
from xonnc.fuzzing.rules.values import Kind

SEQUENCE = """
func.func @main_graph(
  %a: {type} {{onnx.name = "a"}}, %b: {type} {{onnx.name = "b"}}, %c: {type} {{onnx.name = "c"}}
) -> ({result}) {{
  %none = "onnx.NoValue"() <{{value}}> : () -> none
{lines}
  %r = {read} : ({operands}) -> {result}
  onnx.Return %r : {result}
}}"""

OPTIONAL = """
func.func @main_graph(%x: {type} {{onnx.name = "x"}}) -> {result} {{
  %none = "onnx.NoValue"() <{{value}}> : () -> none
  %o = "onnx.Optional"(%{given}){declared} : ({given_type}) -> !onnx.Opt<{type}>
  %r = "onnx.{name}"(%{read}) : ({read_type}) -> {result}
  onnx.Return %r : {result}
}}"""

LOOP = """
func.func @main_graph(
  %x: {type} {{onnx.name = "x"}}, %w: {type} {{onnx.name = "w"}}
) -> ({type}, tensor<{counter}i64>, {rows}) {{
  %none = "onnx.NoValue"() <{{value}}> : () -> none
  %most = onnx.Constant dense<{most}> : tensor<i64>
  %zero = onnx.Constant dense<0> : tensor<{counter}i64>
  %one = onnx.Constant dense<1> : tensor<i64>
  %yes = onnx.Constant dense<{first}> : tensor<i1>
  %r:3 = "onnx.Loop"(%most, %{condition}, %x, %zero) ({{
  ^bb0(%i: tensor<{counter}i64>, %go: tensor<i1>, %v: {type}, %n: tensor<{counter}i64>):
    %odd = "onnx.Less"(%i, %one) : (tensor<{counter}i64>, tensor<i64>) -> tensor<{counter}i1>
    %0 = "onnx.If"(%odd) ({{
      %1 = "onnx.{name}"(%v, %w) : ({type}, {type}) -> {type}
      onnx.Yield %1 : {type}
    }}, {{
      %1 = "onnx.{name}"(%w, %v) : ({type}, {type}) -> {type}
      onnx.Yield %1 : {type}
    }}) : (tensor<{counter}i1>) -> {type}
    %2 = "onnx.Add"(%n, %i) : (tensor<{counter}i64>, tensor<{counter}i64>) -> tensor<{counter}i64>
{constant}
    onnx.Yield %{again}, %0, %2, %{row} : tensor<i1>, {type}, tensor<{counter}i64>, {type}
  }}) : (tensor<i64>, {condition_type}, {type}, tensor<{counter}i64>)
    -> ({type}, tensor<{counter}i64>, {rows})
  onnx.Return %r#0, %r#1, %r#2 : {type}, tensor<{counter}i64>, {rows}
}}"""


def edits(draw: Draw, type_: str) -> tuple[list[str], int]:
    """Draw ops that construct and edit a sequence `%s<n>`; return their lines and its number of elements."""
    sequence, lines = f"!onnx.Seq<{type_}>", list[str]()
    if draw.flag():
        count = draw.number_in(1, 3)
        names, types = ", ".join("%" + "abc"[index] for index in range(count)), ", ".join([type_] * count)
        lines.append(f'  %s0 = "onnx.SequenceConstruct"({names}) : ({types}) -> {sequence}')
    else:
        code = {"f32": 1, "f64": 11, "i64": 7, "i8": 3}[type_.removesuffix(">").split("x")[-1].split("<")[-1]]
        count = 0
        lines.append(f'  %s0 = "onnx.SequenceEmpty"() <{{dtype = {code} : si64}}> : () -> {sequence}')
    for index in range(draw.number_in(1, 4)):
        is_insert = count == 0 or draw.pick(True, True, False)
        limit = count + is_insert
        at, at_type = "%none", "none"
        if draw.flag():
            at, at_type = f"%p{index}", "tensor<i64>"
            position = draw.number_in(-count, limit - 1)
            lines.append(f"  {at} = onnx.Constant dense<{position}> : tensor<i64>")
        if is_insert:
            call = f'"onnx.SequenceInsert"(%s{index}, %{draw.pick(*"abc")}, {at}) : ({sequence}, {type_}, '
        else:
            call = f'"onnx.SequenceErase"(%s{index}, {at}) : ({sequence}, '
        lines.append(f"  %s{index + 1} = {call}{at_type}) -> {sequence}")
        count += 1 if is_insert else -1
    return lines, count


def edited(draw: Draw, read: str) -> Text:
    """A sequence of tensors of one shape, and an op that reads it."""
    shape = draw.shape(1, 3, empty=False)
    type_ = str(tensor_type(shape, element_type_of(draw.dtype)))
    lines, count = edits(draw, type_)
    while count == 0:
        lines, count = edits(draw, type_)
    last = f"%s{sum(' %s' in line.split('=')[0] for line in lines) - 1}"
    operands, result = [f"!onnx.Seq<{type_}>"], type_
    if read == "SequenceAt":
        lines.append(f"  %at = onnx.Constant dense<{draw.number_in(-count, count - 1)}> : tensor<i64>")
        call = f'"onnx.SequenceAt"({last}, %at)'
        operands.append("tensor<i64>")
    elif read == "SequenceLength":
        call, result = f'"onnx.SequenceLength"({last})', "tensor<i64>"
    else:
        axis = draw.axis(len(shape), negative=False)
        joined = (*shape[:axis], shape[axis] * count, *shape[axis + 1 :])
        result = str(tensor_type(joined, element_type_of(draw.dtype)))
        properties = f"<{{axis = {axis} : si64, new_axis = 0 : si64}}>"
        call = f'"onnx.ConcatFromSequence"({last}) {properties}'
    text = SEQUENCE.format(
        type=type_, result=result, lines="\n".join(lines), read=call, operands=", ".join(operands)
    )
    # The reference of onnx inserts at the front where the position is the length, and not into nothing.
    return Text(text, {name: draw.array(shape, special=True) for name in "abc"}, opset=13)


def at(draw: Draw) -> Text:
    """An element of an edited sequence."""
    return edited(draw, "SequenceAt")


def length(draw: Draw) -> Text:
    """The length of an edited sequence."""
    return edited(draw, "SequenceLength")


def concatenated(draw: Draw) -> Text:
    """The concatenation of an edited sequence."""
    return edited(draw, "ConcatFromSequence")


def optional(draw: Draw, name: str, given: str, read: str) -> Text:
    """An optional, with or without an element, and an op that reads it or the element itself."""
    shape = draw.shape()
    type_ = str(tensor_type(shape, element_type_of(draw.dtype)))
    types = {"x": type_, "none": "none", "o": f"!onnx.Opt<{type_}>"}
    result = "tensor<i1>" if name == "OptionalHasElement" else type_
    text = OPTIONAL.format(
        type=type_,
        result=result,
        given=given,
        declared=f" <{{type = {type_}}}>" if given == "none" else "",
        given_type=types[given],
        name=name,
        read=read,
        read_type=types[read],
    )
    # The reference of onnx wraps the element in a list.
    return Text(text, {"x": draw.array(shape, special=True)}, opset=18)


def presence(draw: Draw) -> Text:
    """Whether an optional has an element."""
    return optional(draw, "OptionalHasElement", draw.pick("x", "none"), draw.pick("o", "x", "none"))


def present(draw: Draw) -> Text:
    """The element of an optional that has one."""
    return optional(draw, "OptionalGetElement", "x", "o")


def itself(draw: Draw) -> Text:
    """The element of a tensor, which is the tensor."""
    return optional(draw, "OptionalGetElement", "x", "x")


def few_iterations(draw: Draw) -> Text:
    """A loop with captured values, a nested graph, an iteration number and a scan output."""
    shape, most = draw.shape(empty=False), draw.number_in(1, 3)
    element = element_type_of(draw.dtype)
    type_, condition, again = (
        str(tensor_type(shape, element)),
        draw.pick("none", "yes"),
        draw.pick("go", "always"),
    )
    text = LOOP.format(
        type=type_,
        rows=tensor_type((most, *shape), element),
        most=most,
        first="true",
        condition=condition,
        condition_type="none" if condition == "none" else "tensor<i1>",
        again=again,
        constant="    %always = onnx.Constant dense<true> : tensor<i1>" if again == "always" else "",
        row=draw.pick("v", "0", "w"),
        name=draw.pick("Add", "Sub"),
        counter=draw.pick("", "1x"),
    )
    return Text(text, {"x": draw.array(shape, special=True), "w": draw.array(shape)}, opset=14)


CANONICALIZE: dict[str, Generator] = {
    "SequenceAtOfElementsPattern": at,
    "SequenceLengthOfElementsPattern": length,
    "ConcatFromElementsPattern": concatenated,
    "OptionalHasElementPattern": presence,
    "OptionalGetElementPattern": present,
    "OptionalGetTensorPattern": itself,
}

CANONICALIZE_KINDS: dict[str, tuple[Kind, ...]] = dict.fromkeys(
    CANONICALIZE, (np.float32, np.float64, np.int64, np.int8)
)

UNROLL: dict[str, Generator] = {"UnrollLoop": few_iterations}

UNROLL_KINDS: dict[str, tuple[Kind, ...]] = {"UnrollLoop": (np.float32, np.float64, np.int64, np.int32)}
