"""The page on coverage of constant folding: `docs/folding.md`."""

from __future__ import annotations

from bench.constant_folding.summary import FoldingSummary
from bench.constant_folding.verdicts import RULES, FoldingVerdict
from xonnc.rewriting.patterns import Native
from xonnc.transforms.rules.constprop_evaluation import MAX_WORK, evaluated
from xonnc.transforms.rules.constprop_loops import MAX_ITERATIONS
from xonnc.transforms.rules.folding_limits import GROWTH, MAX_BYTES, MAX_INTEGER_PRODUCTS, MAX_PRODUCTS
from xonnc.transforms.rules.reference_faults import FAULTS

TEXT = """# What folds

For whoever wants to know what `constprop-onnx` computes at compile time. Written by
`python bench/folding.py --write docs/folding.md`.

Every deterministic operator with constant inputs is folded: common ones by NumPy functions of this project,
the others by the reference evaluator of the `onnx` package, one op at a time. A sequence or an optional
becomes a `SequenceConstruct` or `Optional` of constants, which folds into its readers.

Not folded are operators with random results (Dropout in training among them), DequantizeLinear,
QuantizeLinear to types other than integers of 8 and 16 bits, and operators of other domains; operators on
which the reference evaluator fails, or whose result it gives another type or shape than the model declares.

## Limits

* A result has at most {mib} MiB, or {growth} times the bytes of its operands.
* Matrix products sum at most {products:,} products, of integers {whole:,}.
* The reference evaluator processes at most {work:,} elements (for windows and products: terms), of operands
  and results with at most {mib} MiB together.
* A Loop or Scan has at most {iterations} iterations; `--constprop-onnx='loop-bound=1000'` allows more.
* `--onnx-const-prop-expansion-bound=N`: results of broadcasts, expansions and products have at most N times
  the bytes of their operands.

## Wrong in the reference evaluator, and not folded

| operator | error |
|---|---|
{wrong}

## Node tests of the `onnx` package with constant inputs

{figures}

| not folded | reason |
|---|---|
{rows}

## Operators with NumPy implementations

{own}.

## Operators folded by the reference evaluator

{reference}.
"""


def page(summary: FoldingSummary) -> str:
    """The page, in Markdown."""
    by_reference = [
        rule.root.template.name
        for rule in RULES.values()
        if isinstance(rule.result, Native) and rule.result.call is evaluated
    ]
    own = {rule.root.template.name for rule in RULES.values()} - set(by_reference)
    unfolded: dict[str, list[str]] = {}
    for verdict in summary.unfolded:
        unfolded.setdefault(_reason(verdict), []).append(f"`{verdict.case.name}`")
    return TEXT.format(
        wrong="\n".join(f"| {name} | {fault.what} |" for name, fault in FAULTS.items()),
        mib=MAX_BYTES >> 20,
        growth=GROWTH,
        products=MAX_PRODUCTS,
        whole=MAX_INTEGER_PRODUCTS,
        work=MAX_WORK,
        iterations=MAX_ITERATIONS,
        figures="\n".join(f"* {line}" for line in summary.lines()),
        rows="\n".join(f"| {', '.join(names)} | {reason} |" for reason, names in unfolded.items()),
        own=", ".join(sorted(own)),
        reference=", ".join(sorted(by_reference)),
    )


def _reason(verdict: FoldingVerdict) -> str:
    if verdict.reason.startswith("DequantizeLinear stays"):
        return "DequantizeLinear is never folded"
    if verdict.reason.startswith("QuantizeLinear stays"):
        return "QuantizeLinear folds to integers of 8 and 16 bits, without blocks"
    return verdict.reason.replace("|", "/")
