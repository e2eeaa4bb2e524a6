"""Compile LLVM IR to machine code and load it in this process, by llvmlite."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from ctypes import CFUNCTYPE, c_int, c_void_p
from functools import cache
from importlib import import_module
from typing import NamedTuple, Protocol
from weakref import finalize

from xonnc.errors import XonncError

Entry = Callable[[int], None]
"""A compiled function that takes the address of the table of pointers."""


class _TargetMachine(Protocol):
    def emit_object(self, module: object) -> bytes: ...


class _Target(Protocol):
    def create_target_machine(
        self, *, cpu: str, features: str, opt: int, reloc: str, codemodel: str
    ) -> _TargetMachine: ...


class _PassManager(Protocol):
    def run(self, IR: object, pb: object) -> None: ...


class _PassBuilder(Protocol):
    def getModulePassManager(self) -> _PassManager: ...


class _Features(Protocol):
    def flatten(self) -> str: ...
    def items(self) -> list[tuple[str, bool]]: ...


class _Engine(Protocol):
    def add_object_file(self, obj_file: object) -> None: ...
    def get_function_address(self, name: str) -> int: ...


class _TargetClass(Protocol):
    def from_default_triple(self) -> _Target: ...
    def from_triple(self, triple: str) -> _Target: ...


class _ObjectFileClass(Protocol):
    def from_data(self, data: bytes) -> object: ...


class _Binding(Protocol):
    """The part of `llvmlite.binding` in use, which has no type annotations."""

    Target: _TargetClass

    def initialize_native_target(self) -> None: ...
    def initialize_native_asmprinter(self) -> None: ...
    def initialize_native_asmparser(self) -> None: ...
    def initialize_all_targets(self) -> None: ...
    def initialize_all_asmprinters(self) -> None: ...
    def get_default_triple(self) -> str: ...
    def get_host_cpu_name(self) -> str: ...
    def get_host_cpu_features(self) -> _Features: ...
    def parse_assembly(self, text: str) -> object: ...
    def create_pipeline_tuning_options(self, speed_level: int) -> object: ...
    def create_pass_builder(self, tm: object, pto: object) -> _PassBuilder: ...
    def create_mcjit_compiler(self, module: object, machine: _TargetMachine) -> _Engine: ...
    @property
    def ObjectFileRef(self) -> _ObjectFileClass: ...


@cache
def _binding() -> _Binding:
    import_module("llvmlite.binding")
    binding: _Binding = import_module("llvmlite").binding
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@cache
def host_features() -> frozenset[str]:
    """Return the features of this processor, by LLVM's names."""
    return frozenset(name for name, has in _binding().get_host_cpu_features().items() if has)


@cache
def host_name() -> str:
    """Return LLVM's name for this processor."""
    return _binding().get_host_cpu_name()


@cache
def _host_flags() -> str:
    """Return the features of this processor as LLVM takes them."""
    return _binding().get_host_cpu_features().flatten()


def is_foreign(triple: str) -> bool:
    """Whether `triple` names another architecture than that of this machine."""
    return bool(triple) and triple.split("-")[0] != _binding().get_default_triple().split("-")[0]


MIDDLE_END = 3
"""
The lowest level at which LLVM's middle-end passes run.

They gain little and cost compile time: kernels are vectorised and tiled before.
"""


def object_code(text: str, features: Sequence[str] | None, triple: str = "", level: int = 2) -> bytes:
    """
    Compile LLVM IR to a position-independent object file at optimization `level` 0 to 3.

    The target is this processor, or a generic one with `features`; another architecture if `triple` names
    one. Module assembly is supported for the architecture of this machine only.
    """
    binding = _binding()
    if is_foreign(triple):
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        target = binding.Target.from_triple(triple)
    else:
        binding.initialize_native_asmparser()
        target = binding.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=host_name() if features is None else "",
        features=_host_flags() if features is None else ",".join(f"+{feature}" for feature in features),
        opt=level,
        reloc="pic",
        codemodel="default",
    )
    return _emitted(binding, machine, text, level)


def _emitted(binding: _Binding, machine: _TargetMachine, text: str, level: int) -> bytes:
    module = binding.parse_assembly(text)
    if level >= MIDDLE_END:
        builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(level))
        builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def _host_machine(binding: _Binding, level: int) -> _TargetMachine:
    """Return a new description of this processor, for an owner of its own."""
    return binding.Target.from_default_triple().create_target_machine(
        cpu=host_name(),
        features=_host_flags(),
        opt=level,
        reloc="default",
        codemodel="jitdefault",
    )


@cache
def _shared_machine(level: int) -> _TargetMachine:
    """Return the description of this processor that makes object files; a new one takes a millisecond."""
    return _host_machine(_binding(), level)


def host_identity() -> str:
    """Return name and features of this processor, as the key for machine code compiled for it."""
    return f"{host_name()} {_host_flags()}"


def machine_code(text: str, level: int = 2) -> bytes:
    """
    Compile LLVM IR to an object file for `Code`, at optimization `level` 0 to 3.

    LLVM's middle-end passes run at level 3 only (docs/internals/cpu-kernels.md §4.4).
    """
    binding = _binding()
    return _emitted(binding, _shared_machine(level), text, level)


class Threads(NamedTuple):
    """The number of threads that code is compiled for, and of those that run."""

    compiled: int = 1
    started: int = 1


ONE_THREAD = Threads()


class Code:
    """Machine code loaded in this process; it is unloaded with this object."""

    def __init__(self, code: bytes, names: Mapping[str, object], threads: Threads = ONE_THREAD) -> None:
        """
        Load an object file of `machine_code` and resolve the functions `names`.

        Code for several threads contains a thread pool, which is started here and stopped with this object.
        Raises `XonncError` if the system cannot create the threads.
        """
        binding = _binding()
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _host_machine(binding, 2))
        # Linked by the first look-up; `finalize_object` would compile the empty module too, a millisecond.
        self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
        kind = CFUNCTYPE(None, c_void_p)
        self.entries: dict[str, Entry] = {
            name: kind(self._engine.get_function_address(name)) for name in names
        }
        if threads.compiled > 1:
            start = CFUNCTYPE(c_int, c_int)(self._engine.get_function_address("pool_start"))
            stop = CFUNCTYPE(None)(self._engine.get_function_address("pool_stop"))
            started = start(threads.started)
            # The finalizer refers to the engine, so that the code is not unloaded before its threads end.
            finalize(self, _stop_threads, stop, self._engine, os.getpid())
            if started != threads.started:
                raise XonncError(
                    f"threads: the system gives {started}, {threads.started} were asked for; use fewer"
                )

    def has(self, name: str) -> bool:
        """Whether the code has a function of this name."""
        return self._engine.get_function_address(name) != 0


def _stop_threads(stop: Callable[[], None], engine: _Engine, process: int) -> None:
    # A forked child has none of the threads: joining them would block forever.
    if os.getpid() == process:
        stop()
