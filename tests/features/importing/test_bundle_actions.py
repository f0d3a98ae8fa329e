"""What a bundle does to a workspace that has some of it already, and what never travels in one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.base.config import Settings
from core.base.errors import StateError
from core.base.types import Call, Evidence, Failed, Pair
from core.features.importing import bundle_actions, lineage
from core.features.importing.actions import import_paths, import_upload
from core.features.importing.import_target import Imported, ImportOptions
from core.features.importing.imported_rows import undo
from core.features.importing.problems import Problem
from core.features.submissions.actions import provenance_of
from core.methods.fusion_settings import FusionSettings
from core.runs import actions as runs
from core.runs import run_control
from core.runs.journal import Journal
from core.runs.workspace import Workspace, open_workspace
from core.scoring.debate_audit import load_audit
from core.store import changes
from core.store import runs as run_records
from tests import cases, worlds
from tests.bundled import everything, opened, stored, with_manifest, with_rows
from tests.derived import save_fusion
from tests.runs.cases import fast, waiting_run, wish, workspace_with
from tests.runs.methods import Counting, constant

PLAN = {
    "spaces": "near",
    "protocol": "test",
    "power": 2,
    "axis": "gene",
    "centre": False,
    "strength": 0,
}


@pytest.fixture
def other(tmp_path: Path) -> Workspace:
    """The rows of `small_workspace` without a run."""
    workspace = open_workspace(Settings(workspace=tmp_path / "other", author="colleague"))
    for content, name in ((cases.TRAIN, "train.csv"), (cases.TEST, "test.csv")):
        assert import_upload(workspace, content, name).kind != "failed"
    return workspace


@pytest.fixture
def sent(small_workspace: Workspace) -> bytes:
    return bundle_actions.build_bundle(small_workspace, "debate").content


def brought(workspace: Workspace, content: bytes, **how: Any) -> Imported:
    return import_upload(workspace, content, "sent.zip", ImportOptions(**how))


def refused(workspace: Workspace, content: bytes, words: str, **how: Any) -> None:
    """It fails, says why, and leaves nothing behind, in the store or beside it."""
    before, files = everything(workspace), worlds.kept_files(workspace)
    outcome = brought(workspace, content, **how)
    assert outcome.kind == "failed"
    assert words in outcome.message
    assert everything(workspace) == before
    assert worlds.kept_files(workspace) == files


@pytest.mark.soak
def test_it_says_where_it_comes_from(
    small_workspace: Workspace, other: Workspace, sent: bytes
) -> None:
    outcome = brought(other, sent)
    assert (outcome.kind, outcome.name, outcome.rows, outcome.new) == ("bundle", "debate", 4, True)
    with other.store.read() as db:
        run = run_records.find(db, "debate")
        last = changes.latest(db).iloc[0]
    assert run.origin == "imported"
    assert (last["action"], last["author"], json.loads(last["detail"])["run"]) == (
        "import",
        "colleague",
        run.id,
    )
    assert stored(other, "debate") == stored(small_workspace, "debate")


@pytest.mark.soak
def test_no_label_travels(sent: bytes) -> None:
    manifest, files = opened(sent)
    assert set(files) == {
        "prediction",
        "trace_event",
        "evidence",
        "row_evidence",
        "call",
        "row_call",
        "note",
    }
    assert b"label" not in files["prediction"]
    assert "label" not in json.dumps(manifest)


@pytest.mark.soak
def test_a_taken_name_is_told_apart(other: Workspace, sent: bytes) -> None:
    import_upload(other, cases.submission([("Pa_Ga", 0.1, 0.1, "none")]), "debate.csv")
    outcome = brought(other, sent)
    assert outcome.name.startswith("debate (")
    undo(other, "sent.zip")
    refused(other, sent, "run 'debate' exists with other content", name="debate")
    assert brought(other, sent, name="theirs").name == "theirs"


def test_a_run_that_is_here_stays_or_is_replaced(small_workspace: Workspace, sent: bytes) -> None:
    original = stored(small_workspace, "debate")
    runs.rename(small_workspace, "debate", "mine")
    runs.add_note(small_workspace, "mine", "Pa_Ga", "since then")
    runs.set_values(small_workspace, "mine", {"public_score": "0.5"})
    changed = everything(small_workspace)
    here = brought(small_workspace, sent)
    assert (here.new, "here already, as mine" in here.message) == (False, True)
    assert everything(small_workspace) == changed
    outcome = brought(small_workspace, sent, replace=True)
    assert (outcome.name, outcome.new) == ("debate", True)
    assert stored(small_workspace, "debate") == original
    with small_workspace.store.read() as db:
        assert len(run_records.list_all(db)) == 1
        assert "since then" in changes.latest(db).iloc[0]["detail"]


@pytest.mark.soak
def test_replacing_takes_one_run_and_no_other_of_that_name(
    small_workspace: Workspace, other: Workspace, sent: bytes
) -> None:
    brought(other, sent)
    runs.rename(other, "debate", "theirs")
    runs.add_note(small_workspace, "debate", None, "odd")
    sent = bundle_actions.build_bundle(small_workspace, "debate").content
    import_upload(other, cases.submission([("Pa_Ga", 0.1, 0.1, "none")]), "debate.csv")
    assert str(brought(other, sent, replace=True).name).startswith("debate (")
    with other.store.read() as db:
        assert sorted(run.done for run in run_records.list_all(db)) == [1, 4]
    # Without the run, its name may be taken from another.
    undo(other, "sent.zip")
    assert brought(other, sent, replace=True).name == "debate"
    with other.store.read() as db:
        assert [run.name for run in run_records.list_all(db)] == ["debate"]


@pytest.mark.soak
def test_a_run_comes_whole_or_not_at_all(other: Workspace, tmp_path: Path, sent: bytes) -> None:
    workspace = open_workspace(Settings(workspace=tmp_path / "train only"))
    import_upload(workspace, cases.TRAIN, "train.csv")
    refused(workspace, sent, "1 of its 4 rows, such as 'Pc_Gc', Pc on Gc, are not in dataset bmdm")
    swapped = with_rows(sent, "prediction", lambda rows: rows[0].update(gene="Gx"))
    refused(other, swapped, "1 of its 4 rows, such as 'Pa_Ga', Pa on Gx, are not in dataset bmdm")


@pytest.mark.soak
def test_the_dataset_has_to_be_of_its_organism(tmp_path: Path, sent: bytes) -> None:
    workspace = open_workspace(Settings(workspace=tmp_path / "de"))
    # Human rows, and one that the bundle has, too.
    rows = [["Pa", "Ga", "up"], *(["STAT1", f"TP{n}", "none"] for n in range(40))]
    file = cases.as_csv(["pert", "gene", "label"], rows)
    assert import_upload(workspace, file, "screen.csv").rows == 41
    refused(workspace, sent, "bmdm (mouse, bone-marrow-derived macrophages; 6 rows), but screen is")
    refused(workspace, sent, "but screen is human", dataset="screen")
    refused(workspace, sent, "not in this workspace", dataset="nothing")


@pytest.mark.soak
def test_of_two_datasets_that_know_its_rows_the_same_one_is_taken(
    other: Workspace, sent: bytes
) -> None:
    more = cases.as_csv(["id", "pert", "gene"], [["Pc_Gc", "Pc", "Gc"], ["Pd_Gd", "Pd", "Gd"]])
    for content, name in ((cases.TRAIN, "a.csv"), (more, "b.csv")):
        import_upload(other, content + b"\n", name, ImportOptions(dataset="also"))
    brought(other, sent)
    with other.store.read() as db:
        [(dataset,)] = db.execute(
            "SELECT d.name FROM run r JOIN dataset d ON d.id = r.dataset"
        ).fetchall()
    assert dataset == "bmdm"
    undo(other, "sent.zip")
    brought(other, sent, dataset="also")
    with other.store.read() as db:
        assert db.execute(
            "SELECT d.name FROM run r JOIN dataset d ON d.id = r.dataset"
        ).fetchall() == [("also",)]


@pytest.mark.soak
def test_the_file_that_a_run_was_made_from_changes_nothing_after_its_bundle(
    other: Workspace, small_workspace: Workspace, sent: bytes
) -> None:
    brought(other, sent)
    before = everything(other)
    again = import_upload(other, cases.DEBATES, "under another name.csv")
    assert (again.new, again.name) == (False, "debate")
    assert everything(other) == before
    # and the other way round, whatever the file was called
    runs.delete(small_workspace, "debate")
    import_upload(small_workspace, cases.DEBATES, "under another name.csv")
    assert not brought(small_workspace, sent).new


@pytest.fixture
def family(other: Workspace) -> Workspace:
    """A fusion of two runs."""
    for name, up in (("base", 0.3), ("second", 0.2)):
        rows = [(key, up, 0.1 * i, "none") for i, key in enumerate(("Pa_Ga", "Pa_Gb", "Pb_Ga"), 1)]
        assert import_upload(other, cases.submission(rows), f"{name}.csv").kind == "submission"
    with other.store.read() as db:
        base, second = (run_records.find(db, name).id for name in ("base", "second"))
    save_fusion(other, FusionSettings(base, (second,), (0.5,), (0.5,)), "mixed")
    return other


@pytest.mark.soak
def test_parents_that_are_not_here_keep_their_names(
    family: Workspace, small_workspace: Workspace
) -> None:
    made = bundle_actions.build_bundle(family, "mixed")
    assert made.problems == [
        Problem("parents", "look", (), "made from base, second, which have bundles of their own")
    ]
    outcome = brought(small_workspace, made.content)
    assert outcome.message == "made from base, second, not in this workspace"
    assert stored(small_workspace, "mixed") == stored(family, "mixed")
    with small_workspace.store.read() as db:
        run = run_records.find(db, "mixed")
        line = run_records.lineage(db, [run])
        assert list(lineage.missing_parents(db, line).values()) == ["base", "second"]
        assert (
            "made from base, second, not in this workspace"
            in provenance_of(db, line, lineage.prompts_of(small_workspace, db, line)).changed
        )
    again = bundle_actions.build_bundle(small_workspace, "mixed")
    assert again.content == made.content
    import_upload(small_workspace, bundle_actions.build_bundle(family, "base").content, "base.zip")
    with small_workspace.store.read() as db:
        line = run_records.lineage(db, [run_records.find(db, "mixed")])
        assert [each.name for each in line] == ["mixed", "base"]
        assert list(lineage.missing_parents(db, line).values()) == ["second"]


@pytest.mark.soak
def test_a_parent_is_not_replaced_by_its_child(family: Workspace) -> None:
    sent = bundle_actions.build_bundle(family, "mixed").content
    runs.delete(family, "mixed")
    refused(family, sent, "is a parent of the run that would replace it", name="base", replace=True)


def parents(*ids: str) -> Callable[[Any], None]:
    def change(manifest: Any) -> None:
        manifest["run"]["parents"] = [{"id": key, "name": None} for key in ids]

    return change


@pytest.mark.soak
def test_a_run_is_not_made_from_itself(family: Workspace, small_workspace: Workspace) -> None:
    mixed, base = (bundle_actions.build_bundle(family, name).content for name in ("mixed", "base"))
    key = opened(mixed)[0]["run"]["id"]
    refused(small_workspace, with_manifest(mixed, parents(key)), "is its own parent")
    brought(small_workspace, mixed)
    refused(small_workspace, with_manifest(base, parents(key)), "among its own parents")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("method", "spec"),
    [
        ("knn", {}),
        ("knn", {"spaces": 5}),
        ("knn", {"options": []}),
        ("knn", PLAN | {"power": "x"}),
        ("knn", PLAN | {"protocol": ["folds"]}),
        ("debate", {"options": 5}),
        ("debate", {"options": {"shots": "many"}}),
        ("debate", {"prompts_sha256": "0", "options": 5}),
    ],
)
def test_a_specification_that_no_page_could_read(
    other: Workspace, sent: bytes, method: str, spec: dict[str, Any]
) -> None:
    def change(manifest):
        manifest["run"] |= {"method": method, "spec": spec}

    refused(other, with_manifest(sent, change), "the specification of its")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("part", "field"),
    [("evidence", "body"), ("evidence", "source"), ("call", "reply"), ("call", "key")],
)
def test_evidence_and_calls_have_the_ids_of_what_they_say(
    workspace: Workspace, tmp_path: Path, part: str, field: str
) -> None:
    """Another's id would stand in for that one in every later run."""
    content = bundle_actions.build_bundle(answered(workspace), "r").content
    colleague = workspace_with(tmp_path / "colleague", 8)

    def change(rows):
        rows[0][field] = '{"false": 1}'

    forged = with_rows(content, part, change)
    refused(colleague, forged, "its id does not belong to what")
    assert brought(colleague, content).new


@pytest.mark.soak
def test_a_note_of_another_run_is_not_taken(other: Workspace, small_workspace: Workspace) -> None:
    runs.add_note(small_workspace, "debate", None, "mine")
    content = bundle_actions.build_bundle(small_workspace, "debate").content
    import_upload(other, cases.submission([("Pa_Ga", 0.1, 0.1, "none")]), "second.csv")
    note = runs.add_note(other, "second", None, "ours")
    refused(
        other,
        with_rows(content, "note", lambda rows: rows[0].update(id=note)),
        f"note {note}: is one of run",
    )


def answered(workspace: Workspace) -> Workspace:
    """A run "r" of the engine on eight rows, one of which failed with a path and an address in its error."""
    made = workspace_with(workspace.settings.workspace, 8)
    home = made.settings.workspace
    method = Talkative(
        fails=frozenset({"Qb0_Hb0"}),
        error=partial(Lost, f"{home}/secret/x.txt, /opt/models/a.bin, http://h:1/v1"),
    )
    run_control.start(
        made,
        wish(made, method),
        "r",
        fast(),
        begin=partial(run_control.work_on, method=lambda _: method),
    )
    return made


class Lost(StateError):
    def __init__(self, told: str, row: str) -> None:
        super().__init__(f"cannot open {told}: {row}")


@dataclasses.dataclass
class Talkative(Counting):
    """Rows with evidence and calls."""

    async def predict_row(self, pair: Any, context: Any) -> Any:
        await super().predict_row(pair, context)
        call = Call(
            "k",
            "de",
            "JUDGE",
            '{"model": "m"}',
            f'{{"said": "{pair.gene}"}}',
            False,
            1,
            1.5,
            3,
            2,
            0,
        )
        seen = [
            Evidence(
                "gene_info",
                pair.gene,
                "ok",
                "a table",
                at,
                {"name": pair.gene, "of": [1, {"two": 2.5}]},
            )
            for at in (None, datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 5))
        ]
        return dataclasses.replace(constant(pair, tokens=5), calls=(call,), evidence=tuple(seen))


@pytest.mark.soak
def test_paths_and_addresses_of_this_machine_stay_here(
    workspace: Workspace, tmp_path: Path
) -> None:
    made = bundle_actions.build_bundle(answered(workspace), "r")
    assert {problem.rule: problem.rows for problem in made.problems} == {
        "failed": ("Qb0_Hb0",),
        "places": (),
    }
    manifest, files = opened(made.content)
    everything_said = json.dumps(manifest).encode() + b"".join(files.values())
    for place in (str(workspace.settings.workspace), "/opt/models", "http://h:1", str(Path.home())):
        assert place.encode() not in everything_said
    colleague = workspace_with(tmp_path / "colleague", 8)
    assert brought(colleague, made.content).rows == 8
    ours, theirs = stored(workspace, "r"), stored(colleague, "r")
    assert {table for table in ours if ours[table] != theirs[table]} == {"prediction"}
    [error] = [row[8] for row in theirs["prediction"] if row[8]]
    assert error == "Lost: cannot open secret/x.txt, a.bin, a server Qb0_Hb0: not today"
    assert bundle_actions.build_bundle(colleague, "r").content == made.content


def test_an_api_key_does_not_leave(workspace: Workspace) -> None:
    made = answered(workspace)
    runs.add_note(made, "r", None, "asked with sk-1234567890")
    keyed = open_workspace(dataclasses.replace(made.settings, api_key="sk-1234567890"))
    with pytest.raises(StateError, match="contains an API key"):
        bundle_actions.build_bundle(keyed, "r")


@pytest.mark.soak
def test_a_run_that_is_not_finished_travels_as_far_as_it_is(
    workspace: Workspace, tmp_path: Path
) -> None:
    made = workspace_with(workspace.settings.workspace, 8)
    run = waiting_run(made)
    with pytest.raises(StateError, match="a worker is on it or starts"):
        bundle_actions.build_bundle(made, "r")
    spec = wish(made, Counting())
    with Journal(made.run_folder(run.id)) as journal:
        journal.append(
            [Failed(spec.rows[0], "Unreadable", "no letter"), constant(pair_of(spec.rows[1]))]
        )
    reader = open_workspace(dataclasses.replace(made.settings, read_only=True))
    with pytest.raises(
        StateError, match="reading only"
    ):  # what the journal holds is not in the store yet
        bundle_actions.build_bundle(reader, "r")
    found = bundle_actions.build_bundle(made, "r")
    assert [problem.rule for problem in found.problems] == ["unfinished", "failed"]
    assert found.problems[0].message == "6 of 8 rows were not predicted: it is crashed"
    assert bundle_actions.build_bundle(reader, "r").content == found.content
    colleague = workspace_with(tmp_path / "colleague", 8)
    brought(colleague, found.content)
    assert stored(colleague, "r") == stored(made, "r")
    with pytest.raises(StateError, match="imported, not made by a worker"):
        run_control.resume(colleague, "r")


def pair_of(pair_id: str) -> Any:
    pert, _, gene = pair_id.partition("_")
    return Pair(pair_id, pert, gene, None, "test")


@pytest.mark.soak
def test_a_run_of_the_engine_is_replaced_with_its_journal(workspace: Workspace) -> None:
    made = answered(workspace)
    with made.store.read() as db:
        key = run_records.find(db, "r").id
    sent = bundle_actions.build_bundle(made, "r").content
    runs.add_note(made, "r", None, "odd")
    assert made.run_folder(key).exists
    ours = stored(made, "r")
    assert brought(made, sent, replace=True).new
    assert not made.run_folder(key).exists
    theirs = stored(made, "r")
    for table in ("trace_event", "evidence", "row_evidence", "call", "row_call"):
        assert theirs[table] == ours[table], table
    runs.delete(made, "r")
    with made.store.read() as db:
        assert db.execute("SELECT count(*) FROM bundled_run").fetchall() == [(0,)]


@pytest.mark.soak
def test_a_submission_takes_the_place_of_a_run_of_the_engine_and_its_journal(
    workspace: Workspace,
) -> None:
    made = answered(workspace)
    with made.store.read() as db:
        key = run_records.find(db, "r").id
    content = cases.submission([("Qb0_Hb0", 0.1, 0.1, "none")])
    assert import_upload(made, content, "x.csv", ImportOptions(name="r", replace=True)).name == "r"
    assert not made.run_folder(key).exists


@pytest.mark.soak
def test_a_journal_without_its_run_is_not_covered_up(workspace: Workspace) -> None:
    made = answered(workspace)
    sent = bundle_actions.build_bundle(made, "r").content
    with made.store.write() as db:
        run_records.delete(db, run_records.find(db, "r").id)
    refused(made, sent, "has a journal of its run")


@pytest.mark.soak
def test_a_path_and_an_upload_are_the_same(other: Workspace, tmp_path: Path, sent: bytes) -> None:
    (tmp_path / "file").write_bytes(sent)
    [outcome] = import_paths(other, [tmp_path / "file"])
    assert (outcome.kind, outcome.new) == ("bundle", True)
    assert not brought(other, sent).new


def without_findings(events: list[dict[str, Any]]) -> None:
    for event in events:
        event["findings"] = ""


def test_findings_of_a_bundle_are_not_believed(
    small_workspace: Workspace, other: Workspace, sent: bytes
) -> None:
    """One that says that every brief argues is audited anew."""
    assert brought(other, with_rows(sent, "trace_event", without_findings)).kind == "bundle"
    with small_workspace.store.read() as db, other.store.read() as theirs:
        run = run_records.find(db, "debate").id
        found, again = load_audit(db, run), load_audit(theirs, run)
    assert found.totals["answers"] > 0
    assert again == found
