"""The ledger of hypotheses: register one before its result, record what came out, list, import.

Entries are only ever added: no function here, and none below, changes or deletes one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime

from scipy.special import ndtri

from core.base.environment import describe
from core.base.errors import InputError, NotFound, StateError
from core.base.experiment import Arm, Experiment
from core.base.texts import check_name, list_known
from core.features.experiments import ledger_table
from core.features.experiments.comparison_log import look_at, looked_by_dataset, pair_of_arms
from core.features.experiments.ledger_result import LedgerResult, ledger_of
from core.features.experiments.ledger_table import (
    HERE,
    LADDER,
    PUBLISHED,
    DecisionRule,
    Entry,
    judged,
    read_published,
)
from core.features.experiments.result import METRICS, ArmResult, ExperimentResult
from core.runs.workspace import Workspace
from core.scoring.compare_runs import compare_runs
from core.scoring.run_scores import load_scored_rows
from core.stats.delong import Estimate
from core.store import Cursor, changes, datasets, runs
from core.store.runs import Run

MAX_TEXT = 2_000  # characters of a hypothesis, a prediction


def list_entries(workspace: Workspace) -> list[Entry]:
    """Return every entry, in the order in which they were written."""
    with workspace.store.read() as db:
        return ledger_table.list_all(db)


def list_ledger(workspace: Workspace) -> LedgerResult:
    """Return the ledger, its p corrected for all tests and comparisons on a dataset."""
    return ledger_of(list_entries(workspace), looked_by_dataset(workspace))


def claim(name: str, hypothesis: str, prediction: str) -> Entry:
    """Return a hypothesis of here, to register. prediction: what will be seen if it is true."""
    check_name("hypothesis", name)
    for what, text in (("hypothesis", hypothesis), ("prediction", prediction)):
        if not 0 < len(text.strip()) <= MAX_TEXT:
            expected = f"{len(text.strip()):,} characters, expected 1 to {MAX_TEXT:,}"
            raise InputError(f"{name}: {what}: {expected}")
    claimed, seen = hypothesis.strip(), prediction.strip()
    return Entry(
        kind="registration", source=HERE, name=name.strip(), hypothesis=claimed, prediction=seen
    )


def register(
    workspace: Workspace, entry: Entry, rule: DecisionRule, pair: tuple[str, str]
) -> Entry:
    """Register a hypothesis about two runs. A second one of its name and dataset is refused.

    pair: the run to beat, by name or id, and the run that should; one that is still to come by its
    name.
    """
    workspace.refuse_if_read_only("register hypothesis", entry.name)
    check_name("run", pair[1])
    b: Run | None = None
    with workspace.store.read() as db:
        a = runs.find_predicting(db, pair[0])
        with suppress(NotFound):
            b = runs.find_predicting(db, pair[1])
        dataset = datasets.find(db, a.dataset).name
    if b and b.dataset != a.dataset:
        raise InputError(f"{a.name} and {b.name}: on different datasets; expected runs on one")
    wanted = replace(
        entry,
        dataset=dataset,
        **asdict(rule),
        run_a=a.id,
        run_b=b.id if b else None,
        name_a=a.name,
        name_b=b.name if b else pair[1],
        seen_before=b is not None and a.status == b.status == "done",
    )
    return _add_once(workspace, "register hypothesis", [wanted])[0]


def record(workspace: Workspace, name: str, dataset: str = "") -> Entry:
    """Record the result of a registered hypothesis, computed from its two runs by its rule.

    dataset: needed where several have a hypothesis of that name. Raise NotFound for an unknown
    hypothesis or run, StateError for a run that is not done, InputError for runs on different
    datasets.
    """
    workspace.refuse_if_read_only("record result", name)
    with workspace.store.read() as db:
        about = datasets.find(db, dataset).name if dataset else ""
        registration = _find_registration(db, name, about)
        if registration.experiment is not None:
            records = f"which the experiment {registration.experiment!r} records when it is done"
            raise InputError(f"{name}: a hypothesis {records}")
        a, b = (_registered_run(db, registration, side) for side in "ab")
        compared = compare_runs(*(load_scored_rows(db, run.id) for run in (a, b)))
    entry = replace(
        registration,
        run_a=a.id,
        run_b=b.id,
        name_a=a.name,
        name_b=b.name,
        public=b.public_score,
        scored=compared.scored,
        seen_before=result_was_there(registration.written_at, a, b),
    )
    change = getattr(compared.covered, str(registration.metric))
    result = _result(entry, change.before, change.after, change.change)
    return _add_once(workspace, "record result", [result])[0]


def _result(entry: Entry, a: Estimate, b: Estimate, change: Estimate) -> Entry:
    """Return the result of b - a on labelled rows. Raise InputError if it is undefined."""
    if math.isnan(change.value) or entry.smallest_effect is None:
        problem = "their metric is undefined on the rows that both cover, so no result"
        raise InputError(
            f"{entry.name_a} and {entry.name_b}: {problem}; expected rows with both classes of"
            " labels"
        )
    result = judged(entry, change.shown, entry.smallest_effect)
    # NaN equals nothing, so that the entry would never be there
    se = None if math.isnan(b.shown.se) else b.shown.se
    return replace(
        result, measured_on="labelled rows", score_a=a.value, score_b=b.value, score_se=se
    )


def result_was_there(registered_at: datetime | None, *made: Run) -> bool:
    """Return whether runs had ended when a hypothesis was registered: its result could be seen."""
    ends = [run.finished_at or (run.status == "done" and run.created_at) for run in made]
    return registered_at is not None and all(end and end <= registered_at for end in ends)


def _find_registration(db: Cursor, name: str, dataset: str) -> Entry:
    """Return the registration of a hypothesis made here. dataset: its name, "" for any."""
    here = (HERE, "registration")
    own = [each for each in ledger_table.list_all(db) if (each.source, each.kind) == here]
    matching = [each for each in own if each.name == name and dataset in ("", each.dataset)]
    if not matching:
        names = list(dict.fromkeys(entry.name for entry in own))
        raise NotFound(f"hypothesis {name!r}: not registered here, {list_known(name, names)}")
    if len(matching) > 1:
        on = ", ".join(str(entry.dataset) for entry in matching)
        raise StateError(f"hypothesis {name!r}: on {on}; expected one of these datasets")
    return matching[0]


def _registered_run(db: Cursor, registration: Entry, side: str) -> Run:
    run_id, name = (getattr(registration, f"{what}_{side}") for what in ("run", "name"))
    run = runs.find_predicting(db, run_id or name)
    if run.status != "done":
        raise StateError(f"{run.name}: {run.status}, expected a run that is done")
    return run


def register_experiment(workspace: Workspace, experiment: Experiment) -> None:
    """Register what an experiment tests, before its first arm is made: its hypothesis, or without
    one that each arm differs from the base.

    Arms that are computed are no hypotheses. Raise InputError for a name under which the ledger
    holds a hypothesis about other arms.
    """
    with workspace.store.read() as db:
        dataset = datasets.find(db, experiment.dataset).name
        there = {(entry.about, _arms(entry)) for entry in ledger_table.list_all(db)}
    claims = [_claim_of(experiment, arm, dataset) for arm in _tested(experiment)]
    _add_once(
        workspace,
        "register hypothesis",
        [entry for entry in claims if (entry.about, _arms(entry)) not in there],
    )


def _arms(entry: Entry) -> tuple[str | None, ...]:
    return entry.experiment, entry.name_a, entry.name_b


def _tested(experiment: Experiment) -> list[Arm]:
    hypothesis = experiment.hypothesis
    return [arm for arm in experiment.arms if hypothesis is None or arm.name == hypothesis.arm]


def _claim_of(experiment: Experiment, arm: Arm, dataset: str) -> Entry:
    """Return what an experiment claims of an arm, as an entry to register."""
    name, hypothesis, by_score = (
        experiment.name,
        experiment.hypothesis,
        experiment.measure == "score",
    )
    what = (
        f"{METRICS[experiment.metric]} changes"
        if by_score
        else "answers move more than by asking again"
    )
    texts = (experiment.question, f"{arm.name} against {experiment.base.name}: {what}")
    if hypothesis is not None:
        texts = hypothesis.claim, hypothesis.prediction
    elif len(experiment.arms) > 1 or arm.name not in name:
        name = f"{name}: {arm.name}"
    return replace(
        claim(name, *texts),
        dataset=dataset,
        metric=experiment.metric if by_score else None,
        smallest_effect=experiment.smallest_effect if by_score else None,
        name_a=experiment.base.name,
        name_b=arm.name,
        experiment=experiment.name,
    )


def record_experiment(
    workspace: Workspace, experiment: Experiment, result: ExperimentResult
) -> None:
    """Record what came out of the arms that an experiment registered, by the rules registered
    first; the same again changes nothing. Its other comparisons count among those that were looked
    at."""
    arms, results = {arm.name: arm for arm in result.arms}, list[Entry]()
    base = arms[experiment.base.name]
    with workspace.store.read() as db:
        dataset = datasets.find(db, experiment.dataset)
        for tested in _tested(experiment):
            arm, name = arms[tested.name], _claim_of(experiment, tested, dataset.name).name
            registration = _find_registration(db, name, dataset.name)
            is_late = result_was_there(
                registration.written_at, *(_first_done(db, each) for each in (base, arm))
            )
            entry = replace(registration, scored=arm.scored, seen_before=is_late)
            results += _arm_results(entry, base, arm)
    names = {entry.name_b for entry in _add_once(workspace, "record result", results)}
    compared = [(base.name, arm.name, arm.p) for arm in result.arms if arm.name not in names]
    compared += [(pair.b, pair.a, pair.p) for pair in result.contrasts]
    pairs = [(*pair_of_arms(experiment.name, a, b), p) for a, b, p in compared if not math.isnan(p)]
    look_at(workspace, dataset.id, pairs)


def _first_done(db: Cursor, arm: ArmResult) -> Run:
    made = [runs.find_predicting(db, run) for run in arm.runs]
    return min(made, key=lambda run: run.finished_at or datetime.max)


def _arm_results(entry: Entry, base: ArmResult, arm: ArmResult) -> list[Entry]:
    """Return the result of an arm; none if it is undefined. |Δ|, which has no metric, has the z of
    its p."""
    if entry.metric is not None:
        a, b = getattr(base, entry.metric), getattr(arm, entry.metric)
        change = getattr(arm, f"delta_{entry.metric}")
        return [] if math.isnan(change.value) else [_result(entry, a, b, change)]
    if arm.moved is None or arm.floor is None or math.isnan(arm.p):
        return []
    return [
        replace(
            entry,
            kind="result",
            estimate=arm.moved.value - arm.floor.value,
            z=float(-ndtri(arm.p / 2)),
            n=arm.n,
            verdict="answers moved" if arm.is_shown else "not shown to move answers",
            measured_on="answers",
        )
    ]


def import_file(workspace: Workspace, content: bytes, name: str) -> list[Entry]:
    """Import hypotheses with their results from a CSV file, as published elsewhere; return the new.

    The same line again adds nothing. All or nothing: raise InputError that names what is wrong.
    """
    workspace.refuse_if_read_only("import ledger", name)
    last = len(list_entries(workspace))
    return [
        entry
        for entry in _add_once(workspace, "import ledger", read_published(content, name))
        if entry.position > last
    ]


def import_published_ladder(workspace: Workspace) -> list[Entry]:
    """Import the published ladder of the challenge, which comes with the project; return the
    new."""
    return import_file(workspace, LADDER.read_bytes(), LADDER.name)


def _add_once(workspace: Workspace, action: str, entries: Sequence[Entry]) -> list[Entry]:
    """Add the entries whose content is not there yet; return all as they are there. Raise
    ReadOnly."""
    if _missing(list_entries(workspace), entries):
        subject = entries[0].name if len(entries) == 1 else f"{len(entries)} hypotheses"
        with workspace.change(action, subject) as (db, detail):
            # once more: another may have written
            missing = _missing(ledger_table.list_all(db), entries)
            for entry in missing:
                author, version = workspace.settings.author, describe()
                ledger_table.add(db, replace(entry, author=author, code_version=version))
            changes.bump(db, "ledger")
            verdicts = [entry.verdict for entry in missing if entry.verdict]
            detail |= {"entries": [entry.name for entry in missing], "verdicts": verdicts}
    stored = {entry.content: entry for entry in reversed(list_entries(workspace))}
    return [stored[entry.content] for entry in entries]


def _missing(stored: Sequence[Entry], entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries whose content is not there. Raise InputError for another registration, or
    another published result, of a hypothesis that is there."""
    contents = {entry.content for entry in stored}
    missing = [entry for entry in entries if entry.content not in contents]
    first = {entry.about: entry for entry in reversed(stored)}
    for entry in missing:
        old = first.get(entry.about)
        if old and (entry.kind == "registration" or entry.source == PUBLISHED):
            expected = "which cannot be changed; expected another name"
            raise InputError(
                f"hypothesis {entry.name!r}: in the ledger since {old.written_at:%Y-%m-%d %H:%M},"
                f" {expected}"
            )
    return missing
