"""A pass with an option that asks for smaller values until they fit."""

from xonnc.plugin import Context, IntegerAttr, ModuleOp, Plugin, RetryError, i64, module_pass

plugin = Plugin("tiling", version="1.0")


@module_pass(plugin, name="fit-tiles")
def fit_tiles(module: ModuleOp, context: Context, tile: int = 64, buffer: int = 16) -> None:
    """Writes the largest `tile`, divided by 2 as often as needed, that fits the `buffer`."""
    module.attributes["tiling.tile"] = IntegerAttr(tile, i64)
    if tile > buffer:
        raise RetryError(f"{tile} rows do not fit {buffer}", tile=tile // 2)
