"""Concerns: what to check in a workspace before trusting a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.base.types import Flag


@dataclass(frozen=True, slots=True)
class Concern:
    """One thing to check; run: an id, or None for the workspace; text: for people; flag: a filter
    for rows.

    on_run_page: whether the page Run has buttons to resolve it. cause: why the run ended, "" if the
    text already says it.
    """

    run: str | None
    text: str
    flag: str | None = None
    on_run_page: bool = False
    cause: str = ""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts behind a run's concerns: its state, counts of rows and flags, and further remarks.

    can_go_on: whether a worker of this workspace can resume it.
    """

    id: str
    name: str
    state: str
    cause: str
    can_go_on: bool
    total: int
    done: int
    failed: int
    tokens_unknown: int
    flags: Mapping[str, int]
    remarks: tuple[str, ...] = ()


def find_concerns(runs: Sequence[RunFacts], rejected: int) -> list[Concern]:
    """Return the concerns of all runs; within each run, the most serious comes first."""
    found = [concern for run in runs for concern in _concerns_of_run(run)]
    if rejected:
        found.append(Concern(None, f"{rejected:,} rows of imported files could not be read"))
    return found


# States of a run that waits for a person → a description, and what to do.
_ENDINGS = {
    "crashed": ("crashed", "resume it on the page Run"),
    "interrupted": ("interrupted", "resume it on the page Run"),
    "stopped": ("stopped", "fix the cause, then resume it on the page Run"),
    "budget": ("token budget spent", "resume it on the page Run with a larger budget"),
    "cancelled": ("cancelled", "resume it on the page Run, or leave it"),
}
_SENTENCES = {
    Flag.ROLE_COLLAPSE: "a brief answers the multiple-choice question instead of arguing",
    Flag.DE_FALLBACK: "the judge's P(DE) was unreadable; a constant replaces it",
    Flag.DIR_FALLBACK: "the judge's P(up | DE) was unreadable; a constant replaces it",
    Flag.UNIFORM: "nothing was predicted (.333/.333)",
    Flag.UNCOVERED: (
        "no labelled row is similar; base rates are used instead (the middle rank in a fusion)"
    ),
    Flag.UNCOVERED_DIR: (
        "no similar row has a direction; P(up | DE) is the base rate (the middle rank in a fusion)"
    ),
    Flag.NOT_PREDICTED: (
        "not in the file of predicted expression; the training split's base rates are used instead"
    ),
    Flag.PARTLY_COVERED: (
        "a component of the fusion has no prediction; only the other components are used"
    ),
    Flag.NO_DE: "not ranked by an effect: no DE score",
    Flag.NO_DIR: "not ranked by direction: no DIR score",
    Flag.NO_KNOWLEDGE: "no knowledge pack covers one of the genes, so it has no summary",
    Flag.INSUFFICIENT: "a sample calls the evidence insufficient and counts as .5",
    Flag.FEWER_SEEDS: (
        "a mean over fewer seeds or epochs than requested; other answers were unreadable"
    ),
    Flag.TRACE_DIFFERS: "the submitted numbers differ from the trace: the file was changed later",
    Flag.ANSWER_DIFFERS: "a model's text ends in another answer than its number",
}


def _concerns_of_run(run: RunFacts) -> list[Concern]:
    found = []
    if run.state in _ENDINGS:
        words, to_do = _ENDINGS[run.state]
        text = (
            f"{words}: {run.done + run.failed:,} of {run.total:,} rows are"
            f" finished{f'; {to_do}' if run.can_go_on else ''}"
        )
        found.append(Concern(run.id, text, on_run_page=run.can_go_on, cause=run.cause))
    if run.failed:
        found.append(Concern(run.id, f"{run.failed:,} of {run.done + run.failed:,} rows failed"))
    for flag, sentence in _SENTENCES.items():
        n = run.flags.get(flag, 0)
        if n:
            found.append(Concern(run.id, f"{n:,} of {run.done:,} rows: {sentence}", flag))
    found += [Concern(run.id, remark) for remark in run.remarks]
    if 0 < run.tokens_unknown < run.done:
        found.append(
            Concern(run.id, f"token count missing for {run.tokens_unknown:,} of {run.done:,} rows")
        )
    return found
