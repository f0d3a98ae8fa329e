"""The ledger of hypotheses: register one before its result, record what came out, import what others published.

Entries are only ever added: there is no function here, and none below, that changes or deletes one.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from core.actions.comparison_log import looked_by_dataset
from core.actions.uploads_apart import read_apart
from core.actions.workspace import Workspace
from core.datasets.ledger_file import read_ledger_file
from core.errors import InputError, NotFound, StateError
from core.experiments import measure
from core.experiments.decision import DecisionRule
from core.experiments.ledger import LedgerLine, ledger_lines
from core.experiments.published_ladder import LADDER, entry_of_row
from core.store import Cursor, changes, datasets, hypotheses, runs
from core.store.hypotheses import HERE, Entry
from core.store.runs import Run
from core.texts import check_name, list_known
from core.version import describe

MAX_TEXT = 2_000  # characters of a hypothesis, a prediction


@dataclass(frozen=True, slots=True)
class Registration:
    """A hypothesis to register. a, b: the runs to compare, if known, by name or id; a future run by its name.

    dataset: a name, by default that of the runs. benchmark: the name of the one that compares a and b, which are then its arms;
    seen_before: whether its result was there to see, None where a and b are runs.
    """

    name: str
    hypothesis: str
    prediction: str
    rule: DecisionRule = field(default_factory=DecisionRule)
    a: str = ""
    b: str = ""
    dataset: str = ""
    benchmark: str = ""
    seen_before: bool | None = None


def list_entries(workspace: Workspace) -> list[Entry]:
    """Return every entry, in the order in which they were written."""
    with workspace.store.read() as db:
        return hypotheses.list_all(db)


def list_lines(workspace: Workspace) -> list[LedgerLine]:
    """Return every line of the ledger, its p corrected for all tests and comparisons on its dataset."""
    return ledger_lines(list_entries(workspace), looked_by_dataset(workspace))


def register(workspace: Workspace, wanted: Registration) -> Entry:
    """Register a hypothesis; registering it again returns the existing entry.

    A second registration of the same name is added and linked to the first, whose rule still decides. An entry records if its
    runs had their result already. Raise InputError for texts that are empty or too long, ReadOnly.
    """
    check_name("hypothesis", wanted.name)
    for what, text in (("hypothesis", wanted.hypothesis), ("prediction", wanted.prediction)):
        if not 0 < len(text.strip()) <= MAX_TEXT:
            raise InputError(f"{wanted.name}: {what}: {len(text.strip()):,} characters, expected 1 to {MAX_TEXT:,}")
    with workspace.store.read() as db:
        workspace.refuse_if_read_only("register hypothesis", wanted.name)
        entry = _registration_entry(db, wanted)
    return add_once(workspace, "register hypothesis", entry)


def _registration_entry(db: Cursor, wanted: Registration) -> Entry:
    a, b = (_run_of(db, name) if name and not wanted.benchmark else None for name in (wanted.a, wanted.b))
    if a is not None and b is not None and a.dataset != b.dataset:
        raise InputError(f"{a.name} and {b.name}: on different datasets; expected runs on one dataset")
    if b is not None:
        measure.refuse_other_level(wanted.rule, b.name, b.method)
    return Entry(
        kind="registration",
        source=HERE,
        name=wanted.name.strip(),
        hypothesis=wanted.hypothesis.strip(),
        prediction=wanted.prediction.strip(),
        dataset=_dataset_name(db, wanted.dataset, a or b),
        **asdict(wanted.rule),
        run_a=a.id if a else None,
        run_b=b.id if b else None,
        name_a=a.name if a else wanted.a or None,
        name_b=b.name if b else wanted.b or None,
        benchmark=wanted.benchmark or None,
        seen_before=wanted.seen_before or (a is not None and b is not None and _has_result(db, a, b)),
    )


def _has_result(db: Cursor, a: Run, b: Run) -> bool:
    """Return whether two runs have something to compare: labels of both, or public scores of both."""
    if not a.status == b.status == "done":
        return False
    labelled = runs.label_counts(db, a.dataset).set_index("run")["labelled"]
    has_labels = bool(labelled.get(a.id, 0) and labelled.get(b.id, 0))
    return has_labels or (a.public_score is not None and b.public_score is not None)


def _run_of(db: Cursor, name: str) -> Run | None:
    """Return the run of a name or id; None if there is none yet."""
    try:
        return runs.find_predicting(db, name)
    except NotFound:
        return None


def _dataset_name(db: Cursor, name: str, run: Run | None) -> str:
    """Return the name of a run's dataset, else of the named dataset, else of the default one. Raise NotFound or StateError."""
    found = datasets.find(db, run.dataset if run else name) if run or name else datasets.default(db)
    if found is None:
        raise StateError("ledger: a hypothesis needs a dataset, and there is none yet; import one")
    return found.name


def record_result(workspace: Workspace, name: str, a: str = "", b: str = "") -> Entry:
    """Record the result of a registered hypothesis, computed here from two runs; its first registration has the rule.

    a, b: by default the runs of the registration. Raise NotFound for an unknown hypothesis or run, StateError for a run that is
    not done, InputError for runs that are not those of the registration, or cannot be compared; ReadOnly.
    """
    workspace.refuse_if_read_only("record result", name)
    with workspace.store.read() as db:
        registration = find_registration(db, name)
        if registration.benchmark is not None:
            raise InputError(
                f"{name}: registered by the benchmark {registration.benchmark!r}, which records its result when it is done"
            )
        base, tested = (_registered_run(db, registration, side, given) for side, given in (("a", a), ("b", b)))
        first, second = (measure.load_scored_rows(db, run.id) for run in (base, tested))
    assert registration.written_at is not None
    entry = replace(
        registration,
        kind="result",
        run_a=base.id,
        run_b=tested.id,
        name_a=base.name,
        name_b=tested.name,
        public_a=base.public_score,
        public_b=tested.public_score,
        seen_before=measure.result_was_there(base, tested, registration.written_at),
    )
    return add_once(workspace, "record result", measure.measure(entry, rule_of(registration), first, second))


def first_registration(db: Cursor, name: str, dataset: str) -> Entry | None:
    """Return the first registration made here of a hypothesis of this name about the dataset of this name; None without one."""
    about = (HERE, "registration", name, dataset)
    every = hypotheses.list_all(db)
    return next((entry for entry in every if (entry.source, entry.kind, entry.name, entry.dataset) == about), None)


def find_registration(db: Cursor, name: str, dataset: str | None = None) -> Entry:
    """Return the first registration of a hypothesis made here, by its name or the id of one of its entries.

    dataset: the name of the one that it is about, None for any. Raise NotFound, StateError if several datasets have one.
    """
    known = [entry for entry in hypotheses.list_all(db) if entry.source == HERE and entry.kind == "registration"]
    found = [entry for entry in known if name in (entry.name, entry.id, entry.first) and dataset in (None, entry.dataset)]
    if not found:
        names = list(dict.fromkeys(entry.name for entry in known))
        raise NotFound(f"hypothesis {name!r}: not registered here, {list_known(name, names)}")
    if len({entry.first for entry in found}) > 1:
        ids = ", ".join(f"{entry.first} ({entry.dataset})" for entry in found)
        raise StateError(f"hypothesis {name!r}: several datasets have one; use an id: {ids}")
    return found[0]


def _registered_run(db: Cursor, registration: Entry, side: str, given: str) -> Run:
    run_id, name = getattr(registration, f"run_{side}"), getattr(registration, f"name_{side}")
    if not given and not (run_id or name):
        raise InputError(f"{registration.name}: its registration names no runs; expected two")
    found = runs.find_predicting(db, given or run_id or name)
    if name and found.id != run_id and found.name != name:
        raise InputError(f"{registration.name}: registered for the run {name}, got {found.name}; register another hypothesis")
    dataset = datasets.find(db, found.dataset).name
    if dataset != registration.dataset:
        raise InputError(f"{registration.name}: about the dataset {registration.dataset}, but {found.name} is on {dataset}")
    if found.status != "done":
        raise StateError(f"{found.name}: {found.status}, expected a run that is done")
    return found


def rule_of(entry: Entry) -> DecisionRule:
    """Return the rule that a registration states."""
    values: dict[str, Any] = {key: getattr(entry, key) for key in ("metric", "level", "unit", "smallest_effect")}
    return DecisionRule(**values)


def import_file(workspace: Workspace, content: bytes, name: str) -> list[Entry]:
    """Import hypotheses with their results from a CSV file, as published elsewhere; return those that were new.

    The same line again adds nothing, another about a hypothesis that is there is added and linked to it. All or nothing: raises
    InputError that names the line. ReadOnly.
    """
    workspace.refuse_if_read_only("import ledger", name)
    if workspace.settings.is_shared:
        added = set(read_apart(workspace, "ledger", [(name, content)], {}))
        return [entry for entry in list_entries(workspace) if entry.id in added]
    return _import_rows(workspace, content, name)


def _import_rows(workspace: Workspace, content: bytes, name: str) -> list[Entry]:
    entries = [entry_of_row(row.place, row.values) for row in read_ledger_file(content, name)]
    known = list_entries(workspace)
    new = [entry for entry in entries if not any(one.same_content(entry) for one in known)]
    return _add(workspace, "import ledger", new) if new else []


def import_published_ladder(workspace: Workspace) -> list[Entry]:
    """Import the published ladder of the challenge, which comes with the project; return the entries that were new."""
    workspace.refuse_if_read_only("import ledger", LADDER.name)
    return _import_rows(workspace, LADDER.read_bytes(), LADDER.name)


def add_once(workspace: Workspace, action: str, entry: Entry) -> Entry:
    """Add an entry, or return an existing one with the same content. Raise ReadOnly."""
    workspace.refuse_if_read_only(action, entry.name)
    known = _same_entry(list_entries(workspace), entry)
    return known or _add(workspace, action, [entry])[0]


def _same_entry(entries: Sequence[Entry], entry: Entry) -> Entry | None:
    return next((one for one in entries if one.same_content(entry)), None)


def _add(workspace: Workspace, action: str, entries: Sequence[Entry]) -> list[Entry]:
    subject = entries[0].name if len(entries) == 1 else f"{len(entries)} hypotheses"
    with workspace.change(action, subject) as (db, detail):
        known = hypotheses.list_all(db)  # once more, since another process may have written the same meanwhile
        found, added = [], []
        for entry in entries:
            there = _same_entry(known, entry)
            if there is None:
                signed = replace(entry, author=workspace.settings.author, code_version=describe())
                there = hypotheses.add(db, signed, uuid.uuid4().hex[:12])
                added.append(there)
            found.append(there)
        changes.bump(db, "ledger")
        detail |= {"entries": [entry.id for entry in added], "verdicts": [entry.verdict for entry in added if entry.verdict]}
        return found
