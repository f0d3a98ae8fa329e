"""Memory or reasoning: a model that remembers names and one that reads its dossier differ, and no coded request names a
gene of its row, whichever method asks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.actions import contamination, launch
from core.actions.contamination import ContaminationRequest
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.engine.request import RunRequest
from core.errors import InputError, MissingPackage, StateError
from core.experiments.contamination import Contamination, list_finished
from core.experiments.contamination_words import contamination_json, contamination_lines
from core.methods.coded_names import ALONE, CODED, HIDDEN, SWAPPED
from core.store import calls, predictions, traces
from core.ui.experiments.names_panel import table_of
from tests import worlds
from tests.commands import core, core_json
from tests.fakes import scripted as scripted_server
from tests.remembering import asked_with_other_names, furnish, reasons, remembers

METHODS = {
    "prompt_only": {"seeds": "1", "shots": 4},
    "debate": {"rounds": 2, "tools": "regulators,train_lookup,base_rates", "shots": 2},
    "react": {"tools": "regulators,train_lookup"},
    "coordinator": {"biology_expert_tools": "regulators", "data_analyst_tools": "train_lookup"},
    "summer": {"seeds": "1"},
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, str]]:
    workspace, _ = furnish(tmp_path_factory.mktemp("names"), 3, 4)
    with scripted_server.serving() as address:
        yield workspace, address


def _requests(workspace: Workspace, run: str) -> list[tuple[str, str, str]]:
    with workspace.store.read() as db:
        return list(calls.texts_of_requests(db, run))


@pytest.mark.few(1)
@pytest.mark.parametrize("method", METHODS)
def test_no_request_of_a_coded_run_names_a_gene(asked: tuple[Workspace, str], method: str) -> None:
    workspace, address = asked
    made = {}
    for names in (CODED, HIDDEN, *(("", SWAPPED) if method == "debate" else ())):
        options, name = {**METHODS[method], "names": names}, f"{method} {names}"
        request = RunRequest(method, options=options, rows="sample=1", model="scripted", endpoint=address, name=name)
        try:
            made[names] = launch.start(workspace, request)
        except MissingPackage as error:
            pytest.skip(str(error))
        assert (made[names].status, made[names].done) == ("done", 1), made[names].cause
    assert len({run.id for run in made.values()}) == len(made)
    sent = {names: _requests(workspace, run.id) for names, run in made.items()}
    assert all("GENE0" in text and not re.search("kof|mes[0-9]", text, re.IGNORECASE) for *_, text in sent[CODED])
    assert all("GENE0" in text and pert not in text and gene not in text for pert, gene, text in sent[HIDDEN])
    if method == "debate":
        assert made[""].spec["options"]["names"] == ""
        assert all(pert in text and gene in text for pert, gene, text in sent[""])
        assert all(re.search(r"Kof\d", text) and "GENE0" not in text for *_, text in sent[SWAPPED])
        assert {text for *_, text in sent[SWAPPED]}.isdisjoint(text for *_, text in sent[""])


@pytest.mark.soak
def test_what_a_model_writes_in_codes_is_kept_in_names(asked: tuple[Workspace, str]) -> None:
    workspace, address = asked
    options = {"rounds": 1, "tools": "regulators", "names": CODED}
    asking = RunRequest("debate", options=options, rows="sample=1", model="scripted", endpoint=address, name="one")
    run = launch.start(workspace, asking)
    with workspace.store.read() as db:
        [row] = predictions.all_ids(db, run.id)
        briefs = [event["content"] for event in traces.of_row(db, run.id, row) if event["kind"] == "brief"]
        sent = calls.of_row(db, run.id, row)
    pert, gene = row.split("_")
    assert briefs
    assert all(pert in brief and gene in brief and "GENE0" not in brief for brief in briefs)
    assert any("GENE0" in json.loads(call.reply)["choices"][0]["message"]["content"] for call in sent)


def _told_apart(folder: Path, shape: tuple[int, int], rows: str) -> tuple[Contamination, Contamination]:
    workspace, labels = furnish(folder / "memory", *shape)
    reading, _ = furnish(folder / "reason", *shape)
    return asked_with_other_names(workspace, remembers(labels), rows), asked_with_other_names(reading, reasons(), rows)


@pytest.mark.soak
def test_memory_and_reasoning_are_told_apart_at_300_rows(tmp_path: Path) -> None:
    memory, reason = _told_apart(tmp_path, (20, 15), "")
    assert [each.arm for each in memory.arms if each.falls] == [CODED, SWAPPED, HIDDEN]
    assert [each.arm for each in reason.arms if each.falls] == [ALONE]
    assert [each.leaks for each in memory.arms] == [0, None, 0, None]
    assert contamination_lines(memory)[0].startswith("judged rests on remembered names")
    assert contamination_lines(reason)[0].startswith("judged rests on its dossier")
    shares = {each.arm: each.share for each in memory.arms}
    assert shares[CODED] is not None
    assert shares[CODED][0] == pytest.approx(1, abs=0.35)


@pytest.mark.soak
def test_what_is_found_is_the_same_on_a_command_and_costs_nothing_again(tmp_path: Path) -> None:
    workspace, labels = furnish(tmp_path / "w", 2, 3)
    found = asked_with_other_names(workspace, remembers(labels), "", arms=(CODED, ALONE))
    assert [each.arm for each in found.arms] == [CODED, ALONE]
    assert contamination_json(found)["arms"][0]["requests_with_a_symbol"] == 0
    again = core_json(workspace.settings.workspace, "contamination", "judged", "--arms", "coded,alone")
    assert [arm["score"] for arm in again["arms"]] == [each.mean.b.value for each in found.arms]
    assert again["runs"] == contamination_json(found)["runs"]
    assert again["verdict"].startswith("judged: no change has an interval")  # on six rows
    assert list(table_of(found)["score"]) == [arm["score"] for arm in again["arms"]]
    assert "aliases that no imported pack lists" in again["limits"]
    estimate = core(workspace.settings.workspace, "contamination", "judged", "--arms", "coded,alone", "--estimate")
    assert "no new calls" in estimate.out
    with workspace.store.read() as db:
        [saved] = list_finished(db, found.spec.run)
    assert saved.spec == found.spec
    assert dict(saved.runs) == dict(found.runs)


@pytest.mark.soak
def test_what_cannot_be_asked_says_what_cannot_be_known(tmp_path: Path) -> None:
    workspace = open_workspace(Settings(workspace=tmp_path, author="tester"))
    worlds.furnish(workspace)
    card = core(tmp_path, "contamination", "llm train")
    assert card.status == 0
    assert "is unknown" in card.out
    with pytest.raises(StateError, match="is unknown"):
        contamination.plan_contamination(workspace, ContaminationRequest("llm train"))


@pytest.mark.soak
def test_arms_that_a_method_lacks_are_refused(asked: tuple[Workspace, str]) -> None:
    workspace, address = asked
    options = {"seeds": "1", "shots": 2}
    run = launch.start(workspace, RunRequest("prompt_only", options=options, model="scripted", endpoint=address, name="prompted"))
    plan = contamination.plan_contamination(workspace, ContaminationRequest(run.name, endpoint=address))
    assert plan.spec.arms == (CODED, SWAPPED)
    with pytest.raises(InputError, match="alone"):
        contamination.plan_contamination(workspace, ContaminationRequest(run.name, arms=("alone",), endpoint=address))
    with pytest.raises(InputError, match="sources = packs"):
        launch.start(
            workspace,
            RunRequest("debate", options={"names": CODED, "sources": "cache"}, model="scripted", endpoint=address, name="web"),
        )
