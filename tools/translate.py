"""`onnx-translate`: convert between formats, chosen by file name, without optimization."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NoReturn, TypeAlias, get_args

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write, require_writable
from xonnc.formats.input_files import record_input
from xonnc.tools.pass_flags import suggest_pass
from xonnc.tools.peer_flags import peer_flags
from xonnc.tools.peer_settings import take_peer_flags
from xonnc.tools.plugin_options import take_plugin_options
from xonnc.tools.process import Exit, run
from xonnc.tools.signature_options import signature_of
from xonnc.tools.usage import UsageError

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from xonnc.formats.onnx.import_options import ImportOptions
    from xonnc.tools.peer_settings import PeerSettings
    from xonnc.transforms.models.signatures import Signature

Format: TypeAlias = Literal["onnx", "onnxtxt", "json", "mlir", "nvdla", "txt"]

FORMATS: tuple[Format, ...] = get_args(Format)

_SUFFIXES: dict[str, Format] = {".onnxtext": "onnxtxt", **{f".{name}": name for name in FORMATS}}

_MODELS = ("onnx", "onnxtxt", "json")

TRANSLATIONS: dict[Format, tuple[Format, ...]] = {
    "onnx": ("mlir", "onnx", "onnxtxt", "json"),
    "onnxtxt": ("mlir", "onnx", "onnxtxt", "json"),
    "json": ("mlir", "onnx", "onnxtxt", "json"),
    "mlir": ("onnx", "onnxtxt", "json", "mlir", "nvdla"),
    "nvdla": ("txt",),
}
"""The output formats of each input format; the first is the one for standard output."""

STDIN = "-"

EMITTED = peer_flags()["EmitONNXIR"].spellings
"""onnx-mlir's options for what to write."""

IMPORT_OPTIONS = (
    "allowSorting",
    "functions-to-decompose",
    "invokeOnnxVersionConverter",
    "useOnnxModelTypes",
)
"""onnx-mlir's options for what is done to a model before it is imported."""

EPILOG = """formats, by file name or --from and --to:
  .onnx .onnxtxt .json <-> .mlir      models and IR, names kept as locations
  .mlir -> .nvdla                     a scheduled and allocated dla module as a loadable
  .nvdla -> .txt                      a loadable spelled out

Options of onnx-mlir about imports are taken too: docs/peer-flags.md.

  onnx-translate a.onnx | onnx-opt --canonicalize --mlir-print-debuginfo | onnx-translate -o b.onnx"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


@dataclass(frozen=True)
class Translation:
    """A translation as requested on the command line."""

    source: str
    target: str
    source_format: Format | None
    target_format: Format | None
    external_data: str | None
    threshold: int
    locations: bool
    elide_larger: int | None
    inline_functions: bool
    hardware: str
    """The target of the compiler that a loadable is for."""
    import_options_of: ImportOptions | None = None
    """Preprocessing of a model before its import."""
    signature: Signature | None = None
    """Shapes and dimension names that the inputs get."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; `argv` excludes the program name."""
    arguments = sys.argv[1:] if argv is None else argv

    def work() -> int:
        try:
            return _work(arguments)
        except UsageError as error:
            print(f"onnx-translate: {error}; see 'onnx-translate --help'", file=sys.stderr)
            return Exit.USAGE

    return run("onnx-translate", work, arguments)


def _work(arguments: Sequence[str]) -> int:
    parser = make_parser()
    arguments = take_plugin_options(arguments)
    peer, arguments = take_peer_flags(arguments, "onnx-translate")
    # A value only after '=': `--external-data model.onnx` must not take the model for the file's name.
    arguments = ["--external-data=" if argument == "--external-data" else argument for argument in arguments]
    args = parser.parse_args(arguments)
    if args.help:
        print(parser.format_help(), end="")
        return Exit.DONE
    if args.version:
        print(f"onnx-translate {version('xonnc')} (xdsl {version('xdsl')}, onnx {version('onnx')})")
        return Exit.DONE
    emitted = peer.chosen(EMITTED)
    if emitted not in (None, "EmitONNXBasic"):
        raise UsageError(
            "--EmitONNXIR: onnx-translate optimises nothing; 'xonnc emit' runs the passes of the ONNX level"
            if emitted == "EmitONNXIR"
            else f"--{emitted}: onnx-translate makes no code; 'xonnc emit' does"
        )
    if emitted and args.target_format is None and _format_of(args.output) is None:
        args.target_format = "mlir"
    external_data = args.external_data
    if external_data == "":
        external_data = f"{Path(args.output).name}.data"
    translate(
        Translation(
            source=args.input,
            target=args.output,
            source_format=args.source_format,
            target_format=args.target_format,
            external_data=external_data,
            threshold=args.external_data_threshold,
            locations=not args.no_locations and peer.on("preserveLocations", default=True),
            elide_larger=args.mlir_elide_elementsattrs_if_larger,
            inline_functions=args.inline_functions,
            hardware=args.target,
            import_options_of=import_options_of(peer),
            signature=signature_of(peer),
        )
    )
    return Exit.DONE


def import_options_of(peer: PeerSettings) -> ImportOptions | None:
    """Return the values of onnx-mlir's import options; `None` if none is given."""
    if not any(name in peer.values for name in IMPORT_OPTIONS):
        return None
    from xonnc.formats.onnx.import_options import ImportOptions

    return ImportOptions(
        sorts=peer.on("allowSorting", default=True),
        keeps_types=peer.on("useOnnxModelTypes", default=True),
        converts_version=peer.on("invokeOnnxVersionConverter"),
        decomposed=peer.names("functions-to-decompose"),
    )


def make_parser() -> _Parser:
    """Return the parser of the command line."""
    parser = _Parser(
        prog="onnx-translate",
        usage="onnx-translate [options] [input] [-o output]",
        description="Convert between file formats.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("input", nargs="?", default=STDIN, help="file to read; standard input without it or for '-'")
    add("-o", "--output", default=STDIN, metavar="FILE", help="file to write; standard output without it")
    add("--from", dest="source_format", choices=FORMATS, metavar="FORMAT", help="what the input is")
    add("--to", dest="target_format", choices=FORMATS, metavar="FORMAT", help="what to write")
    add(
        "--external-data",
        metavar="FILE",
        help="write weights to a second file beside the model; without '=FILE' it is OUTPUT.data",
    )
    add(
        "--external-data-threshold",
        type=int,
        default=1024,
        metavar="BYTES",
        help="smallest weight moved there",
    )
    add(
        "--inline-functions", action="store_true", help="replace calls of a model's functions by their bodies"
    )
    add("--target", default="nv_full", metavar="NAME", help="the hardware a .nvdla is for (nv_full)")
    add("--no-locations", action="store_true", help="leave names of nodes and values out of .mlir")
    add("--mlir-print-debuginfo", action="store_true", help=argparse.SUPPRESS)
    add(
        "--mlir-elide-elementsattrs-if-larger",
        type=int,
        metavar="N",
        help="no constants above N elements in .mlir",
    )
    add("-h", "--help", action="store_true", help="show this text")
    add("--version", action="store_true", help="show the version")
    return parser


def translate(job: Translation) -> None:
    """Translate; `UsageError` for an unsupported pair of formats, `XonncError` for invalid input."""
    data = sys.stdin.buffer.read() if job.source == STDIN else None
    source = job.source_format or _format_of(job.source) or (_sniff(data) if data is not None else None)
    if source is None:
        raise UsageError(f"'{job.source}': its file name has no known ending; give the format with --from")
    choices = TRANSLATIONS.get(source, ())
    target = (
        job.target_format
        or _format_of(job.target)
        or (choices[0] if job.target == STDIN and choices else None)
    )
    if target is None:
        raise UsageError(f"'{job.target}': its file name has no known ending; give the format with --to")
    if target not in choices:
        known = ", ".join(choices) or "nothing"
        raise UsageError(f"no translation from {source} to {target}; {source} becomes {known}")
    if job.target != STDIN:
        record_input(Path(job.source))
        require_writable(Path(job.target))
    if job.external_data is not None and target not in _MODELS:
        raise UsageError(f"--external-data is for models; {target} has no external data")
    if source == "nvdla":
        _write(job, _loadable_text(job, data))
        return
    module = _read_module(job, source, data)
    if job.signature is not None:
        from xonnc.transforms.models.signatures import set_signature

        set_signature(module, job.signature)
    _write_module(job, target, module)


def _format_of(name: str) -> Format | None:
    suffix = Path(name).suffix.lower()
    if name == STDIN or not suffix:
        return None
    found = _SUFFIXES.get(suffix)
    if found is None:
        raise UsageError(
            f"'{name}': no format '{suffix}'{suggest_pass(suffix, _SUFFIXES)}; say it with --from or --to"
        )
    return found


def _sniff(data: bytes) -> Format:
    """Return the format of standard input: loadables have a magic number, models are not text."""
    if data[4:8] == b"NVDA":
        return "nvdla"
    try:
        start = data[:4096].decode("utf-8", "strict" if len(data) <= 4096 else "ignore").lstrip()
    except UnicodeDecodeError:
        return "onnx"
    is_text = all(character.isprintable() or character in "\t\n\r" for character in start)
    return "mlir" if is_text and start else "onnx"


def _read_module(job: Translation, source: Format, data: bytes | None) -> ModuleOp:
    from xdsl.context import Context

    from xonnc.tools.universe import installed_dialects

    ctx = Context()
    for name, factory in installed_dialects().items():
        ctx.register_dialect(name, factory)
    if source == "mlir":
        return _parse(job, data, ctx)
    from xonnc.formats.onnx.external_data import DataFolder
    from xonnc.formats.onnx.importer import import_loaded
    from xonnc.formats.onnx.load_model import load, parse

    assert source in ("onnx", "onnxtxt", "json")
    if job.import_options_of is not None:
        from xonnc.formats.onnx.import_options import load_with_options

        loaded = load_with_options(job.source, source, data, job.import_options_of)
    elif data is None:
        loaded = load(job.source, source)
    else:
        loaded = parse(memoryview(data), source, "<stdin>", DataFolder(None))
    return import_loaded(loaded, ctx, job.inline_functions)


def _parse(job: Translation, data: bytes | None, ctx: Context) -> ModuleOp:
    from xonnc.tools.ir_text import read_module

    name = "<stdin>" if data is not None else job.source
    try:
        if data is None:
            record_input(Path(job.source))
        text = (Path(job.source).read_bytes() if data is None else data).decode("utf-8")
    except UnicodeDecodeError as error:
        raise XonncError(f"{name}: byte {error.start}: not UTF-8 text, so no IR") from error
    return read_module(ctx, text, name)


def _write_module(job: Translation, target: Format, module: ModuleOp) -> None:
    if target == "mlir":
        _write(job, _module_text(job, module))
    elif target == "nvdla":
        _write_loadable(job, module)
    else:
        from xonnc.formats.onnx.exporter import export_model
        from xonnc.formats.onnx.save_model import ExternalData

        assert target in ("onnx", "onnxtxt", "json")
        external = job.external_data
        export_model(module, job.target, target, ExternalData(external, job.threshold) if external else None)


def _module_text(job: Translation, module: ModuleOp) -> Callable[[BinaryIO], None]:
    from io import TextIOWrapper

    from xonnc.dialects.onnx.assembly import OnnxPrinter

    def write(stream: BinaryIO) -> None:
        text = TextIOWrapper(stream, "utf-8", errors="surrogateescape", write_through=True)
        printer = OnnxPrinter(
            text, print_debuginfo=job.locations, elide_larger=job.elide_larger, portable=True
        )
        printer.print_op(module)
        text.write("\n")
        text.detach()

    return write


def _loadable_text(job: Translation, data: bytes | None) -> Callable[[BinaryIO], None]:
    from xonnc.formats.nvdla.reader import parse_loadable, read_loadable
    from xonnc.formats.nvdla.text import dump_text

    loadable = read_loadable(Path(job.source)) if data is None else parse_loadable(data, "<stdin>")
    text = dump_text(loadable)
    return lambda stream: _put(stream, text.encode())


def _write(job: Translation, write: Callable[[BinaryIO], None]) -> None:
    """Run `write` on the output: a file that is created only on success, or standard output."""
    if job.target == STDIN:
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with atomic_write(Path(job.target)) as stream:
        write(stream)


def _put(stream: BinaryIO, data: bytes) -> None:
    stream.write(data)


def _write_loadable(job: Translation, module: ModuleOp) -> None:
    """Run the compiler's last stage on a module of the dla dialect with allocated memory."""
    from xonnc.dialects.dla.storage import MemoryOp
    from xonnc.formats.nvdla.writer import to_bytes, write_loadable
    from xonnc.lowering.dla_to_loadable.emit_loadable import loadable_of
    from xonnc.targets import load_target

    if not any(isinstance(op, MemoryOp) for op in module.walk()):
        raise XonncError(
            f"{job.source}: no value has an address; lower it first: "
            "onnx-opt --convert-onnx-to-dla … --dla-allocate, or let 'xonnc compile' do it all"
        )
    loadable = loadable_of(module, load_target(job.hardware))
    if job.target == STDIN:
        _write(job, lambda stream: _put(stream, to_bytes(loadable)))
    else:
        write_loadable(loadable, Path(job.target))
