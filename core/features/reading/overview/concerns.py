"""Concerns: what to check in a workspace before trusting a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import streamlit as st

from core.base.types import FLAG_NAMES, LIVE_STATES, Flag
from core.features import hooks
from core.runs.jobs.control import kinds
from core.store.runs import Run
from core.ui import links, shell
from core.ui.loaders.records import all_runs, other_jobs, rejected_rows
from core.ui.loaders.rows import flag_counts
from core.ui.server_workspace import read_workspace
from core.ui.shell import PageContext
from core.ui.widgets import as_text


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


_WATCH_S = 5.0  # between two reads of the states of runs
MOST_FIRST = 3  # on the first screen


@dataclass(frozen=True, slots=True)
class Line:
    """One thing to check: its group and the function that draws it, as text or as a link."""

    of: str
    show: Callable[[], object]
    cause: str = ""
    is_leak: bool = False


def show_first(context: PageContext) -> None:
    """Show the most urgent things to check, and how many more there are below."""
    lines = _collect(context)
    st.markdown("**Needs attention**")
    if not lines:
        st.caption("Nothing.")
    first = list({line.of: line for line in reversed(lines)}.values())[::-1]  # the first of each
    for line in first[:MOST_FIRST]:
        with st.container(gap="xxsmall"):
            st.caption(as_text(line.of))
            line.show()
    if (more := len(lines) - len(first[:MOST_FIRST])) > 0:
        st.caption(f"and {more:,} more, below")


def show_all(context: PageContext) -> None:
    """Show everything to check before trusting a number, first the work that waits for a person."""
    lines = _collect(context)
    if not lines:
        st.caption(
            "Nothing. No run or other work ended early. No row lacks an answer or a seed. Every"
            " role argued its side. No row was rejected. No leak was found."
        )
    if any(line.is_leak for line in lines):
        links.to_data("How splits, spaces and runs were checked for leaks", tab="Spaces and leaks")
    for of, group in groupby(lines, key=lambda line: line.of):
        name, side = st.columns([0.28, 0.72])
        name.text(of)
        with side.container(gap="xxsmall"):
            for line in group:
                line.show()
                if line.cause:
                    st.caption(as_text(line.cause))


def _collect(context: PageContext) -> list[Line]:
    """Return everything to check, the work that waits for a person first."""
    by_run = {run.id: run for run in context.runs}
    facts = [
        RunFacts(
            id=run.id,
            name=run.name,
            state=run.status,
            cause=run.cause,
            can_go_on=read_workspace().run_folder(run.id).exists,
            total=run.total,
            done=run.done,
            failed=run.failed,
            tokens_unknown=run.tokens_unknown,
            flags=flag_counts(run.id),
            # The score of each leave-one-out kNN beside that without gene information, which
            # leave-one-out inflates too.
            remarks=tuple(
                sentence
                for describe in hooks("protocol_sentences")
                for kind, sentence in describe(run.id)
                if kind == "loo"
            ),
        )
        for run in context.runs
    ]
    found = find_concerns(facts, len(rejected_rows()))
    waiting = {each.run for each in found if each.on_run_page}
    of_runs = [(each, by_run[each.run]) for each in found if each.run is not None]
    id_ = context.dataset.id if context.dataset else None
    leaks = [leak for find in hooks("concerns") if id_ for leak in find(id_)]
    return [
        *(_line_of_concern(each, run) for each, run in of_runs if run.id in waiting),
        *(
            Line(
                job.name,
                partial(links.to_job, job, f"{kinds()[job.kind].title}: {job.words}"),
                job.cause or "",
            )
            for job in other_jobs()
            if job.ended_early
        ),
        *(Line(name, partial(st.markdown, as_text(what)), is_leak=True) for name, what in leaks),
        *(_line_of_concern(each, run) for each, run in of_runs if run.id not in waiting),
        *(
            Line("imported files", partial(links.to_data, each.text, tab="History"))
            for each in found
            if each.run is None
        ),
    ]


def _line_of_concern(concern: Concern, run: Run) -> Line:
    if concern.on_run_page:
        show: Callable[[], object] = partial(links.to_run_page, run, concern.text)
    elif concern.flag is None:
        show = partial(st.caption, as_text(concern.text))
    else:
        show = partial(links.to_rows, run, concern.text, flags=FLAG_NAMES[Flag(concern.flag)])
    return Line(run.name, show, concern.cause)


def watch_states(context: PageContext) -> None:
    """Redraw the page when the state of a run or job changes, as long as one is running."""
    jobs = other_jobs()
    drawn = {run.id: run.status for run in context.runs} | {job.key: job.state for job in jobs}

    def look() -> None:
        now = {run.id: run.status for run in all_runs()} | {
            job.key: job.state for job in other_jobs()
        }
        if any(drawn.get(key, state) != state for key, state in now.items()):
            shell.draw_page_anew()

    if any(state in LIVE_STATES for state in drawn.values()) or any(job.is_live for job in jobs):
        shell.fragment(look, every_s=_WATCH_S)()
