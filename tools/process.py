"""Exit codes, one-line errors and reproducer files of all command-line tools."""

from __future__ import annotations

import atexit
import gc
import platform
import shlex
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import partial
from importlib.metadata import version
from pathlib import Path

from xonnc.errors import CollectedError, InvalidModelError, UnknownNameError, XonncError
from xonnc.formats.input_files import protect_inputs


class Exit(IntEnum):
    """The exit codes of all tools."""

    DONE = 0
    INPUT = 1
    USAGE = 2
    BUG = 3
    INTERRUPTED = 130


# At its end, Python would search all objects for cycles: a fifth of the time of a small compilation.
atexit.register(gc.freeze)

MAX_REPORTED = 5
"""Lines about what is wrong with a model, where another tool than its checker finds it."""


def run(tool: str, work: Callable[[], int], argv: Sequence[str]) -> int:
    """
    Run `work`; convert exceptions to an exit code and one line on standard error.

    A mistake in the input is exit 1; anything unforeseen is a bug of ours, exit 3, with a reproducer file.
    What passes warn of goes to standard error too.
    """
    # Imported late: they are about operations, which the version and lists of commands do without.
    from xonnc.rewriting.remarks import listening

    try:
        with (
            protect_inputs(),
            warnings.catch_warnings(),
            listening(lambda remark: print(f"{tool}: {remark.severity}: {remark}", file=sys.stderr)),
        ):
            warnings.showwarning = partial(_show_warning, tool)
            _ignore_numpy()
            return work()
    except CollectedError as error:
        _print_reasons(tool, error)
    except UnknownNameError as error:
        print(f"{tool}: {error}", file=sys.stderr)
        return Exit.USAGE
    except XonncError as error:
        print(f"{tool}: {error}", file=sys.stderr)
    except BrokenPipeError:
        # The reader of a pipe left (`| head`): nothing is wrong, and Python must not flush at exit.
        sys.stdout = open("/dev/null", "w")
    except OSError as error:
        location = f"{error.filename}: " if error.filename else ""
        print(f"{tool}: {location}{error.strerror or error}", file=sys.stderr)
    except MemoryError:
        print(f"{tool}: there is not enough memory for this input", file=sys.stderr)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception:
        print(f"{tool}: internal error, please report it with {_reproducer(tool, argv)}", file=sys.stderr)
        return Exit.BUG
    return Exit.INPUT


def _print_reasons(tool: str, error: CollectedError) -> None:
    """Print all reasons; of those that the model checker reports too, only the first ones."""
    count = MAX_REPORTED if isinstance(error, InvalidModelError) else len(error.reasons)
    for reason in error.reasons[:count]:
        print(f"{tool}: {reason}", file=sys.stderr)
    if left := len(error.reasons[count:]):
        print(f"{tool}: and {left} more; 'xonnc check' lists them", file=sys.stderr)


def _show_warning(tool: str, message: Warning | str, *_: object) -> None:
    """Print a library's warning in one line."""
    print(f"{tool}: warning: {message}", file=sys.stderr)


def _ignore_numpy() -> None:
    """Silence NumPy's warnings on NaN and infinities, which are valid values here."""
    for kind in ("overflow", "invalid value", "divide by zero", "underflow"):
        warnings.filterwarnings("ignore", f"{kind} encountered", RuntimeWarning)


def _reproducer(tool: str, argv: Sequence[str]) -> Path:
    """Write command line, versions and traceback of a crash to a reproducer file."""
    packages = ("xonnc", "xdsl", "onnx", "numpy", "ml_dtypes")
    lines = [
        f"command   {shlex.join([tool, *argv])}",
        f"folder    {Path.cwd()}",
        f"python    {platform.python_version()} on {platform.platform()}",
        *(f"{package:<9} {version(package)}" for package in packages),
        "",
        traceback.format_exc(),
    ]
    with tempfile.NamedTemporaryFile("w", prefix=f"{tool}-bug-", suffix=".txt", delete=False) as file:
        file.write("\n".join(lines))
    return Path(file.name)
