"""The page Ask without a browser: what can be asked, what is shown of it, and what stays hidden until somebody has guessed."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.features.asking import actions as ask
from core.features.asking import panel
from core.features.asking.page import following
from core.features.asking.question import Question
from core.features.importing import bundle_actions, export
from core.features.importing.actions import import_upload
from core.runs import run_control
from core.runs.jobs import control
from core.runs.jobs.state import NO_REASON
from core.runs.row_watch import Watcher
from core.runs.workspace import Workspace
from core.store import changes, runs
from tests import cases
from tests.fakes.scripted import serving
from tests.runs.jobs.crashed import SAID, leave_dead
from tests.runs.jobs.started import counted
from tests.ui.conftest import Visit
from tests.ui.test_apptest import pair_of, press, text_of
from tests.worlds import workspace_in

QUICK = {"tools": "gene_class,base_rates", "rounds": 1}


@pytest.fixture(autouse=True)
def asked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page asks is worked on in this process, at once."""
    monkeypatch.setattr(
        "core.features.asking.page.argued.ask.ask", partial(ask.ask, begin=run_control.work_on)
    )
    monkeypatch.setattr(ask, "TOKEN_S", 0.0)


def fill(app: AppTest, pert: str, gene: str) -> AppTest:
    app.text_input(key="ask_pert").set_value(pert)
    return app.text_input(key="ask_gene").set_value(gene).run()


def state_shown(app: AppTest) -> str:
    """What the panel of the only job on a page says of its state."""
    [bar] = app.main.get("progress")
    return str(bar.proto.text).replace("\\", "")


def argued(workspace: Workspace, pert: str = "Pa", gene: str = "Ga") -> str:
    """The id of a run that was asked on a scripted server."""
    with serving() as url:
        question = Question(
            pert, gene, dataset="bmdm", endpoint=url, model="scripted", options=QUICK
        )
        return ask.ask(workspace, question, begin=run_control.work_on).run.id


@pytest.mark.soak
def test_a_pair_is_asked_of_the_simulated_server_and_shown(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "ask", answered_by="scripted")
    assert "No questions yet" in text_of(app)
    assert app.button(key="ask").disabled
    app = press(fill(app, "Pa", "Unheard1"), "Ask")
    text = text_of(app)
    assert re.findall("ask-speech", text)
    cards = len(re.findall(r'class="ask-(?:card|speech)[ "]', text))
    assert cards > 6
    assert text.count("simulated</span>") == cards + 1  # and beside the numbers
    assert "a pair that the dataset does not have" in text
    assert "This pair has no label here" in text
    with small_workspace.store.read() as db:
        [run] = [run for run in runs.list_all(db) if run.is_asked]
    assert app.query_params["asked"] == run.id
    assert run.name not in [option for box in app.sidebar.selectbox for option in box.options]
    again = press(app, "Ask again")
    assert again.query_params["asked"] != run.id


def test_the_page_is_the_same_whatever_the_label_until_somebody_has_said_what_they_expect(
    visit: Visit, tmp_path: Path
) -> None:
    texts = []
    for label in ("up", "down"):
        workspace = workspace_in(tmp_path / label)
        import_upload(
            workspace, cases.TRAIN.replace(b"Pa,Ga,up", f"Pa,Ga,{label}".encode()), "train.csv"
        )
        run = argued(workspace)
        app = visit(workspace, "ask", asked=run)
        texts.append(
            "\n".join(
                str(element.proto) for element in app.main if element.type != "dataframe"
            ).replace(run, "RUN")
        )
    strip = partial(
        re.sub, r'\d+\.\d s|key: "[^"]*"|\$\$[^"]*|id: "[^"]*"|2026[^"]*|[0-9a-f]{8,}', ""
    )
    assert strip(texts[0]) == strip(texts[1])
    assert "What do you expect?" in texts[1]
    app = app.button(key="expect-up").click().run()
    text = text_of(app)
    assert "you expected ▲ up" in text
    assert "▼ down" in text
    assert "✗ miss" in text
    assert "You were right 0 of 1 times; the best single answer 1" in text
    assert any(
        link.proto.label == "In Rows, with notes and every call" for link in app.get("page_link")
    )


@pytest.mark.soak
def test_a_label_that_is_asked_for_counts_for_nothing(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "ask", asked=argued(small_workspace))
    assert not any("Rows, with" in link.proto.label for link in app.get("page_link"))
    text = text_of(app.button(key="expect-shown").click().run())
    assert "shown on request" in text
    assert "You were right" not in text


def test_who_only_reads_asks_nothing(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = argued(small_workspace)
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    app = visit(small_workspace, "ask", asked=run)
    text = text_of(app)
    assert "you cannot ask here" in text
    assert "label is hidden" in text
    assert "ask-speech" in text  # what was argued can be read
    assert not [
        button for button in app.main.button if button.label in ("Ask", "Ask again", "▲ up")
    ]


@pytest.mark.soak
def test_without_a_server_the_page_says_what_to_start(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_ENDPOINT", "http://127.0.0.1:9/v1")
    app = fill(visit(small_workspace, "ask"), "Pa", "Ga")
    assert any("No model answers there" in each.value for each in app.warning)
    assert any("vllm serve" in each.value for each in app.code)
    assert app.button(key="ask").disabled


@pytest.mark.soak
def test_a_row_that_is_under_way_is_drawn_and_a_lost_run_says_so(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "EVERY_S", 0.05)
    monkeypatch.setattr(following, "_TICK_S", 0.0)
    run = argued(small_workspace)
    folder = small_workspace.run_folder(run)
    with small_workspace.store.write() as db:  # as if it had only begun
        db.execute("UPDATE run SET done = 0 WHERE id = ?", [run])
    asked = {
        "kind": "asked",
        "at": 1.0,
        "call": 0,
        "stage": "de",
        "role": "EFFECT",
        "seed": 0,
        "streams": True,
    }
    words = {
        "kind": "words",
        "at": 1.0,
        "call": 0,
        "attempt": 1,
        "content": "<b>Pa</b> reaches",
        "reasoning": "",
    }
    events = [
        {"kind": "row", "at": 1.0, "pair_id": "Pa_Ga", "pert": "Pa", "gene": "Ga"},
        asked,
        words,
    ]
    given_up = {
        "kind": "ended",
        "at": 2.0,
        "error": "the work on this row was ended",
        "given_up": True,
    }
    given = [events]
    monkeypatch.setattr(Watcher, "read", lambda _: given.pop() if given else [])
    folder.done.unlink()
    folder.heartbeat.unlink()
    folder.set_command("run")  # it waits for a worker
    app = visit(small_workspace, "ask", asked=run)
    text = text_of(app)
    assert "&lt;b&gt;Pa&lt;/b&gt; reaches▍" in text  # what a model writes is text
    assert [button.label for button in app.main.button if button.key == f"Stop-{run}"] == ["Stop"]
    folder.set_command("cancel")
    given.append([given_up])
    app = app.run()
    assert state_shown(app).startswith("crashed; can be resumed")
    assert "reaches▍" not in text_of(app)  # nothing is written any more
    assert "1.0 s" in text_of(app)  # from the row's beginning to its end, whatever the time is
    assert any(button.label == "Resume" for button in app.main.button)
    assert "This row failed" not in text_of(app)


@pytest.mark.soak
def test_a_row_whose_worker_was_killed_is_shown_as_any_job_and_resumed_once(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = argued(small_workspace)
    folder = small_workspace.run_folder(run)
    with small_workspace.store.write() as db:
        db.execute("UPDATE run SET done = 0, status = 'running' WHERE id = ?", [run])
    folder.rows.unlink()
    folder.done.unlink()
    leave_dead(folder)
    [job] = control.list_jobs(small_workspace, ["run"])
    assert (job.page, job.view["asked"]) == ("ask", run)  # the page Run lists no ad-hoc runs
    pages = [visit(small_workspace, job.page, **job.view) for _ in range(2)]
    for app in pages:
        assert state_shown(app).startswith("crashed; can be resumed")
        assert [error.value.replace("\\", "") for error in app.error] == [
            f"{NO_REASON}; the last line of its log: {SAID}"
        ]
        assert SAID in text_of(app)
    with counted(monkeypatch, "run") as processes:
        app = press(pages[0], "Resume")
        assert not app.error
        assert "Resumed asked Pa → Ga" in text_of(app)
        pages[1].button(key=f"Resume-{run}").click().run()
        assert len(processes) == 1


@pytest.mark.soak
def test_a_row_that_was_over_before_the_first_look_is_shown(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of its answers were in the cache: its worker has written its events and taken them away again."""
    monkeypatch.setattr(following, "EVERY_S", 0.05)
    monkeypatch.setattr(following, "_TICK_S", 0.0)
    run = argued(small_workspace)
    with small_workspace.store.write() as db:
        db.execute("UPDATE run SET done = 0 WHERE id = ?", [run])
    look = following.state_of

    def end_meanwhile(folder):
        with small_workspace.store.write() as db:
            db.execute("UPDATE run SET done = 1 WHERE id = ?", [run])
            changes.bump(db, "runs")
        return look(folder)

    monkeypatch.setattr(following, "state_of", end_meanwhile)
    app = visit(small_workspace, "ask", asked=run)
    assert "ask-speech" in text_of(app)
    assert not app.main.get("progress")
    assert any(button.label == "Ask again" for button in app.main.button)


@pytest.mark.soak
def test_no_link_leads_to_a_label_that_is_hidden(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = []
    monkeypatch.setattr(
        panel, "show_again", lambda *_, hides_label, **__: hidden.append(hides_label)
    )
    app = visit(small_workspace, "ask", asked=argued(small_workspace), again="true")
    assert not [name for frame in app.dataframe for name in frame.value.columns if "debate" in name]
    assert "rows?" not in str([element.proto for element in app.main])
    app.button(key="expect-shown").click().run()
    assert hidden == [True, False]


@pytest.mark.soak
def test_another_runs_row_can_be_watched_and_one_that_is_over_cannot(
    visit: Visit, small_workspace: Workspace
) -> None:
    run_id = argued(small_workspace)
    with small_workspace.store.write() as db:
        db.execute("UPDATE run SET origin = 'run here' WHERE id = ?", [run_id])
    app = visit(small_workspace, "ask", asked=run_id)
    assert state_shown(app).startswith("done")
    assert "The run on the page Run" in text_of(app)


@pytest.mark.soak
def test_words_of_the_store_and_of_events_are_drawn_alike(small_workspace: Workspace) -> None:
    answer = ask.answer_of(small_workspace, argued(small_workspace), "Pa_Ga")
    row = following.live_row.of_store(answer.numbers, answer.events, answer.dossier)
    assert row.is_over
    assert row.p_of("de") == pytest.approx(answer.numbers["p_de"])
    assert [speech.role for speech in row.speeches.values()] == [
        event["role"] for event in answer.events
    ]
    assert (
        following.live_row.draw_remarks(replace(row, ending={"error": "<x>"})).count("&lt;x&gt;")
        == 1
    )


@pytest.mark.soak
def test_a_pair_that_the_dataset_does_not_have_can_be_read_on_every_page(
    visit: Visit, small_workspace: Workspace
) -> None:
    run = argued(small_workspace, "Nobody1", "Nothing2")
    for page in (
        "overview",
        "rows",
        "scores",
        "fuse",
        "compare",
        "neighbours",
        "arguments",
        "share",
        "data",
    ):
        app = visit(small_workspace, page, run=run)
        assert not app.error, (page, [each.value for each in app.error])
    assert pair_of(visit(small_workspace, "rows", run=run)) == "### *Nobody1* ⟶ *Nothing2*"
    assert bundle_actions.build_bundle(small_workspace, run).content
    assert export.write_log(io.BytesIO(), small_workspace, run)
