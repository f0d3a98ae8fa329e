"""Rules about the run: its model, its sampling, its use of labels, and whether the prompt is the
one that ran."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.base.texts import list_names
from core.features.importing.problems import Row
from core.features.submissions.parsed import File, Finding
from core.features.submissions.rules.registry import rule
from core.features.submissions.tracks import MODEL, PROMPT
from core.methods.prompts import C_NEW_TOKENS, C_PARAMETERS_B

# With any owner and number format; a derived model is another model.
_ALLOWED = re.compile(
    rf"(?:[\w.-]+/)*{re.escape(MODEL)}(?:[-_:.](?:mxfp4|bf16|fp8|fp16|gguf|latest))*", re.IGNORECASE
)
_SIZE = re.compile(
    r"(?<![A-Za-z0-9.])(?:([0-9]{1,3})x)?([0-9]{1,5}(?:\.[0-9]{1,3})?)([bm])(?![a-z0-9])",
    re.IGNORECASE,
)
# "Pa -> Ga: up", "Pa_Ga,up": a pair with its outcome.
_OUTPUT = re.compile(
    r"(?:[\w.-]++\s*(?:->|→|=>|⟶)\s*[\w.-]++|\b\w++_\w++)[ \t]*+[:=,\t][ \t]*+(?:up|down|none)\b",
    re.IGNORECASE,
)
_TOOL_EVENTS = ("tool_call", "observation")


def _models(file: File) -> dict[str, list[Row]]:
    """Return model name → rows."""
    found: dict[str, list[Row]] = {}
    for row, (name,) in file.cells("model_name"):
        if name.strip():
            found.setdefault(name.strip(), []).append(row)
    return found


@rule("other_model", "warning", "A", "B")
def other_model(file: File) -> Iterator[Finding]:
    """Rows by a model not allowed in the track."""
    for name, rows in _models(file).items():
        if not _ALLOWED.fullmatch(name):
            yield Finding(rows, f"model_name: {name} on {len(rows):,} rows, expected {MODEL}")


@rule("model_size", "warning", "C")
def model_size(file: File) -> Iterator[Finding]:
    """Rows by a model that is too large, or without a size in its name."""
    for name, rows in _models(file).items():
        size = parameters_b(name)
        if size is None:
            yield Finding(
                rows,
                f"model_name: {name} does not say how large it is, expected fewer than"
                f" {C_PARAMETERS_B:g}B",
            )
        elif size >= C_PARAMETERS_B:
            yield Finding(
                rows,
                f"model_name: {name} has {size:g}B parameters, expected fewer than"
                f" {C_PARAMETERS_B:g}B",
            )


def parameters_b(name: str) -> float | None:
    """Return the largest number of parameters, in billions, in a model's name ("Qwen3-4B", "8x7B",
    "270m"), or None."""
    sizes = [
        int(times or 1) * float(size) / (1 if unit in "bB" else 1_000)
        for times, size, unit in _SIZE.findall(name)
    ]
    return max(sizes, default=None)


@rule("long_answers", "warning", "C")
def long_answers(file: File) -> Iterator[Finding]:
    """Rows with more tokens than an answer may have."""
    long = [
        result.prediction.pair_id
        for result in file.results
        if (result.prediction.tokens or 0) > C_NEW_TOKENS
    ]
    if long:
        message = (
            f"{len(long):,} rows above {C_NEW_TOKENS:,} (which is the limit for new tokens; the"
            " column counts the prompt too)"
        )
        yield Finding(long, f"tokens_used: {message}: {list_names(long)}")


@rule("tools_in_c", "warning", "C")
def tools_in_c(file: File) -> Iterator[Finding]:
    """Rows that used a tool."""
    used = [
        result.prediction.pair_id
        for result in file.results
        if result.prediction.tool_calls
        or any(event.kind in _TOOL_EVENTS for event in result.events)
    ]
    if used:
        yield Finding(used, f"{len(used):,} rows used tools, expected none: {list_names(used)}")


@rule("sampling", "warning", "A", "B")
def sampling(file: File) -> Iterator[Finding]:
    """Calls at another temperature or top_p than 1."""
    odd = [
        f"temperature {temperature:g}, top_p {top_p:g}"
        for temperature, top_p in file.provenance.sampling
        if {temperature, top_p} != {1}
    ]
    if odd:
        yield Finding(
            (),
            f"{file.provenance.run}: sampled with {'; '.join(odd)}; expected temperature 1,"
            " top_p 1",
        )


@rule("second_model", "warning", "B")
def second_model(file: File) -> Iterator[Finding]:
    """Other language models used by the run or its parents."""
    others = [name for name in file.provenance.models if not _ALLOWED.fullmatch(name)]
    if others:
        yield Finding(
            (),
            f"{file.provenance.run}: also asked {', '.join(others)}, expected no language model"
            f" except {MODEL}",
        )


@rule("learned", "warning", "B")
def report_learned_inputs(file: File) -> Iterator[Finding]:
    """Everything learned from the competition's labels, by name."""
    if file.provenance.learned:
        note = (
            "a trained model is not allowed, and the use of neighbours' labels should be described"
        )
        yield Finding(
            (), f"{file.provenance.run}: rests on {'; '.join(file.provenance.learned)}; {note}"
        )


@rule("outputs_in_prompt", "warning", "A")
def outputs_in_prompt(file: File) -> Iterator[Finding]:
    """Measured outcomes in the prompt."""
    if file.provenance.shots:
        yield Finding(
            (),
            f"{file.provenance.run}: {file.provenance.shots} measured pairs in each prompt,"
            " expected none",
        )
    found = list(dict.fromkeys(_OUTPUT.findall(file.prompt or "")))
    if found:
        yield Finding(
            (),
            f"{PROMPT}: {len(found):,} pairs with an outcome ({list_names(found)}), expected no"
            " outcome in it",
        )


@rule("prompt_differs", "error")
def prompt_differs(file: File) -> Iterator[Finding]:
    """A prompt.txt that differs from the prompt that was run."""
    run, inside = file.provenance.prompt, file.prompt
    if run is not None and inside is not None and inside.strip() and _lines(run) != _lines(inside):
        yield Finding(
            (),
            f"{PROMPT}: differs from the prompt that was run ({len(inside):,} characters,"
            f" {len(run):,} were run)",
        )


@rule("prompt_unproven", "error")
def prompt_unproven(file: File) -> Iterator[Finding]:
    """A run whose prompt can no longer be verified."""
    if file.provenance.prompt_fault:
        yield Finding((), f"{PROMPT}: {file.provenance.prompt_fault}")


@rule("code_changed", "warning")
def code_changed(file: File) -> Iterator[Finding]:
    """A run made by another version of the code."""
    if file.provenance.changed:
        yield Finding((), f"{file.provenance.run}: {file.provenance.changed}")


@rule("left_out", "warning")
def left_out(file: File) -> Iterator[Finding]:
    """Rows of the run that are not submitted."""
    if file.provenance.left_out:
        rows = file.provenance.left_out
        yield Finding(
            rows,
            f"{file.provenance.run}: {len(rows):,} rows are not among the {len(file.expected):,} to"
            " submit",
        )


@rule("seeds_repeated", "warning", "A")
def seeds_repeated(file: File) -> Iterator[Finding]:
    """Rows where a seed gave no answer, so that its columns contain the mean of the others."""
    if file.provenance.repeated:
        rows = file.provenance.repeated
        yield Finding(
            rows,
            f"{len(rows):,} rows in which a seed gave no answer; the mean of the others"
            " replaces it",
        )


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
