"""A report opens with its finding, answers what was asked, and shows several runs in one figure."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest

from core.features.sharing.report.material import Material
from core.features.sharing.report.question import MOST_FIGURES, find_abstract, find_title
from core.features.sharing.report.selection import PARTS, ReportSelection, select
from core.runs.workspace import Workspace
from tests.features.sharing.built import build_report
from tests.features.sharing.test_report import COLLAPSED, LABELLED, material_of

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def selection(little_demo: Workspace) -> ReportSelection:
    with little_demo.store.read() as db:
        return select(db, [LABELLED, COLLAPSED], [(COLLAPSED, LABELLED)])


@pytest.fixture(scope="module")
def material(little_demo: Workspace, selection: ReportSelection) -> Material:
    return material_of(little_demo, selection)


@pytest.mark.parametrize(
    "kind", ["baselines", "slices", "macro_scores", "roc_curves", "reliability", "score_spread"]
)
def test_several_runs_are_in_one_figure_with_the_numbers_of_each(
    little_demo: Workspace, material: Material, kind: str
) -> None:
    """What is drawn of a run beside others is what is drawn of it alone."""
    drawn = [one for one in PARTS[kind].make(little_demo, material) if one.chart is not None]
    assert len({one.title for one in drawn}) == len(drawn)
    with little_demo.store.read() as db:
        alone = [material_of(little_demo, select(db, [run])) for run in (LABELLED, COLLAPSED)]
    of_each = [
        [one for one in PARTS[kind].make(little_demo, each) if one.chart is not None]
        for each in alone
    ]
    for together, *apart in zip(drawn, *of_each, strict=True):
        told = {
            round(value, 9)
            for column in together.table.select_dtypes("number")
            for value in together.table[column].dropna()
        }
        for one, run in zip(apart, (LABELLED, COLLAPSED), strict=True):
            assert run in str(together.table.to_dict())
            wanted = one.table if kind != "baselines" else one.table[one.table["chosen"]]
            if kind == "score_spread":
                wanted = one.table.groupby("label")["value"].median().to_frame()
            for column in {"estimate", "auroc", "observed", "a letter"} & set(wanted.columns) or {
                "value"
            }:
                assert {round(value, 9) for value in wanted[column].dropna()} <= told, (
                    kind,
                    run,
                    column,
                )


def test_a_report_begins_with_its_finding_and_answers_what_was_asked(
    little_demo: Workspace, selection: ReportSelection, material: Material
) -> None:
    report = build_report(little_demo, "ours", selection).content.decode()
    verdict = material.comparison(*selection.compare[0]).sentence
    title = find_title(material, selection)
    assert verdict.startswith(title.partition(" on ")[0])
    assert not re.search(r"\[[+−]?0", title)
    abstract, is_draft = find_abstract(material, selection)
    assert is_draft
    assert verdict in abstract
    text = html.unescape(re.sub("<[^>]+>", " ", report.partition("<body>")[2]))
    places = [
        text.index(words)
        for words in (title, "Draft, made from the verdicts", "Figures", "Appendix", "Provenance")
    ]
    first = report[report.index('id="figures"') : report.index('id="runs"')]
    assert first.count('class="chart"') == MOST_FIGURES
    assert places[0] < places[1]
    edited = replace(
        selection, title="Ours", abstract="One.\n\nTwo <b>.", authors="Ada", compare=()
    )
    page = build_report(little_demo, "ours", edited).content.decode()
    assert "<h1>Ours</h1>" in page
    assert "<p>One.</p><p>Two &lt;b&gt;.</p>" in page
    assert "Draft, made" not in page
    assert f"What does {LABELLED} get wrong?" in page


def test_what_a_run_gets_wrong_is_counted(little_demo: Workspace) -> None:
    with little_demo.store.read() as db:
        alone = select(db, [LABELLED])
        [(wrong, n)] = db.execute(
            """SELECT count(*) FILTER (p.label <> CASE WHEN 1 - q.prediction_up - q.prediction_down >= greatest(q.prediction_up,
                   q.prediction_down) THEN 'none' WHEN q.prediction_up >= q.prediction_down THEN 'up' ELSE 'down' END), count(*)
               FROM prediction q JOIN run r ON r.id = q.run JOIN pair p ON p.dataset = r.dataset AND p.pair_id = q.pair_id
               WHERE r.name = ? AND p.label IS NOT NULL""",
            [LABELLED],
        ).fetchall()
    assert (
        find_title(material_of(little_demo, alone), alone)
        == f"{LABELLED} calls {wrong:,} of {n:,} rows wrong"
    )
