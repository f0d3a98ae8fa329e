"""What Compare says first, and its rows gained and lost."""

from __future__ import annotations

import re

import pytest

from core.features.importing.actions import import_upload
from core.runs.workspace import Workspace
from core.store import datasets, pairs
from tests import cases
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of, the_run

RUN, BASELINE = "simulated debate", "simulated collapsed debate"


@pytest.mark.soak
def test_rows_gained_and_lost_sum_to_the_change_and_comparisons_are_counted(
    glance: Visit, little_demo: Workspace
) -> None:
    app = glance(little_demo, "compare", run=RUN, baseline=the_run(little_demo, BASELINE).id)
    text = text_of(app)
    tables = [each.value for each in app.dataframe if "debate" in each.value]
    for word, sign, table in zip(("Gained", "Lost"), (1, -1), tables, strict=True):
        assert re.search(rf"\*\*{word} most: {len(table)} of [\d,]+ rows\*\*", text)
        assert (sign * table["mean"] > 0).all()
        assert (sign * table["mean"]).is_monotonic_decreasing
    words = re.findall(r"together change the mean of DE and DIR by ([+−]\d\.\d+)", text)
    sums = [float(word.replace("−", "-")) for word in words]
    changes = next(each.value for each in app.dataframe if "metric" in each.value)
    assert sum(sums) == pytest.approx(
        changes[changes["metric"] == "mean"]["estimate"].iloc[0], abs=0.001
    )
    ranks = next(each.value for each in app.dataframe if "rank_a" in each.value)
    assert ranks[["rank_a", "rank_b"]].min().min() >= 1
    assert "1 is the largest" in text
    assert re.search(
        r"(only comparison|One of [\d,]+ comparisons) of runs on this dataset so far.*: p = ", text
    )


def test_without_labels_the_difference_is_said_once(
    visit: Visit, small_workspace: Workspace
) -> None:
    with small_workspace.store.read() as db:
        frame = pairs.frame(db, datasets.default(db).id)
    unlabelled = frame[frame["label"].isna()]["pair_id"].tolist()
    for name, shares in (("a", (0.2, 0.3)), ("b", (0.3, 0.1))):
        rows = [(pair, share, 0.1, "x") for pair, share in zip(unlabelled, shares, strict=False)]
        import_upload(small_workspace, cases.submission(rows), f"{name}.csv")
    app = visit(small_workspace, "compare", run="b", baseline=the_run(small_workspace, "a").id)
    assert text_of(app).count("rank correlation") == 2  # of DE and of DIR
