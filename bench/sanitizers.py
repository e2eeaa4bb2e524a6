"""
Random models as C source under AddressSanitizer and UndefinedBehaviorSanitizer: no report, correct outputs.

    python bench/sanitizers.py [--count 100] [--seed 0] [--flag=-march=native]
    python bench/sanitizers.py --invalid [--count 1000]

Models that need the reference evaluator have no C source and are skipped; `--count` counts the others. Models
with dynamic shapes are compiled both for the shapes of their inputs and for all shapes.

With `--invalid`, node tests of the onnx package and random models are mutated (`fuzzing/invalid.py`). Each
mutant must be refused before code generation, or its code must end cleanly: no exception other than
`XonncError`, and no access out of bounds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count as count_from
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
from onnx import TensorProto
from onnx.numpy_helper import to_array

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.backend import BackendCase, load_cases
from xonnc.artifacts import compile_artifact
from xonnc.errors import RefusalError, XonncError
from xonnc.formats.native.program import RuntimeValue
from xonnc.fuzzing.invalid import InvalidModel, mutants
from xonnc.fuzzing.random_models import RandomModel, random_model
from xonnc.model_check import check_model
from xonnc.native import compile_native
from xonnc.runtime.native.feeds import check_feeds
from xonnc.runtime.native.session import InputShapes, Session
from xonnc.runtime.verification.tolerance import differing

Array = npt.NDArray[np.generic]

OPTIONS = ("-O1", "-g", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined")

REFUSED, ENDED, RAN, FAILED = "refused", "ended by their code with an error", "ran", "failed"
CLEAN = (REFUSED, ENDED, RAN)

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "model.h"

int main(void)
{
    model_model *m;
    int32_t code;
    void *data[64];
    int number;
    if ((code = model_create(&m, NULL))) return puts(model_message(code)), 1;
    for (number = 0; number < model_input_count(); number++) {
        uint64_t bytes = model_input_element_bytes(number);
        int64_t shape[16] = {0};
        const int32_t rank = model_input_rank(number);
        int axis;
        if (fread(shape, 8, (size_t)rank, stdin) != (size_t)rank) return 2;
        if ((code = model_set_shape(m, number, shape, rank))) return puts(model_message(code)), 1;
        for (axis = 0; axis < rank; axis++) bytes *= (uint64_t)shape[axis];
        data[number] = malloc(bytes ? bytes : 1);
        if (fread(data[number], 1, bytes, stdin) != bytes) return 2;
        if ((code = model_set_input(m, number, data[number], bytes))) return puts(model_message(code)), 1;
    }
    if ((code = model_run(m))) return puts(model_message(code)), 1;
    for (number = 0; number < model_output_count(); number++)
        fwrite(model_get_output(m, number), 1, model_get_output_bytes(m, number), stdout);
    for (number = 0; number < model_input_count(); number++) free(data[number]);
    model_destroy(m);
    return 0;
}
"""


def main() -> int:
    """Run random models; exit 1 if one fails."""
    parser = argparse.ArgumentParser(description="random models as C source under sanitizers")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flag", action="append", default=[], help="further flag of the C compiler")
    parser.add_argument("--invalid", action="store_true", help="run mutated models, most of them invalid")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.invalid:
        return _invalid(arguments.count, arguments.seed, arguments.flag)
    seed, clean, passed, failed = arguments.seed, 0, 0, 0
    while clean + failed < arguments.count:
        report = _tried(random_model(seed), arguments.flag)
        if report is None:
            passed += 1
        elif report:
            failed += 1
            print(f"seed {seed}: {report}", flush=True)
        else:
            clean += 1
        seed += 1
    print(f"{clean} models clean, {failed} failed; {passed} skipped, which need the reference evaluator")
    return 1 if failed else 0


def _invalid(count: int, seed: int, flags: Sequence[str]) -> int:
    """Run mutated models; return 1 if one fails."""
    verdicts: Counter[str] = Counter()
    for number, (name, mutant) in enumerate(islice(_mutants(seed), count)):
        try:
            verdict = outcome_of(mutant, flags)
        except XonncError:
            verdict = REFUSED
        except Exception as error:  # Any exception but XonncError is a fault.
            verdict = f"{type(error).__name__}: {error}"
        if verdict not in CLEAN:
            print(f"{number} {name}: {mutant.change}: {verdict}", flush=True)
        verdicts[verdict if verdict in CLEAN else FAILED] += 1
    print(", ".join(f"{verdicts[each]} {each}" for each in (*CLEAN, FAILED)))
    return 1 if verdicts[FAILED] else 0


def _mutants(seed: int) -> Iterator[tuple[str, InvalidModel]]:
    """Mutated node tests and random models, an infinite sequence."""
    tests = [
        (case.name, case.model, feeds) for case in load_cases("node") if case.model and (feeds := _fed(case))
    ]
    for iteration in count_from(seed):
        generator = np.random.default_rng((seed, iteration))
        name, model, feeds = tests[int(generator.integers(len(tests)))]
        if iteration % 4 == 0:
            drawn = random_model(iteration)
            name, model, feeds = f"seed {iteration}", drawn.model, drawn.feeds[0]
        for mutant in mutants(model, feeds, 1, iteration):
            yield name, mutant


def _fed(case: BackendCase) -> dict[str, Array] | None:
    """The inputs of a case, if all of them are tensors."""
    assert case.model is not None
    names = [info.name for info in case.model.graph.input]
    given = case.data_sets[0][0] if case.data_sets else ()
    feeds: dict[str, Array] = {}
    for name, value in zip(names, given, strict=False):
        array = to_array(value) if isinstance(value, TensorProto) else value
        if not _is_array(array) or array.dtype.hasobject:
            return None
        feeds[name] = array
    return feeds


def _is_array(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray)


def outcome_of(mutant: InvalidModel, flags: Sequence[str]) -> str:
    """Result of a mutated model."""
    if check_model(mutant.model):
        return REFUSED
    session = compile_native(mutant.model, cache=False)
    shapes = {port: array.shape for port, array in mutant.feeds.items()}
    with TemporaryDirectory() as name:
        folder = Path(name)
        try:
            compile_artifact(mutant.model, folder / "model.c", input_shapes=shapes)
        except XonncError:
            # Models without C source still run in the session.
            session.run(None, mutant.feeds)
            return RAN
        # Inputs that do not fit the mutated model are refused here: the C program reads checked ones.
        data = _as_bytes(check_feeds(session.inputs, mutant.feeds))
        (folder / "main.c").write_text(MAIN)
        command = ["cc", *OPTIONS, *flags, "main.c", "model.c", "-lm", "-o", "main"]
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if made.returncode:
            return made.stderr[:500]
        # The test program does not free its memory when a run fails.
        environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run(
            ["./main"], cwd=folder, input=data, capture_output=True, check=False, env=environment
        )
        report = done.stderr.decode(errors="replace")
        if report or done.returncode not in (0, 1):
            return f"exit {done.returncode}: {report[:800]}"
        return ENDED if done.returncode else RAN


def _tried(drawn: RandomModel, flags: Sequence[str]) -> str | None:
    """The failure, empty if there is none; `None` if the model is skipped."""
    shapes = {port: array.shape for port, array in drawn.feeds[0].items()}
    report = _tried_for(drawn, shapes, flags)
    inputs = compile_native(drawn.model, cache=False).inputs if report == "" else ()
    if any(None in (port.shape or ()) for port in inputs):
        # The same with dynamic shapes, if every operator has a kernel for them.
        report = _tried_for(drawn, None, flags) or ""
    return report


def _tried_for(drawn: RandomModel, shapes: InputShapes | None, flags: Sequence[str]) -> str | None:
    feeds = drawn.feeds[0]
    with TemporaryDirectory() as name:
        folder = Path(name)
        try:
            session = compile_native(drawn.model, cache=False)
            if session.shape_determining:
                return None
            compile_artifact(drawn.model, folder / "model.c", input_shapes=shapes)
            expected = session.run(None, feeds)
        except RefusalError:
            return None
        except XonncError as error:
            return None if "reference evaluator" in str(error) else str(error)
        (folder / "main.c").write_text(MAIN)
        command = ["cc", *OPTIONS, *flags, "main.c", "model.c", "-lm", "-o", "main"]
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if made.returncode:
            return made.stderr[:500]
        data = _as_bytes([feeds[port.name] for port in session.inputs])
        return _compared(folder, session, data, [np.asarray(each) for each in expected])


def _as_bytes(fed: Sequence[RuntimeValue]) -> bytes:
    """Serialize inputs as the C program reads them: int64 shape, then the elements."""
    data = b""
    for feed in fed:
        array = np.asarray(feed)
        data += np.array(array.shape, np.int64).tobytes() + np.ascontiguousarray(array).tobytes()
    return data


def _compared(folder: Path, session: Session, data: bytes, expected: list[np.ndarray]) -> str:
    done = subprocess.run(["./main"], cwd=folder, input=data, capture_output=True, check=False)
    report = done.stderr.decode(errors="replace")
    if done.returncode or report:
        return f"exit {done.returncode}: {done.stdout[:200]!r} {report[:800]}"
    start = 0
    for port, array in zip(session.outputs, expected, strict=True):
        found = np.frombuffer(done.stdout, array.dtype, array.size, start).reshape(array.shape)
        start += array.nbytes
        wrong = differing(array, found)
        if wrong.any():
            index = tuple(np.argwhere(wrong)[0])
            return f"{port.name}{[int(each) for each in index]} is {found[index]}, not {array[index]}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
