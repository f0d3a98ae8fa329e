"""The ledger of hypotheses: register one before its result, record what came out, list, import.

Entries are only ever added: no function here, and none below, changes or deletes one.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from scipy.special import ndtri

from core.actions.comparison_log import look_at, looked_by_dataset, pair_of_arms
from core.actions.uploads_apart import read_apart
from core.actions.workspace import Workspace
from core.base.experiment import Arm, Experiment
from core.errors import InputError, NotFound, StateError
from core.features.experiments.decision import DecisionRule, interval_by, judged
from core.features.experiments.ledger_file import LADDER, read_published
from core.features.experiments.ledger_result import ON_LABELS, LedgerResult, ledger_of
from core.features.experiments.result import METRICS, ArmResult, ExperimentResult
from core.scoring.compare_runs import compare_runs
from core.scoring.run_scores import load_scored_rows
from core.stats.delong import Estimate
from core.store import Cursor, changes, datasets, hypotheses, runs
from core.store.hypotheses import HERE, Entry
from core.store.runs import Run
from core.texts import check_name, list_known
from core.version import describe

MAX_TEXT = 2_000  # characters of a hypothesis, a prediction
OTHER_METHOD = {"fused": "knn", "embedding": "fusion"}  # level → the method that it is not about
Pair = tuple[str, str]  # names or ids of the run to beat, and of the run that should


def list_entries(workspace: Workspace) -> list[Entry]:
    """Return every entry, in the order in which they were written."""
    with workspace.store.read() as db:
        return hypotheses.list_all(db)


def list_ledger(workspace: Workspace) -> LedgerResult:
    """Return the ledger, its p corrected for all tests and comparisons on a dataset."""
    return ledger_of(list_entries(workspace), looked_by_dataset(workspace))


def register(workspace: Workspace, entry: Entry, rule: DecisionRule, pair: Pair = ("", "")) -> Entry:
    """Register a hypothesis; registering it again returns the entry that is there.

    entry: with its name, hypothesis, prediction, and dataset, by default that of the runs. pair: the
    run to beat and the run that should, by name or id, "" if unknown; a future run by its name. A
    second registration of a name is linked to the first, whose rule decides.
    """
    workspace.refuse_if_read_only("register hypothesis", entry.name)
    with workspace.store.read() as db:
        a, b = (_run_of(db, name) for name in pair)
        about = next((run.dataset for run in (a, b) if run), entry.dataset)
        dataset = datasets.find(db, about) if about else datasets.default(db)
    if dataset is None:
        raise StateError("ledger: a hypothesis needs a dataset, and there is none yet; import one")
    if a and b and a.dataset != b.dataset:
        raise InputError(f"{a.name} and {b.name}: on different datasets; expected runs on one")
    _refuse_other_level(rule, b)
    wanted = replace(
        entry,
        dataset=dataset.name,
        **asdict(rule),
        run_a=a.id if a else None,
        run_b=b.id if b else None,
        name_a=a.name if a else pair[0] or None,
        name_b=b.name if b else pair[1] or None,
        seen_before=bool(a and b and a.status == b.status == "done"),
    )
    return _add_once(workspace, "register hypothesis", [wanted])[0]


def claim(name: str, hypothesis: str, prediction: str, dataset: str | None = None) -> Entry:
    """Return a hypothesis of here, to register. prediction: what will be seen if it is true."""
    check_name("hypothesis", name)
    for what, text in (("hypothesis", hypothesis), ("prediction", prediction)):
        if not 0 < len(text.strip()) <= MAX_TEXT:
            expected = f"{len(text.strip()):,} characters, expected 1 to {MAX_TEXT:,}"
            raise InputError(f"{name}: {what}: {expected}")
    return Entry(
        kind="registration",
        source=HERE,
        name=name.strip(),
        hypothesis=hypothesis.strip(),
        prediction=prediction.strip(),
        dataset=dataset,
    )


def _run_of(db: Cursor, name: str) -> Run | None:
    try:
        return runs.find_predicting(db, name) if name else None
    except NotFound:
        return None


def _refuse_other_level(rule: DecisionRule, run: Run | None) -> None:
    if run and run.method and run.method == OTHER_METHOD.get(rule.level):
        problem = f"of the method {run.method}, but the rule is about the level {rule.level!r}"
        raise InputError(f"{run.name}: {problem}; expected a run at that level")


def record(workspace: Workspace, name: str, pair: Pair = ("", "")) -> Entry:
    """Record the result of a registered hypothesis, computed here from two runs, by its first rule.

    pair: by default the runs of the registration. Raise NotFound for an unknown hypothesis or run,
    StateError for a run that is not done, InputError for other runs than those that were registered,
    and for runs that cannot be compared.
    """
    workspace.refuse_if_read_only("record result", name)
    with workspace.store.read() as db:
        registration = find_registration(db, name)
        if registration.benchmark is not None:
            records = f"which the experiment {registration.benchmark!r} records when it is done"
            raise InputError(f"{name}: a hypothesis {records}")
        a, b = (_registered_run(db, registration, given, side) for given, side in zip(pair, "ab", strict=True))
        rule = rule_of(registration)
        _refuse_other_level(rule, b)
        compared = compare_runs(*(load_scored_rows(db, run.id) for run in (a, b)))
    entry = replace(
        registration,
        run_a=a.id,
        run_b=b.id,
        name_a=a.name,
        name_b=b.name,
        public_a=a.public_score,
        public_b=b.public_score,
        scored=compared.scored,
        seen_before=_was_late(registration, a, b),
    )
    change = getattr(compared.covered, rule.metric)
    result = _result(entry, rule, change.a, change.b, change.change)
    return _add_once(workspace, "record result", [result])[0]


def _result(entry: Entry, rule: DecisionRule, a: Estimate, b: Estimate, change: Estimate) -> Entry:
    """Return the result of b - a on labelled rows. Raise InputError if it is undefined."""
    if math.isnan(change.value):
        problem = f"no {METRICS[rule.metric]} on the rows that both cover, so no result"
        expected = "expected rows with both classes of labels"
        raise InputError(f"{entry.name_a} and {entry.name_b}: {problem}; {expected}")
    interval = interval_by(change, rule.unit)
    return replace(
        judged(entry, interval, rule.smallest_effect),
        measured_on=ON_LABELS,
        score_a=a.value,
        score_b=b.value,
        score_se=interval_by(b, rule.unit).se,
    )


def result_was_there(registered_at: datetime, *made: Run) -> bool:
    """Return whether runs had ended when a hypothesis was registered: its result could be seen."""
    ends = [run.finished_at or (run.status == "done" and run.created_at) for run in made]
    return all(end and end <= registered_at for end in ends)


def _was_late(registration: Entry, *made: Run) -> bool:
    assert registration.written_at is not None
    return result_was_there(registration.written_at, *made)


def find_registration(db: Cursor, name: str, dataset: str | None = None) -> Entry:
    """Return the first registration of a hypothesis made here, by its name or the id of an entry.

    dataset: the name of the one that it is about, None for any. Raise NotFound, and StateError if
    several datasets have one.
    """
    stored = hypotheses.list_all(db)
    own = [entry for entry in stored if (entry.source, entry.kind) == (HERE, "registration")]
    matching = [entry for entry in own if name in (entry.name, entry.id, entry.first)]
    matching = [entry for entry in matching if dataset in (None, entry.dataset)]
    if not matching:
        names = list(dict.fromkeys(entry.name for entry in own))
        raise NotFound(f"hypothesis {name!r}: not registered here, {list_known(name, names)}")
    if len({entry.first for entry in matching}) > 1:
        ids = ", ".join(f"{entry.first} ({entry.dataset})" for entry in matching)
        raise StateError(f"hypothesis {name!r}: several datasets have one; use an id: {ids}")
    return matching[0]


def _registered_run(db: Cursor, registration: Entry, given: str, side: str) -> Run:
    run_id, name = (getattr(registration, f"{what}_{side}") for what in ("run", "name"))
    if not (given or name):
        raise InputError(f"{registration.name}: its registration names no runs; expected two")
    run = runs.find_predicting(db, given or run_id or name)
    dataset = datasets.find(db, run.dataset).name
    if (name and run.id != run_id and run.name != name) or dataset != registration.dataset:
        about = f"registered for the run {name or 'that is chosen'} on {registration.dataset}"
        raise InputError(f"{registration.name}: {about}, got {run.name} on {dataset}")
    if run.status != "done":
        raise StateError(f"{run.name}: {run.status}, expected a run that is done")
    return run


def rule_of(entry: Entry) -> DecisionRule:
    """Return the rule that a registration states."""
    names = ("metric", "level", "unit", "smallest_effect")
    values: dict[str, Any] = {name: getattr(entry, name) for name in names}
    return DecisionRule(**values)


def register_experiment(workspace: Workspace, experiment: Experiment) -> list[Entry]:
    """Register what an experiment tests, before its first arm is made: its hypothesis, or without
    one that each arm differs from the base. Registering it again changes nothing.

    Arms that are computed are no hypotheses. Raise InputError for a name under which the ledger holds
    a hypothesis about other arms.
    """
    with workspace.store.read() as db:
        dataset = datasets.find(db, experiment.dataset).name
        entries = hypotheses.list_all(db)
    claims = [_claim_of(experiment, arm, dataset) for arm in _tested(experiment)]
    names = {(entry.source, entry.name, entry.dataset): entry for entry in reversed(entries)}
    for entry in claims:
        first = names.get((HERE, entry.name, dataset), entry)
        if first.name_b and (first.name_a, first.name_b) != (entry.name_a, entry.name_b):
            problem = f"the ledger has one about {first.name_b} against {first.name_a}"
            raise InputError(f"hypothesis {entry.name!r}: {problem}; expected another name")
    return _add_once(workspace, "register hypothesis", claims)


def _tested(experiment: Experiment) -> list[Arm]:
    hypothesis = experiment.hypothesis
    made = (arm for arm in experiment.arms if arm.request or arm.run or arm.fused)
    return [arm for arm in made if hypothesis is None or arm.name == hypothesis.arm]


def _claim_of(experiment: Experiment, arm: Arm, dataset: str) -> Entry:
    """Return what an experiment claims of an arm, as an entry to register."""
    name, hypothesis, by_score = experiment.name, experiment.hypothesis, experiment.measure == "score"
    metric = METRICS[experiment.metric]
    what = f"{metric} changes" if by_score else "answers move more than by asking again"
    said = (experiment.question, f"{arm.name} against {experiment.base.name}: {what}")
    if hypothesis is not None:
        said = hypothesis.claim, hypothesis.prediction
    elif len(experiment.arms) > 1 or not name.endswith(arm.name):
        name = f"{name}: {arm.name}"
    rule = DecisionRule(experiment.metric, "other", smallest_effect=experiment.smallest_effect)
    return replace(
        claim(name, *said, dataset),
        **(asdict(rule) if by_score else {}),
        name_a=experiment.base.name,
        name_b=arm.name,
        benchmark=experiment.name,
    )


def record_experiment(workspace: Workspace, experiment: Experiment, result: ExperimentResult) -> list[Entry]:
    """Record what came out of the arms that an experiment registered, by the rules registered first;
    the same again changes nothing. Its other comparisons count among those that were looked at."""
    arms, results = {arm.name: arm for arm in result.arms}, list[Entry]()
    base = arms[experiment.base.name]
    with workspace.store.read() as db:
        dataset = datasets.find(db, experiment.dataset)
        for tested in _tested(experiment):
            arm, wanted = arms[tested.name], _claim_of(experiment, tested, dataset.name)
            registration = find_registration(db, wanted.name, dataset.name)
            first = [_first_done(db, each) for each in (base, arm) if each.runs]
            entry = replace(
                registration,
                name_a=base.name,
                name_b=arm.name,
                benchmark=experiment.name,
                scored=arm.scored,
                seen_before=len(first) > 1 and _was_late(registration, *first),
            )
            results += _arm_results(entry, base, arm, experiment)
    recorded = _add_once(workspace, "record result", results)
    names = {entry.name_b for entry in recorded}
    compared = [(base.name, arm.name, arm.p) for arm in result.arms if arm.name not in names]
    compared += [(pair.b, pair.a, pair.p) for pair in result.contrasts]
    pairs = [(*pair_of_arms(experiment.name, a, b), p) for a, b, p in compared if not math.isnan(p)]
    look_at(workspace, dataset.id, pairs)
    return recorded


def _first_done(db: Cursor, arm: ArmResult) -> Run:
    made = [runs.find_predicting(db, run) for run in arm.runs]
    return min(made, key=lambda run: run.finished_at or datetime.max)


def _arm_results(entry: Entry, base: ArmResult, arm: ArmResult, experiment: Experiment) -> list[Entry]:
    """Return the result of an arm; none if it is undefined. |Δ| has the z of its p."""
    if experiment.measure == "score":
        rule = rule_of(entry)
        a, b, change = getattr(base, rule.metric), getattr(arm, rule.metric), getattr(arm, f"delta_{rule.metric}")
        if change is None or math.isnan(change.value):
            return []
        return [_result(entry, rule, a, b, change)]
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

    The same line again adds nothing, another about a hypothesis that is there is linked to it. All
    or nothing: raise InputError that names the line.
    """
    workspace.refuse_if_read_only("import ledger", name)
    if workspace.settings.is_shared:
        added = set(read_apart(workspace, "ledger", [(name, content)], {}))
        return [entry for entry in list_entries(workspace) if entry.id in added]
    before = {entry.id for entry in list_entries(workspace)}
    entries = _add_once(workspace, "import ledger", read_published(content, name))
    return [entry for entry in entries if entry.id not in before]


def import_published_ladder(workspace: Workspace) -> list[Entry]:
    """Import the published ladder of the challenge, which comes with the project; return the new."""
    return import_file(workspace, LADDER.read_bytes(), LADDER.name)


def _add_once(workspace: Workspace, action: str, entries: Sequence[Entry]) -> list[Entry]:
    """Add entries; return them, or those of the same content that are there. Raise ReadOnly."""
    same = _same_content(list_entries(workspace), entries)
    if len(same) == len(entries):
        return same
    subject = entries[0].name if len(entries) == 1 else f"{len(entries)} hypotheses"
    with workspace.change(action, subject) as (db, detail):
        added, stored = list[Entry](), hypotheses.list_all(db)  # once more: another may have written
        for entry in entries:
            if not _same_content([*stored, *added], [entry]):
                author, version = workspace.settings.author, describe()
                signed = replace(entry, author=author, code_version=version)
                added.append(hypotheses.add(db, signed, uuid.uuid4().hex[:12]))
        changes.bump(db, "ledger")
        verdicts = [entry.verdict for entry in added if entry.verdict]
        detail |= {"entries": [entry.id for entry in added], "verdicts": verdicts}
        return _same_content([*stored, *added], entries)


def _same_content(stored: Sequence[Entry], entries: Sequence[Entry]) -> list[Entry]:
    """Return the first stored entry of the content of each, for those that have one."""
    same = (next((old for old in stored if old.same_content(new)), None) for new in entries)
    return [entry for entry in same if entry is not None]
