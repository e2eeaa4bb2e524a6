"""Sessions: a model compiled for the shapes of each run, with the disk cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from importlib.metadata import version
from mmap import ACCESS_READ, mmap
from pathlib import Path
from weakref import finalize

import onnx
from xdsl.dialects.builtin import ModuleOp

from xonnc.contexts import new_context
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.multiplications import multiplications_by_node
from xonnc.errors import XonncError, suggest
from xonnc.formats.native.program import NativeStep
from xonnc.formats.native.program_json import is_serializable
from xonnc.formats.native.stored_program import StoredProgram
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import overridable_inputs
from xonnc.formats.onnx.known_operators import require_known_operators
from xonnc.formats.onnx.load_model import load
from xonnc.formats.onnx.payload_extraction import PayloadMarkers, without_payloads
from xonnc.formats.onnx.save_model import serialized
from xonnc.native_compilation import (
    CompileOptions,
    compile_program,
    measured_tiles,
    release_constants,
    resolve_processor,
)
from xonnc.rewriting.extensions import identities
from xonnc.runtime.native.cache import Cache, cache_key, open_cache
from xonnc.runtime.native.instance import Executable
from xonnc.runtime.native.jit import Code, Threads, host_identity
from xonnc.runtime.native.onnxruntime_api import ModelMetadata
from xonnc.runtime.native.session import InputShapes, InputValues, Session, SessionSource
from xonnc.simplifier import simplify, specialize_shapes
from xonnc.transforms.declared_types import with_claims
from xonnc.transforms.models.signatures import set_input_values
from xonnc.transforms.optimization_levels import (
    Passes,
)
from xonnc.transforms.shape_inference_onnx import correct_shapes
from xonnc.transforms.simplify_onnx import Simplification


def open_session(
    model: str | Path | onnx.ModelProto, options: CompileOptions, target: str = "cpu", cache: bool = True
) -> Session:
    """
    Return a session that compiles a model for the input shapes of each run, once.

    Parameters:
        model: the path of the model, or the model in memory.
        options: the options of code generation.
        target: the target that the options are for.
        cache: whether compiled code is kept in the disk cache and read from it.

    Returns: the session.

    Raises: `XonncError` for a file that is not a model, or an invalid one.
    """
    store = open_cache() if cache else None
    source = _Source(model, target, cache, options)

    def session(fed: frozenset[str] = frozenset()) -> Session:
        def undeclared() -> Session:
            return Session(_Compiler(model, options, store, fed, believes_declared=False))

        inputs = with_inputs if not fed else None
        return Session(_Compiler(model, options, store, fed), inputs, undeclared, source)

    def with_inputs(names: frozenset[str]) -> Session:
        return session(_require_overridable(model, names))

    return session()


@dataclass(frozen=True)
class _Source(SessionSource):
    """The model of a session and its options."""

    model: str | Path | onnx.ModelProto
    target: str
    cache: bool
    options: CompileOptions

    def for_debugging(self) -> Session:
        # Level 0 fuses and removes nothing that has a name.
        module = simplify(self.model, inline_functions=True, level=0).module
        proto = export_proto(module)
        known = {output.name for output in proto.graph.output}
        proto.graph.output.extend(info for info in proto.graph.value_info if info.name not in known)
        plain = CompileOptions(
            self.options.processor, self.options.threads, level=0, tiles=self.options.tiles
        )
        return open_session(proto, plain, self.target, self.cache)

    def multiplications(self, shapes: InputShapes) -> Mapping[str, int]:
        try:
            module = simplify(
                self.model,
                input_shapes=shapes,
                inline_functions=True,
                level=self.options.level,
                enable_pass=self.options.enable_pass,
                disable_pass=self.options.disable_pass,
            ).module
        except XonncError:
            # Other inputs than the shapes may decide whether a model is valid.
            return {}
        return multiplications_by_node(module)

    def write_code(self, path: Path) -> list[Path]:
        from xonnc.artifacts import compile_artifact

        options = self.options
        written = compile_artifact(
            self.model,
            path,
            self.target,
            unsafe=options.unsafe,
            level=options.level,
            enable_pass=options.enable_pass,
            disable_pass=options.disable_pass,
            tuning=bool(options.tiles),
            layouts=options.layouts,
        )
        return list(written.files)

    def metadata(self) -> ModelMetadata:
        proto = self.model if isinstance(self.model, onnx.ModelProto) else load(self.model).proto
        return ModelMetadata(
            proto.producer_name,
            proto.graph.name,
            proto.domain,
            proto.doc_string,
            proto.graph.doc_string,
            proto.model_version,
            {entry.key: entry.value for entry in proto.metadata_props},
        )

    def pickled(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        model = self.model
        if isinstance(model, onnx.ModelProto):
            written = serialized(model)
            if written is None:
                raise XonncError(
                    "sessions of a model in memory of more than 2 GB cannot be pickled; "
                    "write it with external data, and compile the file"
                )
            model = written
        elif (content := Path(model).read_bytes()) and not _may_have_external_data(content):
            model = content
        else:
            # Weights in another file are found by the path.
            model = str(Path(model).resolve())
        return _unpickled, (model, self.target, self.cache, self.options)


def _unpickled(model: bytes | str, target: str, cache: bool, options: CompileOptions) -> Session:
    loaded = onnx.load_model_from_string(model) if isinstance(model, bytes) else model
    # Of the processor and the measured tiles of the machine at hand.
    here = replace(
        options, processor=resolve_processor(target), tiles=measured_tiles(target, bool(options.tiles))
    )
    return open_session(loaded, here, target, cache)


def _require_overridable(model: str | Path | onnx.ModelProto, names: frozenset[str]) -> frozenset[str]:
    """Return the names, or raise `XonncError` if one is not an input with a default value."""
    proto = model if isinstance(model, onnx.ModelProto) else load(model).proto
    known = overridable_inputs(proto)
    for name in sorted(names):
        if name not in known:
            inputs = [info.name for info in proto.graph.input]
            raise XonncError(
                f"no input '{name}'{suggest(name, inputs)}; there are {', '.join(inputs) or 'none'}"
            )
    return names


class _Compiler:
    """
    Compile a model for given input shapes and values of its shape-determining inputs.

    Simplification that does not depend on the inputs is done once; each program starts from a copy of that
    module. Prepacked weights are shared by all programs.
    """

    def __init__(
        self,
        model: str | Path | onnx.ModelProto,
        options: CompileOptions,
        cache: Cache | None,
        fed: frozenset[str] = frozenset(),
        believes_declared: bool = True,
    ) -> None:
        self._model = model
        self._fed = fed
        """Inputs with a default that are given all the same."""
        self._believes_declared = believes_declared
        """Whether sizes that only the model says are taken, to be checked by each run."""
        self._options = options
        self._cache = cache
        self._context = new_context()
        """Holds constants as kernels read them, for all programs."""
        self._digest = None if cache is None else _digest(model)
        self._fingerprint = None if self._digest is None else _fingerprint(model)

    def __call__(self, shapes: InputShapes, values: InputValues) -> Executable:
        threads = Threads(self._options.threads, self._options.threads)
        if self._cache is None or self._digest is None:
            return load_executable(self._compiled(shapes, values), threads)
        key = _key(
            self._digest, shapes, values, f"{self._options} {sorted(self._fed)} {self._believes_declared}"
        )
        found = self._cache.get(key)
        if found is None:
            found = self._compiled(shapes, values)
            # A file that has changed since is another model.
            if (
                is_serializable(found.program, allow_models=True)
                and _fingerprint(self._model) == self._fingerprint
            ):
                self._cache.put(key, found)
        return load_executable(found, threads)

    def _compiled(self, shapes: InputShapes, values: InputValues) -> StoredProgram:
        module = self._simplified
        if values:
            # Before shapes: a branch that is not taken need not fit them.
            module = with_claims(partial(_specialize_values, module, values, self._options.passes))
        module = specialize_shapes(module, shapes, self._options.passes) if shapes else module.clone()
        return compile_program(module, self._options, self._context)

    @cached_property
    def _simplified(self) -> ModuleOp:
        """The simplified model, before it is specialised."""
        module = simplify(
            self._model,
            inline_functions=True,
            fold_overridable=True,
            without_defaults=self._fed,
            declared="checked" if self._believes_declared else "ignored",
            level=self._options.level,
            enable_pass=self._options.enable_pass,
            disable_pass=self._options.disable_pass,
            drops_branches=True,
            layouts=self._options.layouts,
        ).module
        require_known_operators(module)
        finalize(self, release_constants, module).atexit = False
        return module


def _specialize_values(module: ModuleOp, values: InputValues, passes: Passes, corrects: bool) -> ModuleOp:
    """Return a copy of a module in which shape-determining inputs are constants."""
    context, copy = new_context(), module.clone()
    set_input_values(copy, values, DisposablePool.of(context))
    if corrects:
        correct_shapes(copy)
    Simplification(copy, context, passes).run()
    return copy


def _key(digest: str, shapes: InputShapes, values: InputValues, options: str) -> str:
    """Return the cache key: everything that the generated code depends on."""
    numbers = repr({name: (str(value.dtype), value.tobytes()) for name, value in values.items()})
    compiler = f"{version('xonnc')} {identities()}"
    parts = (compiler, host_identity(), options, repr(sorted(shapes.items())), numbers, digest)
    return cache_key(part.encode() for part in parts)


def _digest(model: str | Path | onnx.ModelProto) -> str | None:
    """Return the SHA-256 of a model; `None` with external data or more than 2 GB, which is not cached."""
    if isinstance(model, onnx.ModelProto):
        content = serialized(model)
        return None if content is None or _may_have_external_data(content) else sha256(content).hexdigest()
    if not Path(model).is_file() or not Path(model).stat().st_size:
        return None
    with Path(model).open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as mapped:
        return None if _may_have_external_data(mapped) else sha256(mapped).hexdigest()


def _fingerprint(model: str | Path | onnx.ModelProto) -> tuple[int, int] | None:
    """Return the modification time and size of a model file, or the size of a model in memory."""
    if isinstance(model, onnx.ModelProto):
        return model.ByteSize(), 0
    if not Path(model).is_file():
        return None
    state = Path(model).stat()
    return state.st_mtime_ns, state.st_size


def _may_have_external_data(content: bytes | mmap) -> bool:
    """
    Return whether a serialised model may contain `TensorProto.external_data`.

    It searches for the key `location` in the message without its payloads: false positives are harmless (the
    model is not cached). So are bytes that are not a model, which the compiler reports.
    """
    with memoryview(content) as view:
        try:
            # Payloads are most of a model, and hold no locations.
            return b"location" in without_payloads(view, PayloadMarkers())
        except XonncError:
            return True


def load_executable(stored: StoredProgram, threads: Threads) -> Executable:
    """
    Return a program with its machine code loaded.

    Parameters:
        stored: the program.
        threads: the threads that it is compiled for, and those that are started.
    """
    if not stored.code:
        return Executable(stored.program, {}, None, stored.shape_determining, threads=threads)
    names = {step.function: step for step in stored.program.walk_steps() if isinstance(step, NativeStep)}
    code = Code(stored.code, names, threads)
    return Executable(stored.program, code.entries, code, stored.shape_determining, stored.code, threads)
