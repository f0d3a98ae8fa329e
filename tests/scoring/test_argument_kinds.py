"""Hit rates of kinds: a row counts once in each kind; the words for what was found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from core.actions.imports import import_upload
from core.actions.workspace import Workspace
from core.audit.argument_kinds import Agreement
from core.audit.kind_settings import KindSettings
from core.errors import InputError
from core.scoring.argument_kinds import RunTexts, as_json, describe_kinds, describe_stability, find_kinds, load_texts
from core.store import runs
from tests import cases
from tests.audit.argument_texts import write_texts

RUN = "simulated debate"


@pytest.fixture(scope="module")
def texts(demo_workspace: Workspace) -> RunTexts:
    """Sixty rows with two texts each, every third row a hit and every sixth without an outcome."""
    with demo_workspace.store.read() as db:
        run = runs.find(db, RUN)
    made, kinds = write_texts(60)
    outcome = [None if row % 6 == 5 else "hit" if row % 3 == 0 else "miss" for row in made.rows]
    frame = pd.DataFrame({"pair_id": [f"row{row}" for row in made.rows], "pert": made.pert, "gene": made.gene, "seq": 0})
    return RunTexts(run, "brief", "", frame.assign(stage="de", role="EFFECT", outcome=outcome, truth=kinds), made.content)


def test_a_row_counts_once_in_each_kind(texts: RunTexts) -> None:
    found = find_kinds(texts, KindSettings(k=3))
    assert [kind.n for kind in found.kinds] == sorted([kind.n for kind in found.kinds], reverse=True)
    assert sum(kind.n for kind in found.kinds) == found.n == 120
    assert found.hit is not None
    assert (found.hit.n, found.hit.value) == (50, pytest.approx(20 / 50))  # 60 rows, 10 of them without an outcome
    for kind in found.kinds:
        truth = texts.frame["truth"].iloc[list(texts.content).index(kind.typical[0].content)]
        rows = texts.frame[texts.frame["truth"] == truth].drop_duplicates("pair_id")
        known = rows[rows["outcome"].notna()]
        assert (kind.n, kind.rows) == (len(texts.frame[texts.frame["truth"] == truth]), len(rows))
        assert kind.hit is not None
        assert (kind.hit.n, kind.hit.value) == (len(known), pytest.approx((known["outcome"] == "hit").mean()))
        assert kind.hit.shown.low < kind.hit.value < kind.hit.shown.high
        assert kind.hit.shown.unit == "two-way"


def test_without_outcomes_there_is_no_hit_rate(texts: RunTexts) -> None:
    found = find_kinds(replace(texts, frame=texts.frame.assign(outcome=None)), KindSettings(k=3))
    assert found.hit is None
    assert [kind.hit for kind in found.kinds] == [None] * 3
    assert [cluster["hit_rate"] for cluster in as_json(found)["clusters"]] == [None] * 3


def test_the_words_say_whether_kinds_hold(texts: RunTexts) -> None:
    found = find_kinds(texts, KindSettings(k=3))
    assert describe_kinds(found) == "120 briefs of 60 rows: 3 kinds by k-means."
    assert describe_stability(found).startswith(
        "The kinds are stable. Adjusted Rand index by other seeds 1.00 (from 1.00 to 1.00, 5 times)"
    )
    shaky = replace(found, by_rows=Agreement(0.5, 0.2, 0.9, 5, "samples of 80% of the rows"))
    assert describe_stability(shaky).startswith(
        "These kinds are unstable: repeated clustering gives different ones, so base no claim on them."
    )
    assert not as_json(shaky)["stable"]
    assert as_json(shaky)["stability"] == found.by_seed.mean  # type: ignore[union-attr]


def test_texts_of_a_run(demo_workspace: Workspace) -> None:
    with demo_workspace.store.read() as db:
        found = load_texts(db, RUN, role="UP")
        assert (found.kind, found.name, len(found.frame)) == ("brief", "briefs of UP", 2400)
        assert set(found.frame["outcome"]) == {"hit", "miss"}
        with pytest.raises(
            InputError, match="no texts of the kind answer, expected brief by EFFECT, NULL, UP, DOWN; rebuttal by"
        ):
            load_texts(db, RUN, "answer")


def test_a_run_without_texts_is_refused(small_workspace: Workspace) -> None:
    rows = [("Pa_Ga", 0.3, 0.1, "none"), ("Pa_Gb", 0.3, 0.1, "none"), ("Pb_Ga", 0.1, 0.1, "none"), ("Pb_Gb", 0.1, 0.1, "none")]
    assert import_upload(small_workspace, cases.submission(rows), "silent.csv").kind != "failed"
    with small_workspace.store.read() as db, pytest.raises(InputError, match="silent: it has no texts"):
        load_texts(db, "silent")


def test_few_texts_are_refused_by_name(texts: RunTexts) -> None:
    with pytest.raises(InputError, match=rf"{RUN}, briefs: kinds of arguments: \d+ different texts"):
        find_kinds(replace(texts, frame=texts.frame.head(2), content=texts.content[:2]), KindSettings())
    assert np.isfinite(
        find_kinds(replace(texts, frame=texts.frame.head(12), content=texts.content[:12]), KindSettings()).by_rows.mean
    )
