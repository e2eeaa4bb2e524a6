"""
`krnl-attach-core`: attach the core that the kernels of a module are tuned for.

```mlir
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "CPU" = #dlti.target_device_spec<"name" = "znver4", "l1_bytes" = 32768 : i64, …>>} { … }
```

Tiles and prefetch distances depend on it. Without it, kernels are for a typical core of their processor
family. `xonnc compile` attaches the host's core for the target `cpu`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.dlti import DataLayoutEntryAttr, TargetDeviceSpecAttr, TargetSystemSpecAttr
from xdsl.passes import ModulePass

from xonnc.errors import XonncError
from xonnc.targets.cores import RANGES, Core, core_of, load_core
from xonnc.targets.cpu import CpuTarget

LATER = ("bf16_bytes", "panel_prefetch_bytes", "write_prefetch_bytes", "next_panel_bytes")
"""Properties that IR of older versions does not have; they are 0 there."""

SPEC, DEVICE, NAME = "dlti.target_system_spec", "CPU", "name"


@dataclass(frozen=True)
class KrnlAttachCore(ModulePass):
    """Attach a core to a module, with its cache sizes overridden as given."""

    name = "krnl-attach-core"

    core: str = "generic"
    bf16_bytes: int | None = None
    l1_bytes: int | None = None
    l1_ways: int | None = None
    l2_bytes: int | None = None
    l2_ways: int | None = None
    l3_bytes: int | None = None
    l3_ways: int | None = None
    line_bytes: int | None = None
    prefetch_bytes: int | None = None
    panel_prefetch_bytes: int | None = None
    write_prefetch_bytes: int | None = None
    next_panel_bytes: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Set the attribute of the module."""
        given = {key: getattr(self, key, None) for key in RANGES}
        attach_core(op, replace(load_core(self.core), **{k: v for k, v in given.items() if v is not None}))


def attach_core(module: ModuleOp, core: Core) -> None:
    """Set the core that the kernels of a module are for."""
    module.attributes[SPEC] = _spec_of(core)


@lru_cache
def _spec_of(core: Core) -> TargetSystemSpecAttr:
    """Return the attribute of a core; verifying a new one takes as long as importing a small model."""
    entries = [DataLayoutEntryAttr(NAME, StringAttr(core.name))]
    entries += [DataLayoutEntryAttr(key, IntegerAttr(getattr(core, key), i64)) for key in RANGES]
    device = TargetDeviceSpecAttr.new([ArrayAttr(entries)])
    return TargetSystemSpecAttr.new([ArrayAttr([DataLayoutEntryAttr(DEVICE, device)])])


def attached_core(module: ModuleOp) -> Core | None:
    """
    Return the core that a module is for, or None.

    Raises XonncError for invalid values.
    """
    spec = module.attributes.get(SPEC)
    return _core_of(spec) if isinstance(spec, TargetSystemSpecAttr) else None


def _core_of(spec: TargetSystemSpecAttr) -> Core | None:
    device = next((entry.value for entry in spec.entries if entry.key == StringAttr(DEVICE)), None)
    if not isinstance(device, TargetDeviceSpecAttr):
        return None
    values = {entry.key.data: entry.value for entry in device.entries if isinstance(entry.key, StringAttr)}
    name = values.get(NAME)
    numbers: dict[str, int] = {}
    for key in RANGES:
        value = values.get(key, IntegerAttr(0, i64) if key in LATER else None)
        if not isinstance(value, IntegerAttr):
            raise XonncError(f"{SPEC}: {key} is an integer attribute, found {value or 'none'}")
        numbers[key] = value.value.data
    called = name.data if isinstance(name, StringAttr) else DEVICE
    return core_of(called, {"description": "", **numbers}, SPEC)


def on_core(target: CpuTarget, module: ModuleOp) -> CpuTarget:
    """Return a processor family with the core that a module is for."""
    core = attached_core(module)
    return target if core is None else replace(target, core=core)
