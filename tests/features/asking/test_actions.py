"""Asking about one pair: known or not, once, again, stopped, and what is expected of it."""

from __future__ import annotations

import os
import signal

import pytest

from core.base.errors import InputError, NotFound, StateError, Unreachable
from core.base.texts import MAX_NAME
from core.base.types import ASKED, Label
from core.features.asking import actions as ask
from core.features.asking import expectations
from core.features.asking.expectations import Tally
from core.features.asking.question import Question
from core.runs import launch, run_control
from core.runs.prompt_files import PromptFile
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import datasets, pairs, predictions, runs
from tests.commands import core, core_json
from tests.fakes.scripted import Script, serving

QUICK = {"tools": "gene_class,base_rates", "rounds": 0}


def asked(workspace: Workspace, url: str, pert: str, gene: str, **more: object) -> ask.Asked:
    question = Question(
        pert, gene, dataset="bmdm", endpoint=url, model="scripted", options=QUICK, **more
    )  # type: ignore[arg-type]
    return ask.ask(workspace, question, begin=run_control.work_on)


@pytest.mark.soak
def test_a_pair_of_the_dataset_in_any_spelling(small_workspace: Workspace) -> None:
    with serving() as url:
        found = asked(small_workspace, url, " pa", "GA ")
    assert (found.pair.pair_id, found.pair.label, found.is_new) == ("Pa_Ga", Label.UP, True)
    assert (found.run.name, found.run.origin, found.run.total) == (
        "asked Pa → Ga, debate",
        "asked here",
        1,
    )
    answer = ask.answer_of(small_workspace, found.run.id, "Pa_Ga")
    assert [event["kind"] for event in answer.events] == ["verdict", "verdict"]
    # a labelled training row sees the labels of other folds, never its own
    assert small_workspace.run_folder(found.run.id).spec().view.kind == "folds"


@pytest.mark.soak
def test_an_unknown_pair_is_a_row_of_its_run_and_none_of_the_dataset(
    small_workspace: Workspace,
) -> None:
    with small_workspace.store.read() as db:
        before = (
            datasets.counts(db).to_dict(),
            pairs.frame(db, datasets.find(db, "bmdm").id).to_dict(),
        )
    with serving() as url:
        unfinished = launch.resolve(small_workspace, RunRequest("evidence_rules", "bmdm"))
        found = asked(small_workspace, url, "Nobody1", "Ga")
        again = asked(small_workspace, url, "Nobody1", "Ga", again=True)
    assert (found.pair.split, found.pair.label) == (ASKED, None)
    assert (again.pair, again.is_new, again.run.name) == (
        found.pair,
        True,
        "asked Nobody1 → Ga, debate 2",
    )
    with small_workspace.store.read() as db:
        dataset = datasets.find(db, "bmdm")
        assert (datasets.counts(db).to_dict(), pairs.frame(db, dataset.id).to_dict()) == before
        row = predictions.row(db, found.run.id, found.pair.pair_id)
    assert (row["pert"], row["gene"], row["label"], row["error"]) == ("Nobody1", "Ga", None, None)
    # other runs neither predict it nor are they of another dataset now
    assert launch.resolve(small_workspace, RunRequest("evidence_rules", "bmdm")) == unfinished
    assert [run.name for run in ask.list_ad_hoc_runs(small_workspace, dataset.id)] == [
        again.run.name,
        found.run.name,
    ]


@pytest.mark.soak
def test_ids_that_would_be_the_same_are_not(small_workspace: Workspace) -> None:
    with serving() as url:
        first, second = (
            asked(small_workspace, url, "A_B", "C"),
            asked(small_workspace, url, "A", "B_C"),
        )
    assert (first.pair.pair_id, second.pair.pair_id) == ("A_B_C", "A_B_C_")


@pytest.mark.soak
def test_what_was_asked_is_not_asked_twice(small_workspace: Workspace) -> None:
    with serving() as url:
        first, second = (
            asked(small_workspace, url, "Pa", "Ga"),
            asked(small_workspace, url, "Pa", "Ga"),
        )
    assert (second.run.id, second.is_new) == (first.run.id, False)


def test_a_question_that_was_stopped_goes_on(small_workspace: Workspace) -> None:
    def begin_and_stop(workspace, run):
        workspace.run_folder(run).set_command("cancel")
        run_control.work_on(workspace, run)

    with serving(Script(delay_s=0.5)) as url:
        question = Question(
            "Pa", "Gc", dataset="bmdm", endpoint=url, model="scripted", options=QUICK
        )
        stopped = ask.ask(small_workspace, question, begin=begin_and_stop)
        assert (stopped.run.status, stopped.run.done) == ("cancelled", 0)
        with pytest.raises(StateError, match="it is cancelled: a person cancelled it"):
            ask.answer_of(small_workspace, stopped.run.id, stopped.pair.pair_id)
        gone_on = ask.resume(small_workspace, stopped.run.id, begin=run_control.work_on)
    assert (gone_on.id, gone_on.status, gone_on.done) == (stopped.run.id, "done", 1)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("question", "error", "why"),
    [
        (Question("", "Ga"), InputError, "name of a perturbation: 0 characters"),
        (Question("Pa", "G\u202ea"), InputError, "name of a target gene"),
        (
            Question("Pa", "Ga", "evidence_rules"),
            InputError,
            "cannot be asked, expected one of debate, ",
        ),
        (Question("Pa", "Ga", "seance"), NotFound, "method 'seance'"),
        (Question("Pa", "Ga", options={"wine": 1}, model="m"), InputError, "wine"),
    ],
)
def test_what_cannot_be_asked(
    small_workspace: Workspace, question: Question, error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        ask.ask(small_workspace, question)
    with small_workspace.store.read() as db:
        assert [run.name for run in runs.list_all(db)] == ["debate"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("question", "error"),
    [
        (Question("Nobody1", "Nothing2", options={"wine": 1}, model="m"), InputError),
        (Question("Nobody1", "Nothing2", endpoint="http://127.0.0.1:9/v1"), Unreachable),
        (
            Question(
                "Nobody1",
                "Nothing2",
                "prompt_only",
                options={"prompts": PromptFile("p.csv", b"id,prompt\nPa_Ga,x\n")},
                model="m",
            ),
            InputError,
        ),
    ],
)
def test_a_question_that_cannot_be_asked_leaves_nothing(
    small_workspace: Workspace, question: Question, error: type[Exception]
) -> None:
    def everything():
        with small_workspace.store.read() as db:
            return {
                name: db.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall()
                for name in ("pair", "gene", "trail", "run")
            }

    before = everything()
    with pytest.raises(error):
        ask.ask(small_workspace, question)
    assert everything() == before


@pytest.mark.soak
def test_a_symbol_is_found_in_the_other_role_too(small_workspace: Workspace) -> None:
    with serving() as url:
        found = asked(
            small_workspace, url, "gB", "pA"
        )  # Gb is a target gene of the dataset alone, Pa a perturbation
    assert (found.pair.pert, found.pair.gene) == ("Gb", "Pa")


@pytest.mark.soak
def test_the_longest_symbols_give_a_name_that_a_run_can_have(small_workspace: Workspace) -> None:
    with serving() as url:
        found = asked(small_workspace, url, "P" * MAX_NAME, "G" * MAX_NAME)
    assert (len(found.pair.pert), found.run.status) == (MAX_NAME, "done")


def test_a_file_of_prompts_is_kept_for_the_run_that_asks_them(small_workspace: Workspace) -> None:
    file = PromptFile("p.csv", b"id,prompt\nPa_Ga,Say <answer>X</answer> of Pa and Ga.\n")
    with serving() as url:
        question = Question(
            "Pa", "Ga", "prompt_only", endpoint=url, model="scripted", options={"prompts": file}
        )
        run = ask.ask(small_workspace, question, begin=run_control.work_on).run
    assert (run.status, run.done) == ("done", 1), run.cause


def test_an_expectation_counts_once(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate")
    assert expectations.has_label(small_workspace, run.id, "Pa_Ga")
    assert expectations.expectation_of(small_workspace, run.id, "Pa_Ga") is None
    assert expectations.tally(small_workspace) == Tally()
    said = expectations.expect(small_workspace, run.id, "Pa_Ga", "up")
    assert (said.label, said.is_right) == (Label.UP, True)
    with pytest.raises(StateError, match="the first answer counts"):
        expectations.expect(small_workspace, run.id, "Pa_Ga", "down")
    labelled = [
        pair
        for pair in ("Pa_Gb", "Pb_Ga", "Pb_Gb")
        if expectations.has_label(small_workspace, run.id, pair)
    ]
    shown, wrong, *_ = labelled
    assert not expectations.expect(small_workspace, run.id, shown, None).is_right
    with pytest.raises(StateError, match="was shown"):
        expectations.expect(small_workspace, run.id, shown, "none")
    label = expectations.expect(small_workspace, run.id, wrong, "up").label
    hits = 1 + (label == Label.UP)
    assert expectations.tally(small_workspace) == Tally(said=2, right=hits, commonest=max(hits, 1))
    with pytest.raises(InputError, match="has no label"):
        expectations.expect(small_workspace, run.id, "nowhere", "up")


@pytest.mark.soak
def test_the_command_prints_the_argument_and_its_numbers(small_workspace: Workspace) -> None:
    place = small_workspace.settings.workspace
    settings = (
        "--dataset",
        "bmdm",
        "--model",
        "scripted",
        "--set",
        "rounds=1",
        "--set",
        "tools=gene_class",
    )
    with serving() as url:
        done = core(place, "ask", "Pa", "Gz9", "--endpoint", url, *settings)
        printed = core_json(place, "ask", "Pa", "Gz9", "--endpoint", url, *settings)
        failed = core(
            place, "ask", "Pa", "Gz9", "--endpoint", url, "--dataset", "bmdm", "--model", "another"
        )
    assert done.status == 0
    lines = done.out.splitlines()
    assert [line for line in lines if line.endswith(":")] == [
        *("EFFECT, brief:", "NULL, brief:", "JUDGE, verdict:"),
        *("UP, brief:", "DOWN, brief:", "JUDGE, verdict:"),
    ]
    assert lines[-1].startswith("Pa → Gz9: P(DE) 0.")
    assert "simulated: no model argued" in lines[-1]
    assert (printed["row"], printed["simulated"], printed["model"]) == ("Pa_Gz9", True, "scripted")
    assert [event["kind"] for event in printed["trace"]].count("brief") == 4
    assert {item["tool"] for item in printed["evidence"]} == {"gene_class"}
    assert failed.status == 1
    assert "does not exist" in failed.err


def test_the_command_that_is_interrupted_says_so(small_workspace: Workspace) -> None:
    def interrupt(_prompt):
        os.kill(os.getpid(), signal.SIGINT)  # its worker takes it
        return "<prob>50</prob>"

    settings = (
        "--dataset",
        "bmdm",
        "--model",
        "scripted",
        "--set",
        "tools=gene_class",
        "--set",
        "rounds=0",
    )
    with serving(Script(answer=interrupt, delay_s=5.0)) as url:
        done = core(small_workspace, "ask", "Pa", "Ga", "--endpoint", url, *settings)
    assert done.status == 130
    with small_workspace.store.read() as db:
        assert runs.find(db, "asked Pa → Ga, debate").status == "interrupted"
