"""What a worker does with a run, in this process."""

from __future__ import annotations

import gc
import math
import socket
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.base import log
from core.base.errors import StateError
from core.base.types import Pair, RowResult
from core.methods.base import Context
from core.runs import actions as run_actions
from core.runs import run_control
from core.runs.jobs.folder import log_tail
from core.runs.journal import read_progress
from core.runs.spec import LabelViewSpec
from core.store import calls, predictions
from tests.fakes.scripted import request_counts, serving
from tests.llm.canned import Canned, completion
from tests.llm.canned import serving as canned
from tests.runs.cases import fast, keyed, run_here, status, stored_rows, wish, workspace_with
from tests.runs.methods import Asking, Base, Counting, Whole, constant, here


@pytest.mark.soak
def test_rows_are_asked_once_and_not_too_many_at_a_time(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 30)
    method = Counting(sleep_s=0.002)
    run = run_here(workspace, method, fast(rows_in_flight=4))
    assert (
        sorted(method.asked)
        == sorted(set(method.asked))
        == sorted(f"Qb{i % 7}_Hb{i}" for i in range(30))
    )
    assert method.most_at_once == 4
    assert (run.done, run.tokens, run.spent_tokens) == (30, None, 0)
    assert status(workspace, run).state == "done"


def test_while_a_worker_works_no_garbage_is_looked_for_in_what_was_there(tmp_path: Path) -> None:
    frozen = []

    class Looking(Counting):
        async def predict_row(self, pair: Pair, context: Context) -> RowResult:
            frozen.append(gc.get_freeze_count())
            return await super().predict_row(pair, context)

    workspace, method = workspace_with(tmp_path, 2), Looking()
    run_here(workspace, method)
    assert min(frozen) > 10_000  # the modules alone
    assert gc.get_freeze_count() == 0


def test_failures_are_rows_with_their_cause_and_retry_mends_them(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 10)
    ids = wish(workspace, Counting()).rows
    broken = Counting(fails=frozenset(ids[:2]))
    run = run_here(workspace, broken)
    assert (run.status, run.done, run.failed, run.fallbacks) == ("done", 8, 2, 0)
    assert status(workspace, run).done_with_failures
    with workspace.store.read() as db:
        row = predictions.row(db, run.id, ids[0])
    assert (row["error"], row["p_de"], row["prediction_up"]) == (
        f"OutOfScope: {ids[0]}: not today",
        None,
        None,
    )
    assert "Traceback" not in "".join(log_tail(workspace.run_folder(run.id)))
    # Half mended, by a bug this time
    worse = Counting(fails=frozenset(ids[:1]), error=ZeroDivisionError)
    run = run_control.retry(workspace, "r", begin=here(worse))
    assert sorted(worse.asked) == sorted(ids[:2])
    assert (run.done, run.failed) == (9, 1)
    assert any("ZeroDivisionError" in line for line in log_tail(workspace.run_folder(run.id)))
    assert "Traceback" not in "".join(log_tail(workspace.run_folder(run.id)))
    good = Counting()
    run = run_control.retry(workspace, "r", begin=here(good))
    assert good.asked == [ids[0]]
    assert (run.status, run.done, run.failed) == ("done", 10, 0)
    with workspace.store.read() as db:
        assert predictions.row(db, run.id, ids[0])["error"] is None
        assert len(predictions.frame(db, run.id)) == 10
    with pytest.raises(StateError, match="no row failed"):
        run_control.retry(workspace, "r", begin=here(good))
    with pytest.raises(StateError, match="every row is finished"):
        run_control.resume(workspace, "r", begin=here(good))


def test_errors_that_no_room_expects_have_one_line_a_kind_and_one_traceback_in_the_workspaces_log(
    tmp_path: Path,
) -> None:
    @dataclass
    class Buggy(Base):
        async def predict_row(self, pair: Pair, context: Context) -> RowResult:  # noqa: ARG002
            raise (KeyError if pair.gene in ("Hb0", "Hb1") else ValueError)(
                f"{pair.gene}\nsk-very-secret" + "x" * 1_000
            )

    workspace = workspace_with(tmp_path, 20)
    log.configure(workspace.settings, "test")
    try:
        spec = wish(workspace, Buggy())
        how = fast("http://127.0.0.1:9/v1")
        run = run_control.start(
            keyed(workspace, how.servers, "sk-very-secret"), spec, "r", how, begin=here(Buggy())
        )
    finally:
        log.close()
    assert (run.status, run.done, run.failed) == ("done", 0, 20)
    lines = log_tail(workspace.run_folder(run.id))
    assert [
        sum(f": {kind}: " in line for line in lines) for kind in ("KeyError", "ValueError")
    ] == [1, 1]
    assert max(map(len, lines)) < 700
    assert "Traceback" not in "".join(lines)
    assert log.log_file(workspace.settings).read_text("utf-8").count("Traceback") == 2
    assert "sk-very" not in "".join(lines)
    assert Counter(stored_rows(workspace, run.id)["error"].str.partition(":")[0]) == {
        "KeyError": 2,
        "ValueError": 18,
    }


@pytest.mark.soak
def test_what_cannot_be_written_down_is_a_failure(tmp_path: Path) -> None:
    @dataclass
    class NotANumber(Base):
        async def predict_row(self, pair: Pair, context: Context) -> RowResult:  # noqa: ARG002
            odd = constant(pair)
            return replace(
                odd,
                prediction=replace(
                    odd.prediction, p_de=math.nan if pair.pair_id.endswith("Hb1") else 0.4
                ),
            )

    workspace = workspace_with(tmp_path, 5)
    run = run_here(workspace, NotANumber())
    assert (run.done, run.failed) == (4, 1)
    with workspace.store.read() as db:
        assert "p_de is nan, expected 0 to 1" in predictions.row(db, run.id, "Qb1_Hb1")["error"]


def test_an_answer_for_another_row_is_a_failure(tmp_path: Path) -> None:
    @dataclass
    class Confused(Base):
        async def predict_row(self, pair: Pair, context: Context) -> RowResult:
            return constant(context.pairs[0] if pair == context.pairs[1] else pair)

    workspace = workspace_with(tmp_path, 3)
    run = run_here(workspace, Confused())
    assert (run.done, run.failed) == (2, 1)


def test_too_few_rows_at_once_stop_the_run(tmp_path: Path) -> None:
    @dataclass
    class Lazy(Whole):
        def predict_batch(self, pairs: Sequence[Pair], context: Context) -> list[RowResult]:
            return super().predict_batch(pairs[1:], context)

    workspace = workspace_with(tmp_path, 3)
    run = run_here(workspace, Lazy())
    assert (run.status, run.done) == ("stopped", 0)
    assert "gave other rows" in run.cause
    assert run_control.resume(workspace, "r", begin=here(Whole())).done == 3


@pytest.mark.soak
def test_nobody_there_stops_the_run_and_leaves_its_rows_missing(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 5)
    method = Asking()
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        run = run_here(workspace, method, fast(gone), model="scripted")
    assert (run.status, run.done, run.failed) == ("stopped", 0, 0)
    assert run.cause.startswith(f"nobody answered: {gone}")
    assert status(workspace, run).counts.failed == 0
    with serving() as url:
        run = run_control.resume(workspace, "r", settings=fast(url), begin=here(method))
    assert (run.status, run.cause, run.done, run.failed) == ("done", "", 5, 0)


@pytest.mark.soak
def test_a_server_that_goes_away_stops_the_run(tmp_path: Path) -> None:
    """It answers the first 20 calls, then nobody does."""
    workspace = workspace_with(tmp_path, 60)
    method = Asking()

    def answer(asked):
        said = (
            "<prob>30</prob>"
            if "<prob>" in asked.body["messages"][0]["content"]
            else "<answer>A</answer>"
        )
        tokens = {"content": [{"token": said, "logprob": -0.1, "top_logprobs": []}]}
        return (
            Canned(completion(said, logprobs=tokens)) if asked.number < 20 else Canned("gone", 503)
        )

    with canned(answer) as (url, _):
        how = fast(
            url, rows_in_flight=2, unanswered_limit=5, retries=0, timeout_s=30.0
        )  # a slow answer is one
        run = run_here(workspace, method, how, model="m")
    assert run.status == "stopped"
    assert run.cause.startswith("5 rows in succession without an answer")
    # 20 answers make at most ten rows. A row whose first call was answered and whose second was not is a failure; so are those
    # that got no answer while the tenth waited for its own: fewer than would have stopped the run.
    assert 9 <= run.done <= 10
    assert run.failed < 5
    assert len(read_progress(workspace.run_folder(run.id).rows).finished) == run.done + run.failed


@pytest.mark.soak
def test_a_budget_ends_the_run_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 40)
    method = Asking()
    with serving() as url:
        how = fast(url, rows_in_flight=2, token_budget=500)
        run = run_here(workspace, method, how, model="scripted")
        assert run.status == "budget"
        assert 0 < run.done < 40
        # A call is looked at before it is sent, so that the budget is overdrawn by one at most.
        assert 500 <= run.spent_tokens < 500 + 150
        asked = request_counts(url)["/v1/chat/completions"]
        assert run_control.resume(workspace, "r", begin=here(method)).status == "budget"
        assert request_counts(url)["/v1/chat/completions"] == asked
        run = run_control.resume(workspace, "r", settings=fast(url), begin=here(method))
        assert (run.status, run.done, request_counts(url)["/v1/chat/completions"]) == (
            "done",
            40,
            80,
        )


@pytest.mark.soak
def test_what_rows_cost_is_kept_apart_from_what_was_spent(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 6)
    method = Asking()
    with serving() as url:
        first = run_control.start(
            workspace,
            wish(workspace, method, model="scripted"),
            "first",
            fast(url),
            begin=here(method),
        )
        # Other label views make other runs; the method reads no label, so its requests are the same.
        same = wish(workspace, method, model="scripted", labels="blinded")
        second = run_control.start(workspace, same, "second", fast(url), begin=here(method))
        same = wish(workspace, method, model="scripted", labels="folds")
        third = run_control.start(
            workspace, same, "third", fast(url, cached=False), begin=here(method)
        )
        assert request_counts(url)["/v1/chat/completions"] == 2 * 12
    assert first.tokens == first.spent_tokens == second.tokens == third.tokens == third.spent_tokens
    assert second.spent_tokens == 0
    with workspace.store.read() as db:
        assert all(call.cached for call in calls.of_row(db, second.id, "Qb0_Hb0"))
        assert db.execute("SELECT count(*) FROM call").fetchall() == [(12,)]
    run_actions.delete(workspace, "first")
    with workspace.store.read() as db:
        assert db.execute("SELECT count(*) FROM call").fetchall() == [(12,)]
    for name in ("second", "third"):
        run_actions.delete(workspace, name)
    with workspace.store.read() as db:
        assert db.execute(
            "SELECT (SELECT count(*) FROM call), (SELECT count(*) FROM row_call)"
        ).fetchall() == [(0, 0)]


@pytest.mark.soak
@pytest.mark.parametrize(
    "view", [LabelViewSpec(), LabelViewSpec("blinded"), LabelViewSpec("folds", 2)]
)
def test_methods_see_the_labels_that_the_view_shows(view: LabelViewSpec, tmp_path: Path) -> None:
    seen = {}

    @dataclass
    class Looking(Base):
        async def predict_row(self, pair: Pair, context: Context) -> RowResult:
            seen[pair.pair_id] = context.view_of(pair)
            return constant(pair)

    workspace = workspace_with(tmp_path, 2)
    run = run_control.start(
        workspace,
        wish(workspace, Looking(), "sample=3,seed=1;split=train", labels=view),
        "r",
        fast(),
        begin=here(Looking()),
    )
    assert run.done == 3
    for pair_id, shown in seen.items():
        pert, gene = pair_id.split("_")
        shared = [row for row in shown.rows if row.pert == pert or row.gene == gene]
        # 100 rows: all of them; without 3 perturbations and 3 genes; without half of either
        sizes = {"all": {100}, "blinded": {49, 56, 64, 72, 63}, "folds": {25}}[view.kind]
        assert len(shown) in sizes
        assert bool(shared) == (view.kind == "all")


@pytest.mark.parametrize("change", ["labels", "method"])
def test_a_run_whose_surroundings_changed_stops(change: str, tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 4)
    broken = Counting(fails=frozenset(["Qb0_Hb0"]))
    run_here(workspace, broken)
    if change == "labels":
        with workspace.store.write() as db:
            db.execute("UPDATE pair SET label = 'down' WHERE pair_id = 'Pa0_Ga0'")
    after = Counting(version=2 if change == "method" else 1)
    run = run_control.retry(workspace, "r", begin=here(after))
    assert (run.status, run.done, run.failed, after.asked) == ("stopped", 3, 0, [])
    assert "start a new run" in run.cause


@pytest.mark.soak
def test_a_method_that_needs_a_server_says_so(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 2)
    run = run_here(workspace, Asking(), model="m")
    assert (run.status, run.cause) == (
        "stopped",
        "method asking: needs a model server, got none; give its address",
    )
