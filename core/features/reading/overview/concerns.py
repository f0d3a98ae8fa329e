"""Concerns: what to check in a workspace before trusting a number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter

import streamlit as st

from core.base.environment import describe as describe_version
from core.base.hashes import sha256_of
from core.base.types import FLAG_NAMES, LIVE_STATES, Flag
from core.features import hooks
from core.runs.jobs.control import Job, kinds
from core.store import kept_results
from core.store.runs import Run
from core.ui import links, shell
from core.ui.background import Progress, Result, background
from core.ui.loaders.cache import cache_by, reading, versions_of
from core.ui.loaders.records import all_runs, other_jobs, rejected_rows
from core.ui.loaders.scores import flag_counts
from core.ui.server_workspace import read_workspace
from core.ui.shell import PageContext
from core.ui.widgets import as_text


def _say(text: str) -> object:
    return st.caption(as_text(text))


@dataclass(frozen=True, slots=True)
class Concern:
    """One thing to check. of: what it is about. show: draws the text, or a link with it. cause: why
    the run or job ended, "" if the text says it."""

    of: str
    text: str
    show: Callable[[str], object] = _say
    cause: str = ""


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


def concerns_of_run(
    run: Run, flags: Mapping[str, int], remarks: Iterable[str] = (), *, can_go_on: bool
) -> Iterator[Concern]:
    """Yield the concerns of a run, the most serious first. flags: numbers of rows by flag.
    can_go_on: whether a worker of this workspace can resume it."""
    finished = run.done + run.failed
    if run.status in _ENDINGS:
        words, to_do = _ENDINGS[run.status]
        text = f"{words}: {finished:,} of {run.total:,} rows are finished"
        yield (
            Concern(run.name, f"{text}; {to_do}", partial(links.to_run_page, run), run.cause)
            if can_go_on
            else Concern(run.name, text, cause=run.cause)
        )
    if run.failed:
        yield Concern(run.name, f"{run.failed:,} of {finished:,} rows failed")
    for flag, sentence in _SENTENCES.items():
        if n := flags.get(flag, 0):
            show = partial(links.to_rows, run, flags=FLAG_NAMES[flag])
            yield Concern(run.name, f"{n:,} of {run.done:,} rows: {sentence}", show)
    for remark in remarks:
        yield Concern(run.name, remark)
    if 0 < run.tokens_unknown < run.done:
        counted = f"{run.tokens_unknown:,} of {run.done:,}"
        yield Concern(run.name, f"token count missing for {counted} rows")


_LEAKS = "concerns"
_WATCH_S = 5.0  # between two reads of the states of runs
MOST_FIRST = 3  # on the first screen


def show_first(context: PageContext) -> None:
    """Show the most urgent things to check, and how many more there are below."""
    concerns = _collect(context)
    st.markdown("**Needs attention**")
    if not concerns:
        st.caption("Nothing.")
    first: dict[str, Concern] = {}  # of each
    for concern in concerns:
        first.setdefault(concern.of, concern)
    shown = list(first.values())[:MOST_FIRST]
    for concern in shown:
        with st.container(gap="xxsmall"):
            st.caption(as_text(concern.of))
            concern.show(concern.text)
    if (more := len(concerns) - len(shown)) > 0:
        st.caption(f"and {more:,} more, below")


def show_all(context: PageContext) -> None:
    """Show everything to check before trusting a number, first the work that waits for a person."""
    concerns = _collect(context)
    if not concerns:
        st.caption(
            "Nothing. No run or other work ended early. No row lacks an answer or a seed. Every"
            " role argued its side. No row was rejected. No leak was found."
        )
    if _find_leaks(context).value:
        links.to_data("How splits, spaces and runs were checked for leaks", tab="Spaces and leaks")
    for of, group in groupby(concerns, key=attrgetter("of")):
        name, side = st.columns([0.28, 0.72])
        name.text(of)
        with side.container(gap="xxsmall"):
            for concern in group:
                concern.show(concern.text)
                if concern.cause:
                    st.caption(as_text(concern.cause))


def _collect(context: PageContext) -> list[Concern]:
    """Return everything to check, the work that waits for a person first."""
    waiting, others = list[Concern](), list[Concern]()
    for run in context.runs:
        can_go_on = read_workspace().run_folder(run.id).exists
        # The score of each leave-one-out kNN beside that without gene information, which
        # leave-one-out inflates too.
        remarks = [
            sentence
            for describe in hooks("protocol_sentences")
            for kind, sentence in describe(run.id)
            if kind == "loo"
        ]
        found = concerns_of_run(run, flag_counts(run.id), remarks, can_go_on=can_go_on)
        (waiting if can_go_on and run.status in _ENDINGS else others).extend(found)
    for job in other_jobs():
        if job.ended_early:
            title = f"{kinds()[job.kind].title}: {job.words}"
            show = partial(links.to_job, job) if job.page else _say
            waiting.append(Concern(job.name, title, show, job.cause))
    leaks = _find_leaks(context)
    for name, what in leaks.value or ():
        waiting.append(Concern(name, what, lambda text: st.markdown(as_text(text))))
    if not leaks.ready:
        waiting.append(Concern("leaks", "Looking for leaks …"))
    if rejected := len(rejected_rows()):
        text = f"{rejected:,} rows of imported files could not be read"
        others.append(Concern("imported files", text, partial(links.to_data, tab="History")))
    return [*waiting, *others]


def _find_leaks(context: PageContext) -> Result:
    """Return where the dataset leaks, and how: as it is kept, else computed in the background."""
    if context.dataset is None:
        return Result(ready=True)
    dataset, workspace = context.dataset.id, context.workspace
    followed = (describe_version(), *versions_of(map(attrgetter("id"), context.runs)))
    basis = sha256_of(json.dumps(followed))
    if (kept := _kept_leaks(dataset, basis)) is not None:
        return Result(ready=True, value=json.loads(kept))

    def compute(progress: Progress) -> list[tuple[str, str]]:
        found = [leak for find in hooks("concerns") for leak in find(workspace, dataset, progress)]
        workspace.keep(_LEAKS, [(dataset, basis, json.dumps(found))])
        return found

    return background().ask(("leaks", dataset, basis), compute)


@cache_by(entries=4)
def _kept_leaks(dataset: str, basis: str) -> str | None:
    with reading() as db:
        return kept_results.find(db, _LEAKS, {dataset: basis}).get(dataset)


def watch_states(context: PageContext) -> None:
    """Redraw the page when the state of a run or job changes, as long as one is running, and when
    the search for leaks has ended."""
    jobs = other_jobs()
    drawn = _states_of(context.runs, jobs)
    is_looking = not _find_leaks(context).ready

    def look() -> None:
        is_done = is_looking and _find_leaks(context).ready
        # also if a run or job is gone
        if is_done or drawn.items() - _states_of(all_runs(), other_jobs()).items():
            shell.draw_page_anew()

    is_working = not {*LIVE_STATES}.isdisjoint(drawn.values())
    if is_looking or is_working or any(job.is_live for job in jobs):
        shell.fragment(look, every_s=_WATCH_S)()


def _states_of(runs: Iterable[Run], jobs: Iterable[Job]) -> dict[str, str]:
    return {run.id: run.status for run in runs} | {job.key: job.state for job in jobs}
