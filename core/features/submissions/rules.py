"""The rules of a submission: what the judge rejects, what the challenge's text forbids, and what is
worth a look.

A submission is valid if nothing in it is rejected. The judge takes columns by name, in any order,
ignores others and rows that the solution lacks, and asks nothing of sums, ranges, order and traces.
It ranks DE by up + down, and DIR by up / (up + down), with a denominator of 0 taken as 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from core.base.texts import list_names, printable, quote
from core.base.types import FALLBACKS, FLAG_NAMES, Flag, Track
from core.features.importing.problems import Problem, Row, Severity
from core.features.importing.submissions import describe_differing, is_uniform
from core.features.submissions.parsed import (
    LAYOUTS,
    MODEL,
    NO_TRACE,
    PROMPT,
    SEEDS,
    TOOLS,
    UNKNOWN_RUN,
    File,
    RunProvenance,
    parse_submission,
)
from core.llm.kept_answer import count_with_tiktoken
from core.methods.prompts import B_TOOL_CALLS, B_TOOLS, C_NEW_TOKENS, C_PARAMETERS_B
from core.runs.prompt_files import split_prompts

MANY_TIES = 0.1  # of the rows
MANY_ALIKE = 0.5  # of the rows, whose traces say the same but for names and numbers
FEWEST_WORDS = 5  # of a trace that holds reasoning
_MEAN_TOLERANCE = 5e-4  # a mean of seeds that is rounded to three decimals
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


class Finding(NamedTuple):
    """A problem of a submission: the affected rows (none for the whole file) and a message."""

    rows: Sequence[Row]
    message: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of some tracks; `find` yields the findings in a file."""

    name: str
    severity: Severity
    tracks: str
    find: Callable[[File], Iterable[Finding]]


def check(
    content: bytes,
    name: str,
    track: Track,
    expected: Sequence[str],
    provenance: RunProvenance | None = None,
) -> list[Problem]:
    """Return the problems of a CSV or a zip, the rejected first. Nothing is written, and no content
    raises an error.

    expected: the ids of the rows that are scored. provenance: of the run behind the file, if known.
    A bare CSV needs neither prompt nor tools.
    """
    file = parse_submission(content, name, LAYOUTS[track], expected, provenance or UNKNOWN_RUN)
    return [
        Problem(rule.name, rule.severity, tuple(dict.fromkeys(rows)), printable(message))
        for rule in RULES
        if track in rule.tracks
        for rows, message in rule.find(file)
    ]


def is_valid(problems: Iterable[Problem]) -> bool:
    """Return whether the judge rejects nothing."""
    return all(problem.severity != "rejected" for problem in problems)


def _some(rows: Sequence[Row], message: str) -> Iterator[Finding]:
    """Yield the rows with a message that names the first; nothing without a row."""
    if rows:
        yield Finding(rows, f"{message}: {list_names(rows)}")


def _unreadable(file: File) -> Iterator[Finding]:
    if file.fault:
        yield Finding((), file.fault)


def _missing_columns(file: File) -> Iterator[Finding]:
    if file.sheet is not None:
        missing = [name for name in file.layout.columns if name not in file.sheet]
        if missing:
            found = quote(", ".join(file.sheet.columns), 200)
            kit = " (the kit's README leaves it out; the judge asks for it)"
            more = kit if "prompt_tokens" in missing else ""
            yield Finding((), f"no column {', '.join(missing)}{more}; found {found}")


def _missing_ids(file: File) -> Iterator[Finding]:
    if file.sheet is not None:
        present = set(file.column("id"))
        missing = [key for key in file.expected if key not in present]
        yield from _some(missing, f"{len(missing):,} of {len(file.expected):,} ids are missing")


def _null_predictions(file: File) -> Iterator[Finding]:
    for name in file.layout.predictions[0]:
        scored = file.column("id").isin(file.expected).reindex(file.column(name).index)
        values = file.numbers(name)
        bad = scored & ~values.abs().lt(np.inf)
        if bad.any():
            cell = file.column(name)[bad].iloc[0]
            given = quote(cell) if isinstance(cell, str) else "no number"
            rows = file.rows(bad)
            yield from _some(rows, f"{name}: {given} on {len(rows):,} rows, expected a number")


def _above(column: str, most: int | None = None) -> Callable[[File], Iterator[Finding]]:
    """Return the rule of a limit on a count; what is no number counts as 0."""

    def find(file: File) -> Iterator[Finding]:
        limit = most or file.layout.most_prompt_tokens or 0
        rows = file.rows(file.numbers(column) > limit)
        yield from _some(rows, f"{column}: {len(rows):,} rows above {limit:,}")

    return find


def _empty_cells(file: File) -> Iterator[Finding]:
    wanted = [name for name in file.layout.columns if name not in file.layout.predictions[0]]
    for name in wanted:
        cells = file.column(name)
        rows = file.rows(cells.isna() | (cells.str.strip() == ""))
        expected = "expected a value; `none` means an empty trace, 0 an unknown count"
        yield from _some(rows, f"{name}: {len(rows):,} empty cells, {expected}")


def _prompt_missing(file: File) -> Iterator[Finding]:
    if file.paths is not None and not (file.prompt or "").strip():
        state = "not in the zip" if file.prompt is None else "empty"
        yield Finding((), f"{PROMPT}: {state}, expected the prompt that was run")


def _prompt_too_long(file: File) -> Iterator[Finding]:
    most = file.layout.most_prompt_tokens or 0
    long = [each for each in split_prompts(file.prompt or "") if len(each.encode()) > most]
    tokens = max((count_with_tiktoken(MODEL, each) or 0 for each in long), default=0)
    if tokens > most:
        yield Finding(
            (), f"{PROMPT}: {tokens:,} tokens (counted by tiktoken), expected at most {most:,}"
        )


def _prompt_differs(file: File) -> Iterator[Finding]:
    run, inside = file.provenance.prompt, file.prompt
    if file.provenance.prompt_fault:
        yield Finding((), f"{PROMPT}: {file.provenance.prompt_fault}")
    elif run is not None and (inside or "").strip() and _lines(run) != _lines(inside or ""):
        sizes = f"({len(inside or ''):,} characters, {len(run):,} were run)"
        yield Finding((), f"{PROMPT}: differs from the prompt that was run {sizes}")


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def _tools_missing(file: File) -> Iterator[Finding]:
    if file.paths is not None and not any(content.strip() for content in file.tools.values()):
        state = f"{len(file.tools)} files, all empty" if file.tools else "no Python file"
        yield Finding((), f"{TOOLS}: {state}, expected the source of every tool")


def _models(file: File) -> Iterator[tuple[str, list[Row]]]:
    """Yield each model name and its rows."""
    names = file.column("model_name").str.strip()
    for name in names.dropna().unique():
        if name:
            yield name, file.rows(names == name)


def _other_model(file: File) -> Iterator[Finding]:
    for name, rows in _models(file):
        if not _ALLOWED.fullmatch(name):
            yield Finding(rows, f"model_name: {name} on {len(rows):,} rows, expected {MODEL}")
    others = [name for name in file.provenance.models if not _ALLOWED.fullmatch(name)]
    if others:
        yield Finding(
            (),
            f"{file.provenance.run}: also asked {', '.join(others)}, expected no language model"
            f" except {MODEL}",
        )


def _model_size(file: File) -> Iterator[Finding]:
    for name, rows in _models(file):
        size = parameters_b(name)
        if size is None or size >= C_PARAMETERS_B:
            given = "does not say how large it is" if size is None else f"has {size:g}B parameters"
            expected = f"expected fewer than {C_PARAMETERS_B:g}B"
            yield Finding(rows, f"model_name: {name} {given}, {expected}")


def parameters_b(name: str) -> float | None:
    """Return the largest number of parameters, in billions, in a model's name ("Qwen3-4B", "8x7B",
    "270m"), or None."""
    sizes = [
        int(times or 1) * float(size) / (1 if unit in "bB" else 1_000)
        for times, size, unit in _SIZE.findall(name)
    ]
    return max(sizes, default=None)


def _long_answers(file: File) -> Iterator[Finding]:
    rows = file.rows(file.numbers("tokens_used") > C_NEW_TOKENS)
    limit = f"{C_NEW_TOKENS:,}, the limit for new tokens (the column counts the prompt too)"
    yield from _some(rows, f"tokens_used: {len(rows):,} rows above {limit}")


def _tools_in_c(file: File) -> Iterator[Finding]:
    rows = [
        result.prediction.pair_id
        for result in file.results
        if result.prediction.tool_calls
        or any(event.kind in ("tool_call", "observation") for event in result.events)
    ]
    yield from _some(rows, f"{len(rows):,} rows used tools, expected none")


def _sampling(file: File) -> Iterator[Finding]:
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


def _learned(file: File) -> Iterator[Finding]:
    if file.provenance.learned:
        note = (
            "a trained model is not allowed, and the use of neighbours' labels should be described"
        )
        yield Finding(
            (), f"{file.provenance.run}: rests on {'; '.join(file.provenance.learned)}; {note}"
        )


def _outputs_in_prompt(file: File) -> Iterator[Finding]:
    if file.provenance.shots:
        yield Finding(
            (),
            f"{file.provenance.run}: {file.provenance.shots} measured pairs in each prompt,"
            " expected none",
        )
    found = list(dict.fromkeys(_OUTPUT.findall(file.prompt or "")))
    if found:
        yield Finding((), f"{PROMPT}: {len(found):,} pairs with an outcome: {list_names(found)}")


def _no_reasoning(file: File) -> Iterator[Finding]:
    """Traces of a few words, and those that say the same in most rows but for names and numbers."""
    texts = {}
    for result in file.results:
        text = " ".join(event.content for event in result.events)
        for symbol in result.prediction.pair_id.split("_"):
            text = text.replace(symbol, "")
        texts[result.prediction.pair_id] = tuple(re.findall(r"[^\W\d_]+", text))
    often = Counter(texts.values())
    rows = [
        key
        for key, words in texts.items()
        if words and (len(words) < FEWEST_WORDS or often[words] > max(1, MANY_ALIKE * len(texts)))
    ]
    yield from _some(rows, f"{len(rows):,} traces hold no reasoning: a constant or a few words")


def _empty_traces(file: File) -> Iterator[Finding]:
    silent = {result.prediction.pair_id for result in file.results if not result.events}
    for name in file.layout.traces:
        cells = file.column(name)
        empty = cells.str.strip() == NO_TRACE
        if file.layout.track != "A":
            empty |= file.column("id").isin(silent).reindex(cells.index) & cells.notna()
        rows = file.rows(empty)
        yield from _some(rows, f"{name}: {len(rows):,} rows without a trace")


def _unknown_ids(file: File) -> Iterator[Finding]:
    ids = file.column("id").dropna()
    unknown, known = list(ids[~ids.isin(file.expected)]), len(file.expected)
    yield from _some(unknown, f"{len(unknown):,} ids are not among the {known:,} expected")
    twice = list(ids[ids.duplicated()])
    yield from _some(twice, f"{len(twice):,} ids are on several rows")


def _out_of_range(file: File) -> Iterator[Finding]:
    for up, down in file.layout.predictions:
        first, second = file.numbers(up), file.numbers(down)
        if len(first) == len(second):
            rows = file.rows((first < 0) | (second < 0) | (first + second > 1 + 1e-6))
            what = "are no probabilities (below 0, or above 1 in all)"
            yield from _some(rows, f"{up} and {down}: {len(rows):,} rows {what}")


def _seeds_mean(file: File) -> Iterator[Finding]:
    submitted, *seeds = file.layout.predictions
    for side, name in enumerate(submitted):
        values = file.numbers(name)
        answers = pd.DataFrame({pair[side]: file.numbers(pair[side]) for pair in seeds})
        if answers.shape == (len(values), len(SEEDS)):
            off = (values - answers.mean(axis=1, skipna=False)).abs() > _MEAN_TOLERANCE + 1e-6
            rows = file.rows(off)
            yield from _some(rows, f"{name}: {len(rows):,} rows are not the mean over the seeds")


def _constant_columns(file: File) -> Iterator[Finding]:
    names = [name for pair in file.layout.predictions for name in pair]
    columns = {name: tuple(file.column(name)) for name in names}
    same = [name for name, cells in columns.items() if len(cells) > 1 and len(set(cells)) == 1]
    if same:
        yield Finding((), f"{', '.join(same)}: the same on every row ({columns[same[0]][0]})")
    seen: dict[tuple[str, ...], str] = {}
    for name, cells in columns.items():
        if cells and name not in same and (other := seen.setdefault(cells, name)) != name:
            yield Finding((), f"{name}: on every row the same as {other}")


def _ties(file: File) -> Iterator[Finding]:
    up, down = (file.column(name) for name in file.layout.predictions[0])
    both = pd.DataFrame({"up": up, "down": down})
    tied = both.duplicated(keep=False) & both.notna().all(axis=1)
    if tied.sum() > MANY_TIES * len(both):
        share = f"{tied.mean():.0%} of the rows share both numbers with another"
        yield Finding(file.rows(tied), f"{share}; {len(both.drop_duplicates()):,} distinct answers")


def _flagged(file: File, *flags: Flag) -> dict[str, list[Flag]]:
    found = {
        result.prediction.pair_id: [flag for flag in result.prediction.flags if flag in flags]
        for result in file.results
    }
    return {row: some for row, some in found.items() if some}


def _trace_differs(file: File) -> Iterator[Finding]:
    rows = list(_flagged(file, Flag.TRACE_DIFFERS))
    yield from _some(
        rows,
        f"{len(rows):,} traces state probabilities that do not give the submitted numbers; if they"
        " were fused afterwards, the trace should show the arithmetic",
    )
    differing = _flagged(file, Flag.ANSWER_DIFFERS)
    if differing:
        seeds = [
            f"{result.prediction.pair_id} {event.stage}"
            for result in file.results
            if result.prediction.pair_id in differing
            for event in result.events
            if "reads" in event.meta
        ]
        yield Finding(list(differing), describe_differing(seeds))


def _fallbacks(file: File) -> Iterator[Finding]:
    """Rows without an answer of their own: .333/.333, or a fallback named in the trace."""
    flags_of = _flagged(file, *FALLBACKS)
    for result in file.results:
        prediction = result.prediction
        # Track A: disagreeing seeds may average to a third; `read_submission` flags the other rows.
        if file.layout.track != "A" and is_uniform(
            prediction.prediction_up, prediction.prediction_down
        ):
            flags_of.setdefault(prediction.pair_id, [Flag.UNIFORM])
    counts = Counter(flag for flags in flags_of.values() for flag in flags)
    kinds = ", ".join(f"{FLAG_NAMES[flag]}: {n:,}" for flag, n in sorted(counts.items()))
    rows = list(flags_of)
    yield from _some(rows, f"{len(rows):,} rows have no answer of their own ({kinds})")


def _fewer_seeds(file: File) -> Iterator[Finding]:
    """Rows in which a seed gave no answer, according to the run, to the trace, or to a seed whose
    numbers are the submitted mean of others that differ."""
    present = {result.prediction.pair_id for result in file.results}
    known = {*_flagged(file, Flag.FEWER_SEEDS), *(present & set(file.provenance.fewer_seeds))}
    if file.layout.track == "A":
        names = [name for pair in file.layout.predictions for name in pair]
        cells = [file.column(name) for name in names]
        for key, *row in zip(file.column("id"), *cells, strict=False):
            mean, *answers = zip(row[::2], row[1::2], strict=True)
            if mean in answers and set(answers) != {mean} and isinstance(key, str):
                known.add(key)
    yield from _some(sorted(known), f"{len(known):,} rows average fewer seeds than requested")


def _prompt_tokens_vary(file: File) -> Iterator[Finding]:
    """System prompt and tools are the same throughout a run."""
    found = file.column("prompt_tokens").dropna()
    if len(found):
        most = found.mode().iloc[0]
        rows = file.rows(found != most)
        yield from _some(rows, f"prompt_tokens: {len(rows):,} rows differ from {most}")


def _run_and_file(file: File) -> Iterator[Finding]:
    facts = file.provenance
    if facts.changed:
        yield Finding((), f"{facts.run}: {facts.changed}")
    yield from _some(
        facts.left_out,
        f"{facts.run}: {len(facts.left_out):,} rows are not among the {len(file.expected):,} to"
        " submit",
    )


RULES: Final = (
    Rule("unreadable", "rejected", "ABC", _unreadable),
    Rule("missing_columns", "rejected", "ABC", _missing_columns),
    Rule("missing_ids", "rejected", "ABC", _missing_ids),
    Rule("null_predictions", "rejected", "ABC", _null_predictions),
    Rule("prompt_tokens", "rejected", "AB", _above("prompt_tokens")),
    Rule("tool_calls", "rejected", "B", _above("num_tool_calls", B_TOOL_CALLS)),
    Rule("distinct_tools", "rejected", "B", _above("num_distinct_tools", B_TOOLS)),
    Rule("empty_cells", "against_rules", "ABC", _empty_cells),
    Rule("prompt_missing", "against_rules", "ABC", _prompt_missing),
    Rule("prompt_too_long", "against_rules", "AB", _prompt_too_long),
    Rule("prompt_differs", "against_rules", "ABC", _prompt_differs),
    Rule("tools_missing", "against_rules", "B", _tools_missing),
    Rule("other_model", "against_rules", "AB", _other_model),
    Rule("model_size", "against_rules", "C", _model_size),
    Rule("long_answers", "against_rules", "C", _long_answers),
    Rule("tools_in_c", "against_rules", "C", _tools_in_c),
    Rule("sampling", "against_rules", "AB", _sampling),
    Rule("learned", "against_rules", "B", _learned),
    Rule("outputs_in_prompt", "against_rules", "A", _outputs_in_prompt),
    Rule("no_reasoning", "against_rules", "B", _no_reasoning),
    Rule("empty_traces", "look", "ABC", _empty_traces),
    Rule("unknown_ids", "look", "ABC", _unknown_ids),
    Rule("out_of_range", "look", "ABC", _out_of_range),
    Rule("seeds_mean", "look", "A", _seeds_mean),
    Rule("constant_columns", "look", "ABC", _constant_columns),
    Rule("ties", "look", "ABC", _ties),
    Rule("trace_differs", "look", "ABC", _trace_differs),
    Rule("fallbacks", "look", "ABC", _fallbacks),
    Rule("fewer_seeds", "look", "ABC", _fewer_seeds),
    Rule("prompt_tokens_vary", "look", "B", _prompt_tokens_vary),
    Rule("run_and_file", "look", "ABC", _run_and_file),
)
