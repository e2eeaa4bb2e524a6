"""
A graph of an ONNX model that passes edit in place, with the uses of each value.

Nodes are the model's own `NodeProto`, so names, doc strings and metadata stay with them. Values are names;
the uses of a value include those in subgraphs of the graph that defines it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import onnx

from xonnc.compat.onnxoptimizer.nodes import UNKNOWN, Dims, Node, ValueType, is_op, set_attribute, value_type
from xonnc.formats.onnx.captures import graphs_of
from xonnc.formats.onnx.tensors import AnyArray, TensorReader, proto
from xonnc.formats.onnx.topological_order import topological_order


class ModelContext(Protocol):
    """The properties of a model that its graphs need."""

    names: set[str]
    reader: TensorReader
    assumes: bool

    @property
    def opset(self) -> int: ...

    def fresh_name(self, hint: str) -> str: ...

    def fresh_node_name(self, op_type: str) -> str: ...

    def inferred_type(self, name: str) -> ValueType: ...

    def rebuild(
        self,
        nodes: Sequence[Node],
        inputs: Sequence[onnx.ValueInfoProto],
        outputs: Sequence[onnx.ValueInfoProto],
        keeps_initializers: bool = True,
    ) -> None: ...


class Graph:
    """A graph and its subgraphs; `flush` writes the edits to the message."""

    def __init__(self, message: onnx.GraphProto, model: ModelContext, outer: Graph | None = None) -> None:
        self.message = message
        self.model = model
        self.outer = outer
        self.inputs = {info.name for info in message.input}
        self.outputs = Counter(info.name for info in message.output)
        self.initializers = {tensor.name: tensor for tensor in message.initializer}
        self.makers: dict[str, Node] = {}
        self.users: dict[str, dict[int, Node]] = {}
        self.captured_outputs = Counter[str]()
        """Values of this graph that a subgraph returns as its own output."""
        self.annotated = {each.tensor_name for each in message.quantization_annotation}
        for each in message.quantization_annotation:
            self.annotated.update(entry.value for entry in each.quant_parameter_tensor_names)
        self.own = {
            *self.inputs,
            *self.initializers,
            *(sparse.values.name for sparse in message.sparse_initializer),
            *(name for node in message.node for name in node.output if name),
        }
        model.names |= self.own
        self._declared: dict[str, ValueType] | None = None
        self._subgraphs: dict[int, list[Graph]] = {}
        self._inserted: dict[int, list[Node]] = {}
        self._erased: dict[int, Node] = {}
        self._nodes = list(topological_order(message, model.names if outer else ()).nodes)
        for node in self._nodes:
            self._register(node)
        for name in self.outputs:
            if name not in self.own and (graph := self.owner(name)) is not None:
                graph.captured_outputs[name] += 1

    def nodes(self) -> Iterator[Node]:
        """Yield the nodes present now, in order; those erased meanwhile are skipped."""
        self._settle()
        for node in list(self._nodes):
            if id(node) not in self._erased:
                yield node

    def subgraphs(self, node: Node) -> Sequence[Graph]:
        """Return the graphs among the attributes of a node."""
        return self._subgraphs.get(id(node), ())

    # Values

    def owner(self, name: str) -> Graph | None:
        """Return the graph that defines a value visible here."""
        graph = self
        while name not in graph.own:
            if graph.outer is None:
                return None
            graph = graph.outer
        return graph

    def maker(self, name: str) -> Node | None:
        """Return the node of this graph that computes a value."""
        return self.makers.get(name)

    def is_used(self, name: str) -> bool:
        """Whether a value of this graph is read by a node or is an output."""
        return bool(self.users.get(name)) or name in self.outputs or self.captured_outputs[name] > 0

    def is_used_once(self, name: str) -> bool:
        """Whether a value of this graph has exactly one use, which is no output of a graph."""
        users = list(self.users.get(name, {}).values())
        if len(users) != 1 or name in self.outputs or self.captured_outputs[name] or name in self.annotated:
            return False
        return sum(each == name for each in users[0].input) == 1

    def use_count(self, name: str) -> int:
        """Return how often a value of this graph is read; each output of a graph counts as one use."""
        read = sum(max(1, list(each.input).count(name)) for each in self.users.get(name, {}).values())
        return read + self.outputs[name] + self.captured_outputs[name]

    def type(self, name: str) -> ValueType:
        """Return what is known of a value's type: declared, of a constant, or inferred."""
        graph = self.owner(name)
        if graph is None:
            return UNKNOWN
        found = graph._declared_type(name)
        if found.dims is not None and found.element:
            return found
        tensor = graph._tensor(name, also_inputs=True)
        if tensor is not None:
            return ValueType(tensor.data_type, tuple(tensor.dims))
        inferred = self.model.inferred_type(name)
        return ValueType(found.element or inferred.element, found.dims or inferred.dims)

    def dims(self, name: str) -> Dims | None:
        """Return the dimensions of a value if its rank is known."""
        return self.type(name).dims

    def constant(self, name: str) -> AnyArray | None:
        """Return a constant: a Constant node's or an initializer's that is no input."""
        graph = self.owner(name) if name else None
        tensor = None if graph is None else graph._tensor(name)
        return None if tensor is None else self.model.reader.array(tensor)

    def constant_ints(self, name: str) -> list[int] | None:
        """Return the elements of a constant int64 tensor of rank 0 or 1."""
        array = self.constant(name)
        if array is None or array.dtype != np.int64 or array.ndim > 1:
            return None
        return [int(each) for each in array.reshape(-1)]

    def is_constant(self, name: str) -> bool:
        """Whether a value is a constant, without reading it."""
        graph = self.owner(name) if name else None
        return graph is not None and graph._tensor(name) is not None

    def _tensor(self, name: str, also_inputs: bool = False) -> onnx.TensorProto | None:
        """Return the tensor of an own constant; that of an input is only its default."""
        if name in self.initializers and (also_inputs or name not in self.inputs):
            return self.initializers[name]
        node = self.makers.get(name)
        if node is None or not is_op(node, "Constant"):
            return None
        return next((each.t for each in node.attribute if each.name == "value"), None)

    def _declared_type(self, name: str) -> ValueType:
        if self._declared is None:
            infos = (*self.message.value_info, *self.message.output, *self.message.input)
            self._declared = {info.name: value_type(info.type) for info in infos}
        return self._declared.get(name, UNKNOWN)

    # Edits

    def add_constant(self, array: AnyArray, hint: str) -> str:
        """Add an initializer; return its name."""
        name = self.model.fresh_name(hint)
        self.initializers[name] = proto(array, name)
        self.own.add(name)
        return name

    def add_ints(self, values: Iterable[int], hint: str) -> str:
        """Add an int64 initializer of rank 1; return its name."""
        return self.add_constant(np.array(list(values), np.int64), hint)

    def set_inputs(self, node: Node, names: Iterable[str]) -> None:
        """Replace the inputs of a node."""
        self._unregister_uses(node)
        node.input[:] = list(names)
        self._register_uses(node)

    def set_input(self, node: Node, index: int, name: str) -> None:
        """Replace one input of a node, or append it."""
        names = list(node.input)
        names += [""] * (index + 1 - len(names))
        names[index] = name
        self.set_inputs(node, names)

    def make(self, before: Node, op_type: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Insert a node of one output; return the output."""
        output = self.model.fresh_name(f"{op_type.lower()}_output")
        self.insert(before, onnx.helper.make_node(op_type, inputs, [output], **attributes))
        return output

    def insert(self, before: Node, *nodes: Node) -> None:
        """Insert nodes before another one of this graph."""
        for node in nodes:
            self.own.update(name for name in node.output if name)
            self.model.names.update(node.output)
            self._inserted.setdefault(id(before), []).append(node)
            self._register(node)

    def erase(self, node: Node) -> None:
        """Remove a node; its outputs are no longer defined."""
        self._unregister_uses(node)
        for child in self._subgraphs.pop(id(node), ()):
            child._detach()
        for name in node.output:
            if self.makers.get(name) is node:
                del self.makers[name]
                self.own.discard(name)
        self._erased[id(node)] = node

    def insert_first(self, node: Node) -> None:
        """Insert a node before all others."""
        self._settle()
        self._nodes.insert(0, node)
        self.own.update(node.output)
        self._register(node)

    def take_tensors(self, branch: Graph, renamed: Mapping[str, str]) -> None:
        """Take over the tensors and declarations of a subgraph, under new names."""
        for name, tensor in branch.initializers.items():
            copy = onnx.TensorProto()
            copy.CopyFrom(tensor)
            copy.name = renamed[name]
            self.initializers[copy.name] = copy
            self.own.add(copy.name)
        for sparse in branch.message.sparse_initializer:
            copy = self.message.sparse_initializer.add()
            copy.CopyFrom(sparse)
            copy.values.name = renamed[sparse.values.name]
            self.own.add(copy.values.name)
        for info in branch.message.value_info:
            self.message.value_info.add().CopyFrom(info)
            self.message.value_info[-1].name = renamed.get(info.name, info.name)
        self.forget_types()

    def forget_types(self) -> None:
        """Read the declared types again, which changed."""
        self._declared = None

    def turn_into_initializer(self, node: Node, tensor: onnx.TensorProto) -> None:
        """Replace a Constant node by an initializer of the same name."""
        name = node.output[0]
        self.erase(node)
        self.own.add(name)
        copy = onnx.TensorProto()
        copy.CopyFrom(tensor)
        copy.name = name
        self.initializers[name] = copy

    def erase_initializer(self, name: str) -> None:
        """Remove an initializer, and the input of the same name."""
        del self.initializers[name]
        self.inputs.discard(name)
        self.own.discard(name)

    def replace(self, node: Node, op_type: str, inputs: Sequence[str], **attributes: Any) -> None:
        """Replace a node by another one with its outputs, name and metadata."""
        new = onnx.helper.make_node(op_type, inputs, list(node.output), **attributes)
        new.name, new.doc_string = node.name, node.doc_string
        new.metadata_props.extend(node.metadata_props)
        self.erase(node)
        self.insert(node, new)

    def fuse(self, inner: Node, outer: Node, inputs: Sequence[str], **attributes: Any) -> Node:
        """
        Replace `outer` by a copy of `inner` with other inputs and attributes that makes `outer`'s outputs.

        `inner` goes if nothing else reads it, and its name stays.
        """
        new = onnx.NodeProto()
        new.CopyFrom(inner)
        new.input[:], new.output[:] = inputs, outer.output
        for name, value in attributes.items():
            set_attribute(new, name, value)
        if not all(self.is_used_once(name) for name in inner.output if name):
            new.name, new.doc_string = outer.name, outer.doc_string
            del new.metadata_props[:]
            new.metadata_props.extend(outer.metadata_props)
        self.erase(outer)
        self.insert(outer, new)
        self.erase_if_dead(inner)
        return new

    def erase_if_dead(self, node: Node | None) -> None:
        """Remove a node whose outputs nothing reads."""
        if node is not None and not any(self.is_used(name) for name in node.output if name):
            self.erase(node)

    def fold(self, node: Node, array: AnyArray) -> bool:
        """Replace a node of one output by a constant; return whether its output may be one."""
        name = self.add_constant(array, node.output[0])
        if not self.bypass(node, name):
            self.erase_initializer(name)
            return False
        return True

    def declare(self, name: str, type_: ValueType) -> None:
        """Declare the type of a value."""
        dims = None if type_.dims is None else list(type_.dims)
        self.message.value_info.append(onnx.helper.make_tensor_value_info(name, type_.element, dims))
        self._declared = None

    def bypass(self, node: Node, *values: str) -> bool:
        """
        Erase a node and use `values` for its outputs; return whether names of inputs and outputs allow it.

        An output of the graph keeps its name: the value that replaces it is renamed.
        """
        pairs = [
            (old, new) for old, new in zip(node.output, values, strict=False) if old and self.is_used(old)
        ]
        fixed = [pair for pair in pairs if pair[0] in self.outputs or self.captured_outputs[pair[0]]]
        if any(old in self.annotated for old, _ in pairs) or len(fixed) > 1:
            return False
        if any(new in node.output or not self._can_be_renamed(new) for _, new in fixed):
            return False
        self.erase(node)
        for old, new in pairs:
            self.redirect(old, new)
            if (old, new) in fixed:
                self.redirect(new, old)
                self._rename_definition(new, old)
        return True

    def _can_be_renamed(self, name: str) -> bool:
        if name not in self.own or name in self.inputs or name in self.outputs or name in self.annotated:
            return False
        return not self.captured_outputs[name] and (name in self.makers or name in self.initializers)

    def redirect(self, old: str, new: str) -> None:
        """Let all users of `old` read `new`."""
        target = self.owner(new) or self
        for node in self.users.pop(old, {}).values():
            node.input[:] = [new if name == old else name for name in node.input]
            target.users.setdefault(new, {})[id(node)] = node

    def _rename_definition(self, old: str, new: str) -> None:
        self.own.discard(old)
        self.own.add(new)
        if old in self.initializers:
            tensor = self.initializers.pop(old)
            tensor.name = new
            self.initializers[new] = tensor
        else:
            node = self.makers.pop(old)
            node.output[:] = [new if name == old else name for name in node.output]
            self.makers[new] = node

    def rename(self, old: str, new: str) -> None:
        """Rename a value of this graph everywhere, its declaration as input or output too."""
        infos = (*self.message.input, *self.message.output, *self.message.value_info)
        for info in infos:
            if info.name == old:
                info.name = new
        self.redirect(old, new)
        self._rename_captured_outputs(old, new)
        if old in self.makers or old in self.initializers:
            self._rename_definition(old, new)
        self.own.discard(old)
        self.own.add(new)
        self.inputs = {new if name == old else name for name in self.inputs}
        if old in self.outputs:
            self.outputs[new] += self.outputs.pop(old)
        for each in self.message.quantization_annotation:
            each.tensor_name = new if each.tensor_name == old else each.tensor_name
            for entry in each.quant_parameter_tensor_names:
                entry.value = new if entry.value == old else entry.value
        self._declared = None

    def _rename_captured_outputs(self, old: str, new: str) -> None:
        """Rename a value of an outer graph where subgraphs return it."""
        self.captured_outputs[new] += self.captured_outputs.pop(old, 0)
        for node in self._nodes:
            for child in self.subgraphs(node):
                for info in child.message.output:
                    if info.name == old and old not in child.own:
                        info.name = new
                        child.outputs[new] += child.outputs.pop(old, 0)
                child._rename_captured_outputs(old, new)

    # Bookkeeping

    def _register(self, node: Node) -> None:
        for name in node.output:
            if name:
                self.makers[name] = node
        self._register_uses(node)
        children = [Graph(message, self.model, self) for message in graphs_of(node)]
        if children:
            self._subgraphs[id(node)] = children

    def _register_uses(self, node: Node) -> None:
        for name in node.input:
            if name:
                (self.owner(name) or self).users.setdefault(name, {})[id(node)] = node

    def _unregister_uses(self, node: Node) -> None:
        for name in node.input:
            if name:
                (self.owner(name) or self).users.get(name, {}).pop(id(node), None)

    def _detach(self) -> None:
        """Drop the uses that a subgraph makes of values of outer graphs."""
        for node in self.nodes():
            self._unregister_uses(node)
            for child in self.subgraphs(node):
                child._detach()
        for name in self.outputs:
            if name not in self.own and (graph := self.owner(name)) is not None:
                graph.captured_outputs[name] -= 1

    def _settle(self) -> None:
        """Bring insertions and erasures into the list of nodes."""
        if self._inserted or self._erased:
            retained: list[Node] = []
            for node in self._nodes:
                self._emit(node, retained)
            self._nodes = retained
            self._inserted.clear()
            self._erased.clear()

    def _emit(self, node: Node, into: list[Node]) -> None:
        for inserted in self._inserted.get(id(node), ()):
            self._emit(inserted, into)
        if id(node) not in self._erased:
            into.append(node)

    def flush(self) -> None:
        """Write nodes, initializers and declarations to the message, in topological order."""
        self._settle()
        for node in self._nodes:
            for child in self.subgraphs(node):
                child.flush()
        message = self.message
        if [id(node) for node in message.node] != [id(node) for node in self._nodes]:
            del message.node[:]
            message.node.extend(self._nodes)
        outer = self.model.names if self.outer else ()
        ordered = topological_order(message, outer).nodes
        if isinstance(ordered, list):
            copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in ordered]
            del message.node[:]
            message.node.extend(copies)
        self._flush_initializers()
        for infos in (message.value_info, message.input):
            known = self.own if infos is message.value_info else self.inputs
            for index in reversed(range(len(infos))):
                if infos[index].name not in known:
                    del infos[index]

    def _flush_initializers(self) -> None:
        present = self.message.initializer
        for index in reversed(range(len(present))):
            if self.initializers.get(present[index].name) is not present[index]:
                del present[index]
        names = {tensor.name for tensor in present}
        present.extend(tensor for name, tensor in self.initializers.items() if name not in names)
