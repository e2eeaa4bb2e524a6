"""
Rules of what operations touch in memory: addresses, alignment, strides, extents
(docs/internals/nvdla-hardware.md §3.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xonnc.formats.nvdla.accesses import Access, Region
from xonnc.formats.nvdla.enumerations import MemoryDomain
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.tasks import Address
from xonnc.targets import NvdlaTarget


def addresses_exist(
    touched: Sequence[Access], addresses: tuple[Address, ...], loadable: Loadable, target: NvdlaTarget
) -> Iterator[str]:
    """The address index of a cube in memory is one of its task's address list."""
    for access in touched:
        if not 0 <= access.address < len(addresses):
            yield f"{access.field} address {access.address}; the task has {len(addresses)} addresses"


def cubes_are_aligned(
    touched: Sequence[Access], addresses: tuple[Address, ...], loadable: Loadable, target: NvdlaTarget
) -> Iterator[str]:
    """Addresses and strides are multiples of the memory atom; the hardware ignores the low bits (§3.2)."""
    atom = target.memory_atom_bytes
    for access in touched:
        region = access.region(addresses)
        if region is not None and region.begin % atom and not access.is_padding:
            yield f"{access.field} begins at byte {region.begin} of its memory; it is a multiple of {atom}"
        for step in access.steps:
            if step.stride % atom:
                yield f"{access.field} {step.field} {step.stride}; it is a multiple of {atom}"


def strides_cover_extents(
    touched: Sequence[Access], addresses: tuple[Address, ...], loadable: Loadable, target: NvdlaTarget
) -> Iterator[str]:
    """
    The line stride covers a line's pixels, the surface stride a surface's lines, the batch stride an
    image's surfaces; or the surface stride a line's pixels, and the line stride a line of all surfaces.
    """
    for access in touched:
        extent = access.run
        for step in sorted(access.steps, key=lambda step: step.stride):
            if step.times > 1 and step.stride < extent:
                yield f"{access.field} {step.field} {step.stride}; what it steps over has {extent} bytes"
                break
            extent += (step.times - 1) * step.stride


def cubes_are_in_memory(
    touched: Sequence[Access], addresses: tuple[Address, ...], loadable: Loadable, target: NvdlaTarget
) -> Iterator[str]:
    """A cube does not exceed its memory object."""
    for access, region in _placed(touched, addresses, loadable):
        size = loadable.memories[region.memory].size
        if region.begin < 0 or region.end > size:
            yield (
                f"{access.field} reaches from byte {region.begin} to {region.end}; memory {region.memory} "
                f"has {size} bytes"
            )


def cubes_name_their_memory(
    touched: Sequence[Access], addresses: tuple[Address, ...], loadable: Loadable, target: NvdlaTarget
) -> Iterator[str]:
    """The type of a cube is that of its memory object: an engine has an interface to each memory."""
    for access, region in _placed(touched, addresses, loadable):
        domain = loadable.memories[region.memory].domain
        if access.on_chip != (domain == MemoryDomain.SRAM):
            found, allowed = int(access.on_chip), int(not access.on_chip)
            yield f"{access.field}.type {found}; memory {region.memory} of domain {domain} needs {allowed}"


def cubes_keep_off_descriptors(
    touched: Sequence[Access], addresses: tuple[Address, ...], loadable: Loadable, target: NvdlaTarget
) -> Iterator[str]:
    """
    Memory objects with descriptors contain no cubes; address 0, for example, is the network
    descriptor.
    """
    for access, region in _placed(touched, addresses, loadable):
        name = loadable.descriptor_names[region.memory]
        if name is not None:
            yield f"{access.field} address {access.address}; that is memory {region.memory} of '{name}'"


def _placed(
    touched: Sequence[Access], addresses: tuple[Address, ...], loadable: Loadable
) -> Iterator[tuple[Access, Region]]:
    """Yield the accesses whose memory object exists, with the region that they touch."""
    for access in touched:
        region = access.region(addresses)
        if region is not None and region.memory < len(loadable.memories):
            yield access, region


CUBE_RULES = (
    addresses_exist,
    cubes_are_aligned,
    strides_cover_extents,
    cubes_are_in_memory,
    cubes_name_their_memory,
    cubes_keep_off_descriptors,
)
