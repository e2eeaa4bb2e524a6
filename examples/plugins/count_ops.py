"""A pass: writes how many operators a module has into an attribute of the module."""

from xonnc.plugin import Context, IntegerAttr, ModuleOp, Plugin, i64, module_pass

plugin = Plugin("counting", version="1.0")


@module_pass(plugin, name="count-ops")
def count_ops(module: ModuleOp, context: Context) -> None:
    """Writes the number of ops as the attribute `counting.ops` of the module."""
    module.attributes["counting.ops"] = IntegerAttr(sum(1 for _ in module.walk()), i64)


@module_pass(plugin, name="count-simplified-ops", after="simplified")
def count_simplified_ops(module: ModuleOp, context: Context) -> None:
    """Writes the number of ops of a simplified model as the attribute `counting.simplified`."""
    module.attributes["counting.simplified"] = IntegerAttr(sum(1 for _ in module.walk()), i64)
