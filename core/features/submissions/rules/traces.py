"""Rules about all predictions together and about traces. They report things that are allowed but
worth knowing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from core.base.texts import list_names
from core.base.types import FALLBACKS, FLAG_NAMES, Flag
from core.features.importing.submissions import count_in, describe_differing, is_uniform
from core.features.submissions.parsed import File, Finding
from core.features.submissions.rules.registry import rule
from core.features.submissions.tracks import NO_TRACE

MANY_TIES = 0.1  # of the rows


@rule("constant_column", "warning")
def constant_column(file: File) -> Iterator[Finding]:
    """A prediction column with one value on every row."""
    if file.sheet is not None and len(file.sheet.lines) > 1:
        names = [
            name
            for pair in file.layout.predictions
            for name in pair
            if len(set(file.sheet.columns.get(name, ()))) == 1
        ]
        if names:
            yield Finding(
                (), f"{', '.join(names)}: the same on every row ({file.sheet.columns[names[0]][0]})"
            )


@rule("equal_columns", "warning")
def equal_columns(file: File) -> Iterator[Finding]:
    """Two equal prediction columns whose values vary between rows."""
    if file.sheet is not None:
        seen: dict[tuple[str, ...], str] = {}
        for name in (name for pair in file.layout.predictions for name in pair):
            cells = file.sheet.columns.get(name, ())
            if len(set(cells)) > 1 and seen.setdefault(cells, name) != name:
                yield Finding((), f"{name}: on every row the same as {seen[cells]}")


@rule("ties", "warning")
def ties(file: File) -> Iterator[Finding]:
    """Many rows with the same two numbers as another row."""
    both = list(file.cells(*file.layout.predictions[0]))
    often = Counter(cells for _, cells in both)
    tied = [row for row, cells in both if often[cells] > 1]
    if tied and len(tied) > MANY_TIES * len(both):
        share = f"{len(tied) / len(both):.0%} of the rows share both numbers with another"
        yield Finding(tied, f"{share}; {len(often):,} distinct answers on {len(both):,} rows")


@rule("trace_differs", "warning")
def trace_differs(file: File) -> Iterator[Finding]:
    """Rows whose trace states other probabilities than the file, or whose answers contradict their
    numbers."""
    differ = [
        result.prediction.pair_id
        for result in file.results
        if Flag.TRACE_DIFFERS in result.prediction.flags
    ]
    if differ:
        message = (
            f"{len(differ):,} traces state probabilities that do not give the submitted numbers, "
        )
        message += (
            f"the first {list_names(differ[:1])}; if they were fused afterwards, the trace should"
            " show the arithmetic"
        )
        yield Finding(differ, message)
    seeds = {
        (row := result.prediction.pair_id): [
            f"{row} {event.stage}" for event in result.events if "reads" in event.meta
        ]
        for result in file.results
        if Flag.ANSWER_DIFFERS in result.prediction.flags
    }
    if seeds:
        yield Finding(
            list(seeds), describe_differing([seed for of_row in seeds.values() for seed in of_row])
        )


@rule("fallbacks", "warning")
def fallbacks(file: File) -> Iterator[Finding]:
    """Rows without an answer of their own: .333/.333, or a fallback named in the trace."""
    flags_of = {}
    for result in file.results:
        prediction = result.prediction
        flags = [flag for flag in prediction.flags if flag in FALLBACKS]
        # Track A: disagreeing seeds may average to a third; `read_submission` flags the other rows.
        if (
            not flags
            and file.layout.track != "A"
            and is_uniform(prediction.prediction_up, prediction.prediction_down)
        ):
            flags = [Flag.UNIFORM]
        if flags:
            flags_of[prediction.pair_id] = flags
    if flags_of:
        counts = Counter(flag for flags in flags_of.values() for flag in flags)
        kinds = ", ".join(f"{FLAG_NAMES[flag]}: {n:,}" for flag, n in sorted(counts.items()))
        yield Finding(
            list(flags_of), f"{len(flags_of):,} rows have no answer of their own ({kinds})"
        )


@rule("fewer_seeds", "warning")
def fewer_seeds(file: File) -> Iterator[Finding]:
    """Rows that average fewer seeds than requested, according to the run or the trace."""
    flagged = {
        result.prediction.pair_id
        for result in file.results
        if Flag.FEWER_SEEDS in result.prediction.flags
    }
    present = {result.prediction.pair_id for result in file.results}
    rows = sorted(flagged | (present & set(file.provenance.fewer_seeds)))
    if rows:
        yield Finding(
            rows, f"{len(rows):,} rows average fewer seeds than requested: {list_names(rows)}"
        )


@rule("seed_is_mean", "warning", "A")
def seed_is_mean(file: File) -> Iterator[Finding]:
    """Rows where one seed's cells equal the submitted mean and other seeds differ, for instance
    because the seed gave no answer.
    """
    submitted, *seeds = file.layout.predictions
    known = set(file.provenance.repeated)
    rows = []
    for row, cells in file.cells(*submitted, *(name for names in seeds for name in names)):
        mean, *answers = zip(cells[::2], cells[1::2], strict=True)
        if mean in answers and set(answers) != {mean} and row not in known:
            rows.append(row)
    if rows:
        what = "if the seed gave no answer, the mean is over fewer seeds than requested"
        yield Finding(
            rows,
            f"{len(rows):,} rows in which a seed's numbers are the submitted mean; {what}:"
            f" {list_names(rows)}",
        )


@rule("empty_traces", "warning")
def empty_traces(file: File) -> Iterator[Finding]:
    """Rows with an empty trace."""
    silent = {result.prediction.pair_id for result in file.results if not result.events}
    for name in file.layout.traces:
        empty = [
            row
            for row, (text,) in file.cells(name)
            if text.strip()
            and (text.strip() == NO_TRACE or (file.layout.track != "A" and row in silent))
        ]
        if empty:
            yield Finding(empty, f"{name}: {len(empty):,} rows without a trace")


@rule("uncounted", "warning")
def report_uncounted(file: File) -> Iterator[Finding]:
    """Counts of 0 that must be wrong: of tokens in a row with a trace, of tools in a row with tool
    calls."""
    for column in ("tokens_used", "prompt_tokens"):
        if column in file.layout.counts:
            field = "tokens" if column == "tokens_used" else column
            unknown = {
                r.prediction.pair_id
                for r in file.results
                if r.events and getattr(r.prediction, field) is None
            }
            zero = [
                row for row, (text,) in file.cells(column) if count_in(text) == 0 and row in unknown
            ]
            if zero:
                yield Finding(
                    zero,
                    f"{column}: 0 on {len(zero):,} rows that have a trace, so it was not counted:"
                    f" {list_names(zero)}",
                )
    if file.layout.track == "B":
        cells = file.cells("num_tool_calls", "num_distinct_tools")
        without = [row for row, (calls, tools) in cells if count_in(calls) and count_in(tools) == 0]
        if without:
            yield Finding(
                without,
                f"num_distinct_tools: 0 on {len(without):,} rows with tool calls:"
                f" {list_names(without)}",
            )


@rule("prompt_tokens_vary", "warning", "B")
def prompt_tokens_vary(file: File) -> Iterator[Finding]:
    """Rows whose prompt_tokens differ from most rows: system prompt and tools are the same
    throughout a run."""
    found = [(row, text) for row, (text,) in file.cells("prompt_tokens") if text.strip()]
    most = Counter(text for _, text in found).most_common(1)
    odd = [row for row, text in found if text != most[0][0]]
    if odd:
        yield Finding(
            odd,
            f"prompt_tokens: {len(odd):,} rows differ from {most[0][0]}, expected one value for the"
            " whole run",
        )
