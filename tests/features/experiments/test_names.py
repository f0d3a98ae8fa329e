"""Memory or reasoning: a model that remembers names and one that reads its dossier differ, and no coded request names a
gene of its row, whichever method asks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.base.errors import InputError, MissingPackage, StateError
from core.features.experiments import engine
from core.features.experiments.kinds.shown import TITLES, NamesSettings
from core.features.experiments.result import ExperimentResult
from core.methods.coded_names import ALONE, CODED, HIDDEN, SWAPPED
from core.runs import launch
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import calls, predictions, traces
from tests import worlds
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
        request = RunRequest(
            method, options=options, rows="sample=1", model="scripted", endpoint=address, name=name
        )
        try:
            made[names] = launch.start(workspace, request)
        except MissingPackage as error:
            pytest.skip(str(error))
        assert (made[names].status, made[names].done) == ("done", 1), made[names].cause
    assert len({run.id for run in made.values()}) == len(made)
    sent = {names: _requests(workspace, run.id) for names, run in made.items()}
    assert all(
        "GENE0" in text and not re.search("kof|mes[0-9]", text, re.IGNORECASE)
        for *_, text in sent[CODED]
    )
    assert all(
        "GENE0" in text and pert not in text and gene not in text
        for pert, gene, text in sent[HIDDEN]
    )
    if method == "debate":
        assert made[""].spec["options"]["names"] == ""
        assert all(pert in text and gene in text for pert, gene, text in sent[""])
        assert all(re.search(r"Kof\d", text) and "GENE0" not in text for *_, text in sent[SWAPPED])
        assert {text for *_, text in sent[SWAPPED]}.isdisjoint(text for *_, text in sent[""])


@pytest.mark.soak
def test_what_a_model_writes_in_codes_is_kept_in_names(asked: tuple[Workspace, str]) -> None:
    workspace, address = asked
    options = {"rounds": 1, "tools": "regulators", "names": CODED}
    asking = RunRequest(
        "debate", options=options, rows="sample=1", model="scripted", endpoint=address, name="one"
    )
    run = launch.start(workspace, asking)
    with workspace.store.read() as db:
        [row] = predictions.all_ids(db, run.id)
        briefs = [
            event["content"] for event in traces.of_row(db, run.id, row) if event["kind"] == "brief"
        ]
        sent = calls.of_row(db, run.id, row)
    pert, gene = row.split("_")
    assert briefs
    assert all(pert in brief and gene in brief and "GENE0" not in brief for brief in briefs)
    assert any(
        "GENE0" in json.loads(call.reply)["choices"][0]["message"]["content"] for call in sent
    )


def _told_apart(
    folder: Path, shape: tuple[int, int], rows: str
) -> tuple[ExperimentResult, ExperimentResult]:
    workspace, labels = furnish(folder / "memory", *shape)
    reading, _ = furnish(folder / "reason", *shape)
    return asked_with_other_names(workspace, remembers(labels), rows), asked_with_other_names(
        reading, reasons(), rows
    )


def _lower(result: ExperimentResult) -> list[str]:
    return [
        arm.name
        for arm in result.arms
        if arm.is_shown and arm.delta_mean is not None and arm.delta_mean.value < 0
    ]


@pytest.mark.soak
def test_memory_and_reasoning_are_told_apart_at_300_rows(tmp_path: Path) -> None:
    memory, reason = _told_apart(tmp_path, (20, 15), "")
    assert _lower(memory) == [TITLES[CODED], TITLES[SWAPPED], TITLES[HIDDEN]]
    assert _lower(reason) == [TITLES[ALONE]]
    for result, is_lower in ((memory, True), (reason, False)):
        assert [pair.b for pair in result.contrasts] == [TITLES[ALONE]] * 3
        assert all(
            pair.p_holm <= 0.05 and (pair.change.value < 0) == is_lower for pair in result.contrasts
        )
    notes = {arm.name: arm.note for arm in memory.arms if arm.note}
    assert [*notes] == [TITLES[CODED], TITLES[HIDDEN]]
    assert all("is in 0 of" in note for note in notes.values())
    assert memory.noise_floor is not None
    assert "aliases that no imported pack lists" in " ".join(memory.caveats)


@pytest.mark.soak
def test_arms_that_a_method_lacks_are_refused(asked: tuple[Workspace, str], tmp_path: Path) -> None:
    workspace, address = asked
    options = {"seeds": "1", "shots": 2}
    run = launch.start(
        workspace,
        RunRequest(
            "prompt_only", options=options, model="scripted", endpoint=address, name="prompted"
        ),
    )
    plan = engine.plan(workspace, "names", NamesSettings(run=run.name, endpoint=address))
    assert [arm.name for arm in plan.experiment.arms] == [TITLES[CODED], TITLES[SWAPPED]]
    assert plan.experiment.contrasts == ()
    with pytest.raises(InputError, match="alone"):
        engine.plan(
            workspace, "names", NamesSettings(run=run.name, arms=("alone",), endpoint=address)
        )
    with pytest.raises(InputError, match="sources = packs"):
        launch.start(
            workspace,
            RunRequest(
                "debate",
                options={"names": CODED, "sources": "cache"},
                model="scripted",
                endpoint=address,
                name="web",
            ),
        )
    other = worlds.workspace_in(tmp_path)
    worlds.furnish(other)
    with pytest.raises(StateError, match="cannot be asked again"):
        engine.plan(other, "names", NamesSettings(run="llm train"))
