"""Samples of texts to read, answers of people, and their files."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from core.actions import label_files, labels
from core.actions.workspace import Workspace
from core.audit.rubric import Rubric
from core.audit.sample_request import Design
from core.errors import InputError
from core.store import changes, rubrics, runs
from core.store.rubrics import Sample, SampledText, TextLabel

RUBRIC = Rubric("names-a-pathway", "Does the text name a pathway?", answers=("yes", "no", "unclear"))
TEXT = ("Pa_Ga", 0, "EFFECT")  # of the run "debate" in tests/cases.py


def judged(workspace: Workspace, rubric: Rubric, run: str, _: Design = "random") -> tuple[pd.DataFrame, str]:
    """As if a model had read: it is unsure of the briefs for EFFECT, and says no to those for NULL."""
    with workspace.store.read() as db:
        texts = rubrics.texts(db, run, rubric)
    p = texts["role"].map({"EFFECT": 0.5, "NULL": 0.0}).fillna(1.0)
    return texts.assign(p=p, answer=np.where(p < 0.5, "no", "yes")), "reading"


def stored(workspace: Workspace) -> list[TextLabel]:
    with workspace.store.read() as db:
        return rubrics.labels(db, RUBRIC, runs.find(db, "debate").id)


def samples(workspace: Workspace) -> list[Sample]:
    with workspace.store.read() as db:
        return rubrics.samples(db, RUBRIC, runs.find(db, "debate").id)


@pytest.mark.soak
def test_a_sample_is_drawn_once(small_workspace: Workspace) -> None:
    sample = labels.draw_sample(small_workspace, RUBRIC, "debate", 5, "random", 1)
    assert len(sample.texts) == 5
    assert {text.probability for text in sample.texts} == {5 / 12}  # three rows of four briefs
    assert labels.draw_sample(small_workspace, RUBRIC, "debate", 5, "random", 1).id == sample.id
    other = labels.draw_sample(small_workspace, RUBRIC, "debate", 5, "random", 2)
    assert [each.id for each in samples(small_workspace)] == [sample.id, other.id]


def test_the_judge_decides_the_strata_and_where_it_is_unsure(small_workspace: Workspace) -> None:
    by_answer = labels.draw_sample(small_workspace, RUBRIC, "debate", 4, "stratified", find_answers=judged)
    # 3 no of the role NULL and 9 yes: two of each.
    assert sorted(text.probability for text in by_answer.texts) == pytest.approx([2 / 9, 2 / 9, 2 / 3, 2 / 3])
    assert {text.role for text in by_answer.texts if text.probability > 0.5} == {"NULL"}
    assert by_answer.reading == "reading"
    unsure = labels.draw_sample(small_workspace, RUBRIC, "debate", 12, "unsure", find_answers=judged)
    assert {text.probability for text in unsure.texts} == {1.0}
    few = labels.draw_sample(small_workspace, RUBRIC, "debate", 1, "unsure", find_answers=judged)
    # p (1 - p) is .25 in 3 of 12 and 0 else, its mean 1/16: weights .8 * 4 + .2 = 3.4 and .2 of 12 in all.
    assert few.texts[0].probability == pytest.approx(3.4 / 12 if few.texts[0].role == "EFFECT" else 0.2 / 12)


def test_a_rule_has_no_probabilities_to_be_unsure_by(small_workspace: Workspace) -> None:
    def by_rule(workspace: Workspace, rubric: Rubric, run: str, _: Design) -> tuple[pd.DataFrame, str]:
        return judged(workspace, rubric, run)[0].assign(p=np.nan), "rule"

    with pytest.raises(InputError, match="no probabilities, expected a reading by a model with log-probabilities"):
        labels.draw_sample(small_workspace, RUBRIC, "debate", 4, "unsure", find_answers=by_rule)
    with pytest.raises(InputError, match="has no text that it asks about"):
        labels.draw_sample(small_workspace, replace(RUBRIC, roles=("CRITIC",)), "debate", 4)
    assert samples(small_workspace) == []


@pytest.mark.soak
def test_an_answer_is_stored_replaced_and_taken_back(small_workspace: Workspace) -> None:
    label = TextLabel(*TEXT, "yes", "Ada")
    labels.give_label(small_workspace, RUBRIC, "debate", label)
    labels.give_label(small_workspace, RUBRIC, "debate", replace(label, author="Ben"))
    labels.give_label(small_workspace, RUBRIC, "debate", replace(label, answer="no"))
    assert sorted((each.author, each.answer) for each in stored(small_workspace)) == [("Ada", "no"), ("Ben", "yes")]
    labels.take_back(small_workspace, RUBRIC, "debate", label)
    labels.take_back(small_workspace, RUBRIC, "debate", label)
    assert [each.author for each in stored(small_workspace)] == ["Ben"]
    with small_workspace.store.read() as db:
        assert changes.latest(db)["action"].tolist()[:5] == ["take label back"] * 2 + ["label"] * 3


def test_a_wrong_label_is_refused(small_workspace: Workspace) -> None:
    for label, message in (
        (TextLabel(*TEXT, "perhaps", "Ada"), "answer 'perhaps', expected yes, no, unclear"),
        (TextLabel(*TEXT, "yes", ""), "name of a label's author"),
        (TextLabel("Pa_Ga", 77, "EFFECT", "yes", "Ada"), "no such text in the run, expected a brief that names-a-pathway"),
        (TextLabel("Pa_Ga", 0, "NULL", "yes", "Ada"), "no such text"),
    ):
        with pytest.raises(InputError, match=message):
            labels.give_label(small_workspace, RUBRIC, "debate", label)
    assert stored(small_workspace) == []


def fill(workspace: Workspace) -> Sample:
    """Two readers and a model on a sample, and an answer outside of it."""
    sample = labels.draw_sample(workspace, RUBRIC, "debate", 5, "stratified", 3, find_answers=judged)
    for at, text in enumerate(sample.texts[:3]):
        for author in ("Ada, of the lab", "=Ben"):
            label = TextLabel(text.pair_id, text.seq, text.role, RUBRIC.answers[at], author, sample=sample.id)
            labels.give_label(workspace, RUBRIC, "debate", label)
    last = sample.texts[4]
    labels.give_label(workspace, RUBRIC, "debate", TextLabel(last.pair_id, last.seq, last.role, "no", "gpt", "model"))
    return sample


@pytest.mark.soak
def test_a_file_of_labels_loses_nothing(small_workspace: Workspace) -> None:
    fill(small_workspace)
    before, drawn = stored(small_workspace), samples(small_workspace)
    content, n = label_files.export_csv(small_workspace, RUBRIC, "debate")
    assert n == len(before) == 7
    assert len(content.decode().splitlines()) == 1 + 9  # two texts of the sample have no label
    same = label_files.import_csv(small_workspace, RUBRIC, "debate", content, "labels.csv")
    assert same == label_files.ImportedLabels(0, 0, 7)
    for label in before:
        labels.take_back(small_workspace, RUBRIC, "debate", label)
    with small_workspace.store.write() as db:
        db.execute("DELETE FROM text_sample")
        db.execute("DELETE FROM sampled_text")
    gone = label_files.import_csv(small_workspace, RUBRIC, "debate", content, "labels.csv")
    assert gone == label_files.ImportedLabels(7, 0, 0)
    assert stored(small_workspace) == before
    assert [each.labelled_at for each in stored(small_workspace)] == [each.labelled_at for each in before]
    assert samples(small_workspace) == drawn
    assert label_files.export_csv(small_workspace, RUBRIC, "debate")[0] == content


def test_answers_may_be_filled_in_in_any_order(small_workspace: Workspace) -> None:
    sample = fill(small_workspace)
    content, _ = label_files.export_csv(small_workspace, RUBRIC, "debate")
    head, *lines = content.decode().splitlines()
    [left] = [line for line in lines if line.startswith(f"{sample.texts[3].pair_id},{sample.texts[3].seq},")]
    filled = left.replace(",,,", ",yes,Cleo,person", 1)
    shuffled = "\n".join([head, *reversed([filled if line == left else line for line in lines])])
    with small_workspace.store.write() as db:
        db.execute("DELETE FROM text_sample")
        db.execute("DELETE FROM sampled_text")
    added = label_files.import_csv(small_workspace, RUBRIC, "debate", shuffled.encode(), "labels.csv")
    assert added == label_files.ImportedLabels(1, 0, 7)
    assert [each.texts for each in samples(small_workspace)] == [sample.texts]  # the order in which it is read
    assert ("Cleo", "yes", sample.id) in {(each.author, each.answer, each.sample) for each in stored(small_workspace)}


@pytest.mark.soak
def test_a_table_of_ones_own_needs_few_columns(small_workspace: Workspace) -> None:
    table = b"pair_id,role,answer,author,labelled_at\nPa_Ga,EFFECT,yes,Ada,2026-01-31\nPb_Ga,UP,unclear,Ada,\n"
    assert label_files.import_csv(small_workspace, RUBRIC, "debate", table, "own.csv").new == 2
    early, late = stored(small_workspace)
    assert early == TextLabel("Pa_Ga", 0, "EFFECT", "yes", "Ada")
    assert early.labelled_at == datetime(2026, 1, 31)
    assert (late.pair_id, late.role, late.answer, late.given_by, late.sample) == ("Pb_Ga", "UP", "unclear", "person", None)
    changed = label_files.import_csv(small_workspace, RUBRIC, "debate", table.replace(b"unclear", b"no"), "own.csv")
    assert changed == label_files.ImportedLabels(0, 1, 1)


HEAD = "pair_id,role,answer,author"
WRONG = [
    (f"{HEAD}\nPa_Ga,EFFECT,perhaps,Ada\n", r"l\.csv, line 2: answer 'perhaps', expected yes, no, unclear"),
    (f"{HEAD}\nPa_Ga,EFFECT,yes,Ada\nPz_Gz,UP,yes,Ada\n", r"l\.csv, line 3: 0 texts of 'Pz_Gz' and role 'UP', expected one"),
    (
        f"{HEAD}\nPa_Ga,EFFECT,yes,Ada\nPa_Ga,EFFECT,no,Ada\n",
        "line 3: a repeat of the text and author of line 2, expected one row",
    ),
    (f"{HEAD}\nPa_Ga,EFFECT,yes,\n", "line 2: name of a label's author"),
    (f"{HEAD}\n", "no row, expected a label or a text"),
    (f"{HEAD}\nPa_Ga,EFFECT,yes\n", "line 2: wrong number of columns, 3 columns, expected 4"),
    (f"{HEAD},mood\nPa_Ga,EFFECT,yes,Ada,fine\n", "line 1: column 'mood', expected columns of pair_id"),
    (f"{HEAD},rubric\nPa_Ga,EFFECT,yes,Ada,other\n", "line 2: rubric 'other', expected names-a-pathway"),
    (f"{HEAD},given_by\nPa_Ga,EFFECT,yes,Ada,ghost\n", "line 2: given_by 'ghost', expected person or model"),
    (f"{HEAD},seq\nPa_Ga,EFFECT,yes,Ada,x\n", "line 2: seq 'x', expected a whole number"),
    (f"{HEAD},seq\nPa_Ga,EFFECT,yes,Ada,9\n", "line 2: 'Pa_Ga', EFFECT, seq 9, expected a brief of the run"),
    (f"{HEAD},labelled_at\nPa_Ga,EFFECT,yes,Ada,soon\n", "line 2: labelled_at 'soon', expected a time"),
    (f"{HEAD},labelled_at\nPa_Ga,EFFECT,yes,Ada,2026-01-31T09:30:00+00:00\n", "without a zone"),
    (f"{HEAD},sample,probability\nPa_Ga,EFFECT,yes,Ada,s,\n", "line 2: probability '', expected a number above 0"),
    (f"{HEAD},sample,probability\nPa_Ga,EFFECT,yes,Ada,s,1.5\n", "line 2: probability '1.5', expected a number above 0"),
    (f"{HEAD},sample,probability,design\nPa_Ga,EFFECT,yes,Ada,s,0.5,odd\n", "line 2: design 'odd' of an unknown sample"),
    ("pair_id,role,answer\nPa_Ga,EFFECT,yes\n", r"l\.csv, line 1: missing column, no column author"),
]


def test_a_wrong_file_says_where_and_nothing_is_stored(small_workspace: Workspace) -> None:
    for table, message in WRONG:
        with pytest.raises(InputError, match=message):
            label_files.import_csv(small_workspace, RUBRIC, "debate", table.encode(), "l.csv")
    assert (stored(small_workspace), samples(small_workspace)) == ([], [])


def test_a_probability_that_was_not_drawn_is_refused(small_workspace: Workspace) -> None:
    sample = fill(small_workspace)
    content, _ = label_files.export_csv(small_workspace, RUBRIC, "debate")
    wrong = content.replace(repr(sample.texts[0].probability).encode(), b"0.123")
    with pytest.raises(InputError, match=rf"with probability 0\.123, expected a text of sample {sample.id} as drawn"):
        label_files.import_csv(small_workspace, RUBRIC, "debate", wrong, "l.csv")
    assert SampledText(*TEXT, 0.123) not in samples(small_workspace)[0].texts
