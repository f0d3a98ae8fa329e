"""Concerns: what a person should look at in a workspace before believing a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.types import Flag


@dataclass(frozen=True, slots=True)
class Concern:
    """One thing to look at; run: an id, or None for the workspace; text: in words; flag: to filter rows by.

    on_run_page: whether the page Run has the buttons for what to do. cause: of a run's ending, "" if it says no more.
    """

    run: str | None
    text: str
    flag: str | None = None
    on_run_page: bool = False
    cause: str = ""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts about a run that concerns follow from: its state, counts of rows and flags, and further remarks.

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
    """Return the concerns of all runs, the most serious first within each run."""
    found = [concern for run in runs for concern in _concerns_of_run(run)]
    if rejected:
        found.append(Concern(None, f"{rejected:,} rows of imported files could not be read"))
    return found


# States in which a run waits for a person → in words, and what there is to do.
_ENDINGS = {
    "crashed": ("crashed", "resume it on the page Run"),
    "interrupted": ("interrupted", "resume it on the page Run"),
    "stopped": ("stopped", "mend the cause, then resume it on the page Run"),
    "budget": ("token budget spent", "resume it on the page Run with a larger one"),
    "cancelled": ("cancelled", "resume it on the page Run, or leave it"),
}
_SENTENCES = {
    Flag.ROLE_COLLAPSE: "a brief answers the multiple-choice question instead of arguing",
    Flag.DE_FALLBACK: "the judge's P(DE) could not be read; a constant replaces it",
    Flag.DIR_FALLBACK: "the judge's P(up | DE) could not be read; a constant replaces it",
    Flag.UNIFORM: "nothing was predicted (.333/.333)",
    Flag.UNCOVERED: "no labelled row is similar; base rates stand in, in a fusion the middle rank",
    Flag.UNCOVERED_DIR: "no similar row has a direction; for P(up | DE) the base rate stands in, in a fusion the middle rank",
    Flag.NOT_PREDICTED: "not in the file of predicted expression; the training split's base rates stand in",
    Flag.PARTLY_COVERED: "a component of the fusion has no prediction; only the others are used",
    Flag.NO_DE: "not ranked by an effect: no DE score",
    Flag.NO_DIR: "not ranked by direction: no DIR score",
    Flag.NO_KNOWLEDGE: "no knowledge pack says anything of one of the genes, which has no summary",
    Flag.INSUFFICIENT: "a sample calls the evidence insufficient, which counts .5",
    Flag.FEWER_SEEDS: "a mean over fewer seeds or epochs than asked; the answers under the others could not be read",
    Flag.TRACE_DIFFERS: "the submitted numbers differ from those of the trace: the file was changed later",
    Flag.ANSWER_DIFFERS: "a model's text ends in another answer than the number beside it says",
}


def _concerns_of_run(run: RunFacts) -> list[Concern]:
    found = []
    if run.state in _ENDINGS:
        words, to_do = _ENDINGS[run.state]
        text = f"{words}: {run.done + run.failed:,} of {run.total:,} rows are finished{f'; {to_do}' if run.can_go_on else ''}"
        found.append(Concern(run.id, text, on_run_page=run.can_go_on, cause=run.cause))
    if run.failed:
        found.append(Concern(run.id, f"{run.failed:,} of {run.done + run.failed:,} rows failed"))
    for flag, sentence in _SENTENCES.items():
        n = run.flags.get(flag, 0)
        if n:
            found.append(Concern(run.id, f"{n:,} of {run.done:,} rows: {sentence}", flag))
    found += [Concern(run.id, remark) for remark in run.remarks]
    if 0 < run.tokens_unknown < run.done:
        found.append(Concern(run.id, f"token count missing for {run.tokens_unknown:,} of {run.done:,} rows"))
    return found
