"""Rates of rubrics and what they are worth, as figures of a report."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from core.actions import labels, readings, rubrics
from core.actions.workspace import Workspace
from core.audit.rubric import Rubric
from core.report.build import Finders, build_report, make_sections
from core.report.captioned import CaptionedFigure
from core.report.figures import rubric_rates, rubric_worth
from core.report.material_loader import load_material
from core.report.selection import select
from core.scoring.rubric_rates import FEWEST_LABELS
from core.store.rubrics import TextLabel

FIGURES = ("rubric_rates", "rubric_worth")
PATTERN = Rubric("program", "Does it name a program?", pattern="shared program")
BY_PEOPLE = Rubric("honest", "Is it honest?")


def sections_of(workspace: Workspace, *runs: str) -> dict[str, list[CaptionedFigure]]:
    with workspace.store.read() as db:
        selection = select(db, runs or ["debate"], figures=FIGURES)
        find_answers = partial(readings.find_answers, workspace)
        material = load_material(db, selection, lambda _run, _ids: None, find_answers=find_answers)
    return {kind: [figure for _, figure in made] for kind, made in make_sections(material, selection).items()}


def test_where_nothing_was_asked_a_sentence_says_so(small_workspace: Workspace) -> None:
    for [figure] in sections_of(small_workspace).values():
        assert figure.chart is None
        assert "no custom rubric" in figure.sentence


def test_rubrics_of_ones_own_and_labelled_ones_have_rates_and_a_worth(small_workspace: Workspace) -> None:
    for rubric in (PATTERN, BY_PEOPLE):
        rubrics.add(small_workspace, rubric)
    built_in = rubrics.find(small_workspace, "answers")
    sample = labels.draw_sample(small_workspace, built_in, "debate", 4)
    said = [TextLabel(text.pair_id, text.seq, text.role, "no", "Ada", sample=sample.id) for text in sample.texts]
    labels.give_labels(small_workspace, built_in, "debate", said)
    found = sections_of(small_workspace)
    by_pattern, by_rule, by_people = found["rubric_rates"]
    assert "“yes” in 11 of 12 texts" in by_pattern.sentence
    assert "read by its rule; 0 texts labelled by people" in by_pattern.caption
    assert "No model has read debate for it" in by_people.sentence
    assert f"{FEWEST_LABELS - 4} more" in by_rule.sentence
    [worth] = found["rubric_worth"]
    assert set(worth.table["rubric"]) == {"program", "answers"}


@pytest.mark.soak
def test_a_report_holds_them(small_workspace: Workspace) -> None:
    rubrics.add(small_workspace, PATTERN)
    with small_workspace.store.read() as db:
        selection = select(db, ["debate"], figures=FIGURES)
    find_answers = partial(readings.find_answers, small_workspace)
    built = build_report(small_workspace.store, "r", selection, Finders(lambda _run, _ids: None, find_answers))
    assert built.figures == 2
    assert b"Does it name a program?" in built.content


def test_several_runs_that_a_rubric_was_read_in_stand_in_one_figure(small_workspace: Workspace) -> None:
    rubrics.add(small_workspace, PATTERN)
    with small_workspace.store.read() as db:
        find_answers = partial(readings.find_answers, small_workspace)
        material = load_material(db, select(db, ["debate"], figures=FIGURES), lambda *_: None, find_answers=find_answers)
    [run] = material.runs
    twin, asked = replace(run, name="twin"), material.rubrics[run.id]
    [alone] = rubric_rates.FIGURE.make(material)
    [both] = rubric_rates.FIGURE.make(replace(material, runs=[run, twin], rubrics={run.id: asked}))
    assert alone.subject == "debate"
    assert both.subject == "2 runs"
    assert both.table["run"].tolist() == ["debate", "twin"] * alone.table["role"].nunique()
    assert both.table["kind"].unique().tolist() == ["raw"]  # nobody labelled any
    raw = alone.table[alone.table["kind"] == "raw"]
    assert both.table.loc[both.table["run"] == "twin", "estimate"].tolist() == raw["estimate"].tolist()
    assert "debate: 91.7% [" in both.sentence
    assert "twin: 91.7% [" in both.sentence
    [of_both] = rubric_worth.FIGURE.make(replace(material, runs=[run, twin]))
    [of_one] = rubric_worth.FIGURE.make(material)
    assert of_both.table["run"].unique().tolist() == ["debate", "twin"]
    assert of_both.subject == "2 runs"
    twins = of_both.table.loc[of_both.table["run"] == "twin"].drop(columns="run").reset_index(drop=True)
    assert twins.equals(of_one.table)
