"""A server that fails in every way it can: rows come out right or as failures with their cause, and `retry` mends them.

soak/test_faulty.py has the long form: every fault against the methods themselves, in worker processes.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from core.base.types import Failed
from core.runs import run_control
from core.runs.jobs.folder import log_tail
from core.runs.journal import RetryMark, read_entries, read_progress
from tests.fakes.scripted import Faults, Script, request_counts, serving
from tests.runs.cases import fast, stored_rows, wish, workspace_with
from tests.runs.methods import Asking, here

ROWS = 100
SHARE = 0.015  # of each fault
TIMEOUT_S = 1.5  # for which only hang and drip wait; an answer that a busy machine delays so long is a failure to retry
CAUSES = {"Unanswered", "Refused", "Malformed", "Truncated", "NoLogprobs", "Unreadable"}
NUMBERS = ["pair_id", "p_de", "p_up_given_de", "prediction_up", "prediction_down"]


@pytest.mark.soak
def test_every_row_is_right_or_a_failure_with_its_cause_and_retry_mends_it(tmp_path: Path) -> None:
    good, workspace = (
        workspace_with(tmp_path / "good", ROWS),
        workspace_with(tmp_path / "faulty", ROWS),
    )
    method = Asking()
    with serving() as url:
        expected = run_control.start(
            good, wish(good, method, model="scripted"), "r", fast(url), begin=here(method)
        )
    right = stored_rows(good, expected.id)[NUMBERS].set_index("pair_id")
    with serving(Script(faults=Faults.each(SHARE), retry_after_s=0.01)) as url:
        # However many rows in succession are unanswered, the server is there.
        how = fast(
            url,
            rows_in_flight=32,
            concurrency=32,
            retries=1,
            timeout_s=TIMEOUT_S,
            unanswered_limit=ROWS + 1,
        )
        run = run_control.start(
            workspace, wish(workspace, method, model="scripted"), "r", how, begin=here(method)
        )
        folder = workspace.run_folder(run.id)
        kinds = Counter(
            entry.kind for entry, _ in read_entries(folder.rows) if isinstance(entry, Failed)
        )
        assert run.status == "done"
        assert run.done + run.failed == ROWS
        assert run.failed == kinds.total() > 0
        assert set(kinds) <= CAUSES
        assert len(kinds) > 3
        found = stored_rows(workspace, run.id)
        failed = found[found["error"].notna()]
        assert Counter(failed["error"].str.partition(":")[0]) == kinds
        assert failed["p_de"].isna().all()
        succeeded = found[found["error"].isna()][NUMBERS].set_index("pair_id")
        pd.testing.assert_frame_equal(succeeded, right.loc[succeeded.index])
        for _ in range(15):
            if (
                run.status == "stopped"
            ):  # each of the last rows met a fault twice: a server that is gone looks the same
                run = run_control.resume(workspace, "r", begin=here(method))
            elif run.failed:
                run = run_control.retry(workspace, "r", begin=here(method))
        served = request_counts(url)
    assert {name for name in Faults.names() if not served.get(name)} == set()
    assert "Traceback" not in "".join(log_tail(workspace.run_folder(run.id), lines=1_000))
    assert (run.done, run.failed) == (ROWS, 0)
    pd.testing.assert_frame_equal(
        stored_rows(workspace, run.id)[NUMBERS].set_index("pair_id"), right
    )
    progress = read_progress(folder.rows)
    assert (progress.done, len(progress.failed), progress.repeated) == (ROWS, 0, 0)
    assert (progress.cost.total(), progress.spent) == (run.tokens, run.spent_tokens)
    assert run.tokens is not None
    assert run.spent_tokens is not None
    assert run.spent_tokens > run.tokens  # what failed was paid for too
    assert any(isinstance(entry, RetryMark) for entry, _ in read_entries(folder.rows))
