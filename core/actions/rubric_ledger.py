"""A rubric's worth in the ledger: registered before it is seen, its result computed here, by the rubric's answers on a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from core.actions import ledger, readings, rubrics
from core.actions.workspace import Workspace
from core.audit.rubric import Rubric
from core.errors import InputError, NotFound, StateError
from core.experiments import measure, rubric_hypothesis
from core.experiments.rubric_hypothesis import WorthRule
from core.store import runs
from core.store.hypotheses import HERE, Entry
from core.store.runs import Run


@dataclass(frozen=True, slots=True)
class RubricRegistration:
    """A hypothesis about a rubric: on the rows of a run, those that answer yes are predicted better than those that answer no.

    rubric: its name. run: a name or id; a run that is yet to be made is known by its name. dataset: by default that of the run.
    """

    name: str
    hypothesis: str
    prediction: str
    rubric: str
    run: str
    rule: WorthRule = field(default_factory=WorthRule)
    dataset: str = ""
    note: str = ""


def register(workspace: Workspace, wanted: RubricRegistration) -> Entry:
    """Register a hypothesis about a rubric; the same one again returns the entry that is there.

    An entry whose result could be computed already, since the run has labels and the rubric its answers, says so. Raises
    InputError for texts that are empty or too long, NotFound for an unknown rubric, ReadOnly.
    """
    ledger.check_texts(wanted.name, wanted.hypothesis, wanted.prediction, wanted.note)
    workspace.refuse_if_read_only("register hypothesis", wanted.name)
    rubric = rubrics.find(workspace, wanted.rubric)
    with workspace.store.read() as db:
        run = ledger.run_of(db, wanted.run)
        dataset = ledger.dataset_name(db, wanted.dataset, run)
    entry = Entry(
        kind="registration",
        source=HERE,
        name=wanted.name.strip(),
        hypothesis=wanted.hypothesis.strip(),
        prediction=wanted.prediction.strip(),
        dataset=dataset,
        **asdict(wanted.rule),
        run_b=run.id if run else None,
        name_b=run.name if run else wanted.run,
        rubric=rubric.name,
        rubric_sha256=rubric.sha256,
        note=wanted.note.strip() or None,
        seen_before=run is not None and _has_result(workspace, rubric, run),
    )
    return ledger.add_once(workspace, "register hypothesis", entry)


def record_result(workspace: Workspace, name: str, reading: str = "", note: str = "") -> Entry:
    """Record the result of a hypothesis about a rubric, by the rubric's rule or a model's reading of the run.

    reading: the run of `judge_rubric` whose answers count, by default the newest that is finished. Raise NotFound for an unknown
    hypothesis, rubric, run or reading, StateError for a run that is not done and a rubric that was worded again, InputError where
    nothing can be compared; ReadOnly.
    """
    workspace.refuse_if_read_only("record result", name)
    with workspace.store.read() as db:
        registration = ledger.find_registration(db, name)
        if registration.rubric is None:
            raise InputError(f"{name}: registered about two runs, not about a rubric")
        run = runs.find(db, registration.run_b or registration.name_b or "")
    if run.status != "done":
        raise StateError(f"{run.name}: {run.status}, expected a run that is done")
    rubric = rubrics.find(workspace, registration.rubric)
    if rubric.sha256 != registration.rubric_sha256:
        raise StateError(
            f"{name}: the rubric {rubric.name!r} has changed its question since the registration; register another hypothesis"
        )
    answers = readings.answers(workspace, rubric, run, reading=reading or None)
    assert registration.written_at is not None
    with workspace.store.read() as db:
        made = [run, *([] if answers[1] == readings.RULE else [runs.find(db, answers[1])])]
        rows = measure.load_scored_rows(db, run.id)
        entry = replace(
            registration,
            kind="result",
            run_b=run.id,
            name_b=run.name,
            note=note.strip() or None,
            seen_before=all(measure.has_ended_by(each, registration.written_at) for each in made),
        )
        entry = rubric_hypothesis.measure_rubric(db, entry, rows, rubric, answers)
    return ledger.add_once(workspace, "record result", entry)


def _has_result(workspace: Workspace, rubric: Rubric, run: Run) -> bool:
    """Return whether the run has labels and the rubric answers on it, so that its worth is there to see."""
    if run.status != "done":
        return False
    with workspace.store.read() as db:
        counts = runs.label_counts(db, run.dataset).set_index("run")["labelled"]
        if not bool(counts.get(run.id, 0)):
            return False
    if rubric.is_answered_by_rule:
        return True
    try:
        readings.answers(workspace, rubric, run)
    except NotFound:
        return False
    return True
