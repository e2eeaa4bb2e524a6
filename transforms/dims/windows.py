"""Sizes of convolutions, pools and regions."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import Forms, Node, Partly, sizes_of
from xonnc.transforms.dims.expressions import ONE, Form
from xonnc.transforms.shapes.convolution import steps
from xonnc.transforms.shapes.inference_context import UNKNOWN, Shape


@sizes_of("Conv", "ConvInteger", "QLinearConv")
def conv(node: Node) -> Sequence[Partly | None]:
    """N, the number of filters, and one size for every place of the window."""
    weight = 3 if node.site.name == "QLinearConv" else 1
    data, filters = node.sizes(0), node.sizes(weight)
    if data is None or filters is None or len(data) != len(filters):
        return []
    groups = Form(node.site.integer("group", 1))
    node.equal.append((data[1], node.symbols.product([filters[1], groups])))
    kernel = node.site.integers("kernel_shape") or (node.site.shape(weight) or ())[2:]
    return [(data[0], filters[0], *_windows(node, data[2:], kernel))]


@sizes_of("AveragePool", "LpPool", "MaxPool", "MaxPoolSingleOut")
def pool(node: Node) -> Sequence[Partly | None]:
    """N, C, and one size for every place of the window."""
    data, kernel = node.sizes(0), node.site.integers("kernel_shape") or ()
    if data is None or len(kernel) != len(data) - 2:
        return []
    return [(*data[:2], *_windows(node, data[2:], kernel))] * 2


@sizes_of("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool")
def global_pool(node: Node) -> Sequence[Partly | None]:
    """N, C, and 1 for every other axis."""
    data = node.sizes(0)
    return [] if data is None else [(*data[:2], *(ONE for _ in data[2:]))]


@sizes_of("ConvTranspose")
def conv_transpose(node: Node) -> Sequence[Partly | None]:
    """N, the number of filters times groups, and stride (size - 1) + window for every axis."""
    data, filters, site = node.sizes(0), node.sizes(1), node.site
    if data is None or filters is None or len(data) != len(filters):
        return []
    axes = len(data) - 2
    node.equal.append((data[1], filters[0]))
    channels = node.symbols.product([filters[1], Form(site.integer("group", 1))])
    kernel = site.integers("kernel_shape") or (site.shape(1) or ())[2:]
    auto_pad = site.text("auto_pad", "NOTSET")
    if site.integers("output_shape") or auto_pad.startswith("SAME"):
        return [(data[0], channels, *(None for _ in data[2:]))]
    strides, dilations = steps(site, "strides", axes), steps(site, "dilations", axes)
    extra = site.integers("output_padding") or (0,) * axes
    pads = (site.integers("pads") if auto_pad != "VALID" else None) or (0,) * (2 * axes)
    sizes: list[Form | None] = []
    for axis, size in enumerate(data[2:]):
        window = (kernel[axis] - 1) * dilations[axis] + 1
        rest = extra[axis] + window - pads[axis] - pads[axis + axes] - strides[axis]
        sizes.append(None if kernel[axis] == UNKNOWN else size * Form(strides[axis]) + Form(rest))
    return [(data[0], channels, *sizes)]


@sizes_of("RoiAlign", "RoiAlignV10")
def roi_align(node: Node) -> Sequence[Partly | None]:
    """An image of every region, all channels, of the size that is said; every region has an image."""
    data, regions, images = (node.sizes(place) for place in range(3))
    if data is None or regions is None or images is None:
        return []
    node.equal.append((images[0], regions[0]))
    sizes = (Form(node.site.integer(f"output_{name}", 1)) for name in ("height", "width"))
    return [(regions[0], data[1], *sizes)]


def _windows(node: Node, sizes: Forms, kernel: Shape) -> list[Form | None]:
    """How often the window fits along each axis, where windows that do not fit whole do not count."""
    site, axes = node.site, len(sizes)
    strides, dilations = steps(site, "strides", axes), steps(site, "dilations", axes)
    auto_pad = site.text("auto_pad", "NOTSET")
    pads = (site.integers("pads") if auto_pad in ("NOTSET", "") else None) or (0,) * (2 * axes)
    found: list[Form | None] = []
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        room = size + Form(pads[axis] + pads[axis + axes] - (kernel[axis] - 1) * dilations[axis] - 1)
        if auto_pad.startswith("SAME"):
            found.append(node.symbols.floor(size + Form(stride - 1), stride))
        elif kernel[axis] == UNKNOWN or (site.integer("ceil_mode") and stride > 1):
            found.append(None)
        else:
            found.append(node.symbols.floor(room, stride) + ONE)
    return found
