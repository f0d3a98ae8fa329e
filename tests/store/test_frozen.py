"""Released migrations and what they run never change: an older store is upgraded as it was when they were released."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import zipfile
from pathlib import Path

import pytest

from core.audit import brief_checks
from core.config import REPOSITORY
from core.store import Store, chain, findings, frozen, migrations
from core.store.frozen import brief_findings_6

OLD = REPOSITORY / "tests" / "compatibility" / "0.1.0" / "workspace.zip"
FROZEN = {"brief_findings_6": "002dbf0d5468a2eb", "hash_chain_1": "1644bd80a6dcf540"}
STEPS = {
    "first_schema": "f80721d5e52e7343",
    "spaces_packs_presets": "09ad80b2eac4419c",
    "calls_and_folding": "1a627e2b27a5d9b0",
    "bundled_runs": "10f55ead0ebea5d5",
    "evaluations": "011b01984b390ffc",
    "wider_findings": "c3b629bc33c380d0",
    "packs_of_runs": "e812203a35bf433b",
    "notes_on_figures": "f8450c1c6ca9f59a",
    "ledger_of_hypotheses": "328fb9a611a66542",
    "cell_lines_and_headlines": "7a6a5823624d0a7b",
    "cell_evaluations": "feb53a6c6a3ea9de",
    "rubrics_and_labels": "5b884e11afd69986",
    "pairs_by_id": "6c6943a1d4230726",
    "predictions_by_pair": "dc5d3d6cc66ee579",
    "hash_chains": "e3f5735da635402e",
    "walk_throughs": "9f17f2df83d4b85e",
    "marks_of_labels": "832fd6d0df018219",
}
HELPERS = {"_chain_rows": "16b0e64103963c40"}  # of steps
LONG = "Knockdown of Stat1 affects the ribosome. Irf_1 is downstream, and many screens agree on that at this dose. "
FOUND = {
    ("EFFECT", "A)"): "answers bare short option",
    ("NULL", "A) Knockdown of Stat1 changes Irf_1."): "answers answers_against short option against genes",
    ("UP", "The answer is C."): "answers answers_against short",
    ("EFFECT", f"{LONG}Knockdown is expected to strongly alter Irf_1."): "argues sentences genes own_side cites",
    ("NULL", f"{LONG}No measurable effect on Irf_1 is seen."): "argues sentences genes own_side cites",
    ("UP", f"{LONG}It will result in upregulation of Irf_1."): "argues sentences genes own_side cites",
    ("DOWN", f"{LONG}It leads to increased Irf_1."): "argues sentences genes other_side cites",
    ("DOWN", f"{LONG}However, it might cause reduced Irf_1."): "argues sentences genes cites",
    ("JUDGE", f"{LONG}The option B is right."): "argues sentences genes cites",
    ("UP", "Stat1’s loss\n– Irf_1: option A"): "short genes own_side",
}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def old_store(folder: Path) -> Store:
    """The store of version 0.1.0, schema 4."""
    with zipfile.ZipFile(OLD) as archive:
        archive.extract("data/desk.duckdb", folder)
    return Store(folder / "data" / "desk.duckdb", folder / "cache")


def test_frozen_files_are_as_they_were_released() -> None:
    files = sorted(Path(path) for path in Path(frozen.__path__[0]).glob("*.py") if path.name != "__init__.py")
    assert {file.stem: digest(file.read_text("utf-8")) for file in files} == FROZEN


def test_released_steps_are_as_they_were_released() -> None:
    assert {step.__name__: digest(inspect.getsource(step)) for step in migrations.STEPS} == STEPS
    assert {name: digest(inspect.getsource(getattr(migrations, name))) for name in HELPERS} == HELPERS


def test_what_steps_run_imports_the_standard_library_and_nothing_that_changes() -> None:
    allowed = {*sys.stdlib_module_names, "duckdb", "core.errors", "core.store.frozen"}
    for file in [Path(migrations.__file__), *Path(frozen.__path__[0]).glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name if name.startswith("core") else name.split(".")[0] for name in names} <= allowed, file


@pytest.mark.soak
def test_an_old_store_is_upgraded_without_the_audit_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def today(*_: object) -> None:
        raise AssertionError("a migration ran code that may change")

    with monkeypatch.context() as patched:
        patched.setattr(findings, "update", today)
        patched.setattr(findings, "check_brief", today)
        patched.setattr(brief_checks, "check_brief", today)
        store = old_store(tmp_path)
        with store.read() as db:
            upgraded = db.execute(
                "SELECT run, pair_id, seq, findings FROM trace_event WHERE kind = 'brief' ORDER BY ALL"
            ).fetchall()
            collapsed = db.execute("SELECT id, collapsed FROM run ORDER BY id").fetchall()
    assert len(upgraded) == 24
    assert sum("argues" in names for *_, names in upgraded) > 0  # which schema 4 did not look for
    assert digest(repr((upgraded, collapsed))) == "31b8e5b6c70103e3"


@pytest.mark.parametrize(("role", "text"), FOUND)
def test_the_frozen_rules_find_what_they_found_when_they_were_frozen(role: str, text: str) -> None:
    found = brief_findings_6.check(role, text, "Stat1_Irf_1", {"ribosome"})
    assert " ".join(found) == FOUND[role, text]


def test_an_old_audit_log_is_chained_at_the_upgrade_and_says_so(tmp_path: Path) -> None:
    with old_store(tmp_path).read() as db:
        ledger, log = chain.verify(db)
        last = db.execute("SELECT action, subject, detail, chained FROM trail ORDER BY position DESC LIMIT 1").fetchall()
    assert (ledger.is_intact, ledger.entries) == (True, 0)
    assert (log.is_intact, log.entries, log.upgraded) == (True, 24, 23)
    assert last == [("upgrade", "hash chains", '{"audit_log": 23, "ledger": 0}', "when written")]
    assert f"Entries 1 to 23 are older, chained at the upgrade on {log.upgraded_at:%Y-%m-%d}." in log.sentence
