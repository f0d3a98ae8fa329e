"""Concerns: what a person should look at in a workspace before believing a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.types import Flag


@dataclass(frozen=True, slots=True)
class Concern:
    """One thing to look at; run: an id, or None for the workspace; text: in words; flag: to filter rows by."""

    run: str | None
    text: str
    flag: str | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts about a run that concerns follow from: counts of rows, counts of flags, and further remarks."""

    id: str
    name: str
    done: int
    failed: int
    tokens_unknown: int
    flags: Mapping[str, int]
    remarks: tuple[str, ...] = ()


def find_concerns(runs: Sequence[RunFacts], rejected: int) -> list[Concern]:
    """The concerns of all runs, the most serious first within each run."""
    found = [concern for run in runs for concern in _concerns_of_run(run)]
    if rejected:
        found.append(Concern(None, f"{rejected:,} rows of imported files could not be read"))
    return found


_SENTENCES = {
    Flag.ROLE_COLLAPSE: "a brief answers the multiple-choice question instead of arguing",
    Flag.DE_FALLBACK: "the judge's P(DE) could not be read; a constant replaces it",
    Flag.DIR_FALLBACK: "the judge's P(up | DE) could not be read; a constant replaces it",
    Flag.UNIFORM: "nothing was predicted (.333/.333)",
    Flag.UNCOVERED: "no labelled row is similar; both probabilities are set to .5",
    Flag.UNCOVERED_DIR: "no similar row has a direction; P(up | DE) is set to .5",
    Flag.PARTLY_COVERED: "a component of the fusion has no prediction; only the others are used",
    Flag.FEWER_SEEDS: "a mean over fewer seeds than asked; the answers under the others could not be read",
    Flag.TRACE_DIFFERS: "the submitted numbers differ from those of the trace: the file was changed later",
}


def _concerns_of_run(run: RunFacts) -> list[Concern]:
    found = []
    if run.failed:
        found.append(Concern(run.id, f"{run.failed:,} of {run.done + run.failed:,} rows failed"))
    for flag, sentence in _SENTENCES.items():
        n = run.flags.get(flag, 0)
        if n:
            found.append(Concern(run.id, f"{n:,} of {run.done:,} rows: {sentence}", flag))
    found += [Concern(run.id, remark) for remark in run.remarks]
    if 0 < run.tokens_unknown < run.done:
        found.append(Concern(run.id, f"{run.tokens_unknown:,} of {run.done:,} rows: the number of tokens is unknown"))
    return found
