"""
Plug-ins: operators, rules and passes in a file or package of your own.

    from xonnc.plugin import Plugin, attribute, broadcast, one, operator, variadic

    plugin = Plugin("acme", version="1.0")

    @operator(plugin, domain="com.acme", name="AddN")
    class AddN:
        inputs = variadic("T", at_least=1)
        outputs = one("T")
        scale = attribute(float, default=1.0)

        def infer(op): return broadcast(*op.inputs)
        def reference(op, *arrays): return op.scale * sum(arrays)
        def decompose(op, b): return b.Mul(b.Add(*op.inputs), op.scale)

`xonnc compile model.onnx -o model.so --plugin addn.py` compiles models with it; `xonnc plugins check addn.py`
holds `infer`, `decompose` and `reference` against each other.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64

from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.passes import DIALECTS, PASSES
from xonnc.plugins.backend_declarations import Backend
from xonnc.plugins.backend_nodes import BackendNode, NodeRefused, constant_of
from xonnc.plugins.backends import backend
from xonnc.plugins.builder import Builder, Value
from xonnc.plugins.c_sources import c_function
from xonnc.plugins.declarations import attribute, one, optional, type_variables, variadic
from xonnc.plugins.layer_builder import FeatureCube, LayerBuilder
from xonnc.plugins.layout_preferences import layout_preference
from xonnc.plugins.module_passes import module_pass
from xonnc.plugins.operators import Plugin, PluginError, operator
from xonnc.plugins.registration import register, registered
from xonnc.plugins.rewrites import ops, rewrite
from xonnc.plugins.types import Dim, TensorType, broadcast
from xonnc.rewriting.extensions import reserve_dialects, reserve_passes
from xonnc.rewriting.pass_retry import RetryError
from xonnc.rewriting.patterns import attr, const, one_use, rest, value

__all__ = [
    "Backend",
    "BackendNode",
    "Builder",
    "Context",
    "Dim",
    "FeatureCube",
    "IntegerAttr",
    "LayerBuilder",
    "ModuleOp",
    "NodeRefused",
    "Plugin",
    "PluginError",
    "RetryError",
    "Scalar",
    "StringAttr",
    "TensorType",
    "Value",
    "attr",
    "attribute",
    "backend",
    "broadcast",
    "c_function",
    "const",
    "constant_of",
    "i64",
    "layout_preference",
    "module_pass",
    "one",
    "one_use",
    "operator",
    "ops",
    "optional",
    "register",
    "registered",
    "rest",
    "rewrite",
    "type_variables",
    "value",
    "variadic",
]

reserve_passes(PASSES)
reserve_dialects((*DIALECTS, "builtin", "func", "tosa"))
