"""The command claims, in this process: claims of the small debate, checked against two small packs."""

from __future__ import annotations

import json

from core.actions.imports import import_upload
from core.actions.workspace import Workspace
from tests.commands import core, core_json


def test_claims_are_counted_by_role_checked_and_chosen(small_workspace: Workspace) -> None:
    place = small_workspace.settings.workspace
    assert "no pack" in core(place, "claims", "debate").out
    pack = json.dumps({"meta": {"source": "somewhere"}, "pairs": {"Pa|Ga": 1, "Pa|Gb": -1}}).encode()
    assert import_upload(small_workspace, pack, "collectri.json").kind == "regulation"
    found = core_json(place, "claims", "debate")
    # Each brief says "Pa regulates Ga", which in the row Pa_Ga is the question itself; one says what is no claim.
    assert {count["role"]: (count["texts"], count["claiming"], count["answers"]) for count in found["counts"]} == {
        "EFFECT": (3, 3, 1),
        "NULL": (3, 3, 1),
        "UP": (3, 2, 1),
        "DOWN": (3, 3, 1),
    }
    assert {count["role"]: count["supported"] for count in found["counts"]} == {"EFFECT": 2, "NULL": 2, "UP": 1, "DOWN": 2}
    assert all(count["contradicted"] == count["not_known"] == 0 for count in found["counts"])
    assert found["sources"] == ["regulation"]
    statuses = [each["rubric"].removeprefix("claim that is ") for each in found["worth"]]
    assert statuses == ["supported", "contradicted", "not known"]
    chosen = core_json(place, "claims", "debate", "--role", "UP", "--subject", "PA", "--relation", "regulates")
    assert [(each["pair_id"], each["subject"], each["object"], each["is_answer"]) for each in chosen["claims"]] == [
        ("Pa_Ga", "Pa", "Ga", True),
        ("Pb_Ga", "Pa", "Ga", False),
    ]
    assert core_json(place, "claims", "debate", "--status", "contradicted")["claims"] == []


def test_a_run_without_texts_is_said(small_workspace: Workspace) -> None:
    done = core(small_workspace.settings.workspace, "claims", "debate", "--texts", "thought")
    assert (done.status, done.out) == (1, "")
    assert "no texts of the kind thought" in done.err
