"""Samples of texts to read, answers of people, and their files."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError, NotFound
from core.features.arguments import labels, readings, rubric_tables
from core.features.arguments.labels import draw
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import Sample, TextLabel
from core.runs.workspace import Workspace
from core.store import changes, runs
from tests.commands import core, core_json

RUBRIC = Rubric(
    "names-a-pathway", "Does the text name a pathway?", answers=("yes", "no", "unclear")
)
BY_PATTERN = Rubric("program", "Does it name a program?", pattern="shared program")  # 11 yes, 1 no
TEXT = ("Pa_Ga", 0, "EFFECT")  # of the run "debate" in tests/cases.py


def stored(workspace: Workspace) -> list[TextLabel]:
    with workspace.store.read() as db:
        return rubric_tables.labels(db, RUBRIC, runs.find(db, "debate").id)


def samples(workspace: Workspace) -> list[Sample]:
    with workspace.store.read() as db:
        return rubric_tables.samples(db, RUBRIC, runs.find(db, "debate").id)


@pytest.mark.soak
def test_a_sample_is_drawn_once(small_workspace: Workspace) -> None:
    sample = labels.draw_sample(small_workspace, RUBRIC, "debate", 5, "simple", 1)
    assert len(sample.texts) == 5
    assert {text.probability for text in sample.texts} == {5 / 12}  # three rows of four briefs
    assert labels.draw_sample(small_workspace, RUBRIC, "debate", 5, "simple", 1).id == sample.id
    other = labels.draw_sample(small_workspace, RUBRIC, "debate", 5, "simple", 2)
    assert [each.id for each in samples(small_workspace)] == [sample.id, other.id]


def test_a_models_answers_are_the_strata_and_a_rule_takes_no_labels(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="a rule answers it, which has no error rate"):
        labels.draw_sample(small_workspace, BY_PATTERN, "debate", 4)
    by_pattern = readings.answers(small_workspace, BY_PATTERN, "debate")[0]
    with monkeypatch.context() as patch:
        patch.setattr(readings, "answers", lambda *_: (by_pattern, "a reading"))
        sample = labels.draw_sample(small_workspace, RUBRIC, "debate", 4, "stratified")
    # One no, which is certain, and three of 11 yes.
    assert sorted(text.probability for text in sample.texts) == pytest.approx(
        [3 / 11, 3 / 11, 3 / 11, 1]
    )
    assert sample.reading == "a reading"
    with pytest.raises(NotFound, match="no finished reading"):
        labels.draw_sample(small_workspace, RUBRIC, "debate", 4, "stratified")
    with pytest.raises(InputError, match="has no text that it asks about"):
        labels.draw_sample(small_workspace, replace(RUBRIC, roles=("CRITIC",)), "debate", 4)
    assert samples(small_workspace) == [sample]


@pytest.mark.soak
def test_an_answer_is_stored_replaced_and_taken_back(small_workspace: Workspace) -> None:
    label = TextLabel(*TEXT, "yes", "Ada")
    labels.give_labels(small_workspace, RUBRIC, "debate", [label])
    labels.give_labels(small_workspace, RUBRIC, "debate", [replace(label, author="Ben")])
    labels.give_labels(small_workspace, RUBRIC, "debate", [replace(label, answer="no")])
    assert sorted((each.author, each.answer) for each in stored(small_workspace)) == [
        ("Ada", "no"),
        ("Ben", "yes"),
    ]
    labels.take_back(small_workspace, RUBRIC, "debate", label)
    labels.take_back(small_workspace, RUBRIC, "debate", label)
    assert [each.author for each in stored(small_workspace)] == ["Ben"]
    with small_workspace.store.read() as db:
        assert changes.latest(db)["action"].tolist()[:5] == ["take label back"] * 2 + ["label"] * 3


def test_a_wrong_label_is_refused(small_workspace: Workspace) -> None:
    for label, message in (
        (TextLabel(*TEXT, "perhaps", "Ada"), "answer 'perhaps', expected yes, no, unclear"),
        (TextLabel(*TEXT, "yes", ""), "name of a label's author"),
        (
            TextLabel("Pa_Ga", 77, "EFFECT", "yes", "Ada"),
            "no such text in the run, expected a brief that names-a-pathway",
        ),
        (TextLabel("Pa_Ga", 0, "NULL", "yes", "Ada"), "no such text"),
    ):
        with pytest.raises(InputError, match=message):
            labels.give_labels(small_workspace, RUBRIC, "debate", [label])
    assert stored(small_workspace) == []


def fill(workspace: Workspace) -> Sample:
    """Two readers of a sample, and an answer outside of it."""
    sample = labels.draw_sample(workspace, RUBRIC, "debate", 5, "simple", 3)
    for at, text in enumerate(sample.texts[:3]):
        for author in ("Ada, of the lab", "=Ben"):
            label = TextLabel(
                text.pair_id, text.seq, text.role, RUBRIC.answers[at], author, sample=sample.id
            )
            labels.give_labels(workspace, RUBRIC, "debate", [label])
    last = sample.texts[4]
    labels.give_labels(
        workspace, RUBRIC, "debate", [TextLabel(last.pair_id, last.seq, last.role, "no", "Cleo")]
    )
    return sample


@pytest.mark.soak
def test_a_file_of_labels_loses_nothing(small_workspace: Workspace) -> None:
    fill(small_workspace)
    before, drawn = stored(small_workspace), samples(small_workspace)
    content, n = labels.export_csv(small_workspace, RUBRIC, "debate")
    assert n == len(before) == 7
    assert (
        len(content.decode().splitlines()) == 1 + 9
    )  # two texts of the sample have no label of it
    same = labels.import_csv(small_workspace, RUBRIC, "debate", content, "labels.csv")
    assert same == labels.ImportedLabels(0, 0, 7)
    with small_workspace.store.write() as db:
        for table in ("text_label", "text_sample", "sampled_text"):
            db.execute(f"DELETE FROM {table}")
    with pytest.raises(InputError, match=r"not in a sample .* draw it with the same seed"):
        labels.import_csv(small_workspace, RUBRIC, "debate", content, "labels.csv")
    assert (
        labels.draw_sample(small_workspace, RUBRIC, "debate", 5, "simple", 3).id == drawn[0].id
    )  # as in another workspace
    gone = labels.import_csv(small_workspace, RUBRIC, "debate", content, "labels.csv")
    assert gone == labels.ImportedLabels(7, 0, 0)
    assert stored(small_workspace) == before
    assert [each.labelled_at for each in stored(small_workspace)] == [
        each.labelled_at for each in before
    ]
    assert labels.export_csv(small_workspace, RUBRIC, "debate")[0] == content


def test_answers_may_be_filled_in_in_any_order(small_workspace: Workspace) -> None:
    sample = fill(small_workspace)
    content, _ = labels.export_csv(small_workspace, RUBRIC, "debate")
    head, *lines = content.decode().splitlines()
    [left] = [
        line
        for line in lines
        if line.startswith(f"{sample.texts[3].pair_id},{sample.texts[3].seq},")
    ]
    filled = left.replace(",,,", ",yes,Cleo,", 1)
    shuffled = "\n".join([head, *reversed([filled if line == left else line for line in lines])])
    added = labels.import_csv(small_workspace, RUBRIC, "debate", shuffled.encode(), "labels.csv")
    assert added == labels.ImportedLabels(1, 0, 7)
    assert ("Cleo", "yes", sample.id) in {
        (each.author, each.answer, each.sample) for each in stored(small_workspace)
    }


@pytest.mark.soak
def test_a_table_of_ones_own_needs_few_columns(small_workspace: Workspace) -> None:
    table = b"pair_id,role,answer,author,labelled_at\nPa_Ga,EFFECT,yes,Ada,2026-01-31\nPb_Ga,UP,unclear,Ada,\n"
    assert labels.import_csv(small_workspace, RUBRIC, "debate", table, "own.csv").new == 2
    early, late = stored(small_workspace)
    assert early == TextLabel("Pa_Ga", 0, "EFFECT", "yes", "Ada")
    assert early.labelled_at == datetime(2026, 1, 31)
    assert (late.pair_id, late.role, late.answer, late.sample) == ("Pb_Ga", "UP", "unclear", None)
    changed = labels.import_csv(
        small_workspace, RUBRIC, "debate", table.replace(b"unclear", b"no"), "own.csv"
    )
    assert changed == labels.ImportedLabels(0, 1, 1)


def test_an_author_who_would_be_a_formula_comes_back_as_they_were(
    small_workspace: Workspace,
) -> None:
    table = b"pair_id,role,answer,author\nPa_Ga,EFFECT,yes,=HYPERLINK(0)\nPb_Ga,UP,no,-Ada\n"
    labels.import_csv(small_workspace, RUBRIC, "debate", table, "own.csv")
    content, _ = labels.export_csv(small_workspace, RUBRIC, "debate")
    assert b",'=HYPERLINK(0)," in content
    assert b",'-Ada," in content
    same = labels.import_csv(small_workspace, RUBRIC, "debate", content, "labels.csv")
    assert same == labels.ImportedLabels(0, 0, 2)


HEAD = "pair_id,role,answer,author"
WRONG = [
    (
        f"{HEAD}\nPa_Ga,EFFECT,perhaps,Ada\n",
        r"l\.csv, line 2: .*answer 'perhaps', expected yes, no, unclear",
    ),
    (
        f"{HEAD}\nPa_Ga,EFFECT,yes,Ada\nPz_Gz,UP,yes,Ada\n",
        r"l\.csv, line 3: 0 texts of 'Pz_Gz' and role 'UP', expected one",
    ),
    (
        f"{HEAD}\nPa_Ga,EFFECT,yes,Ada\nPa_Ga,EFFECT,no,Ada\n",
        "line 3: repeats a text and author, expected one row",
    ),
    (f"{HEAD}\nPa_Ga,EFFECT,yes,\n", "line 2: name of a label's author"),
    (f"{HEAD}\n", "no row, expected rows of pair_id"),
    (f"{HEAD}\nPa_Ga,EFFECT,yes\n", "line 2: wrong number of columns, 3 columns, expected 4"),
    (
        f"{HEAD},mood\nPa_Ga,EFFECT,yes,Ada,fine\n",
        "line 1: column 'mood', expected rows of pair_id",
    ),
    (
        f"{HEAD},rubric\nPa_Ga,EFFECT,yes,Ada,other\n",
        "line 2: rubric 'other', expected names-a-pathway",
    ),
    (f"{HEAD},seq\nPa_Ga,EFFECT,yes,Ada,x\n", "line 2: invalid literal for int.*'x'"),
    (
        f"{HEAD},seq\nPa_Ga,EFFECT,yes,Ada,9\n",
        r"line 2: .*Pa_Ga, EFFECT \(seq 9\): no such text in the run, expected a brief",
    ),
    (
        f"{HEAD},labelled_at\nPa_Ga,EFFECT,yes,Ada,soon\n",
        "line 2: Invalid isoformat string: 'soon'",
    ),
    (
        f"{HEAD},sample\nPa_Ga,EFFECT,yes,Ada,s\n",
        "line 2: Pa_Ga, seq 0: not in a sample s here",
    ),
    (
        "pair_id,role,answer\nPa_Ga,EFFECT,yes\n",
        r"l\.csv, line 1: missing column, no column author",
    ),
]


def test_a_wrong_file_says_where_and_nothing_is_stored(small_workspace: Workspace) -> None:
    for table, message in WRONG:
        with pytest.raises(InputError, match=message):
            labels.import_csv(small_workspace, RUBRIC, "debate", table.encode(), "l.csv")
    assert (stored(small_workspace), samples(small_workspace)) == ([], [])


@pytest.mark.soak
def test_a_text_of_another_sample_is_refused(small_workspace: Workspace) -> None:
    sample = fill(small_workspace)
    with small_workspace.store.read() as db:
        texts = rubric_tables.texts(db, runs.find(db, "debate").id, RUBRIC)
    drawn = {(text.pair_id, text.seq) for text in sample.texts}
    other = next(row for row in texts.itertuples() if (row.pair_id, row.seq) not in drawn)
    content, _ = labels.export_csv(small_workspace, RUBRIC, "debate")
    line = f"{other.pair_id},{other.seq},{other.role},yes,Ada,,{sample.id},".encode()
    with pytest.raises(InputError, match=f"not in a sample {sample.id}"):
        labels.import_csv(small_workspace, RUBRIC, "debate", content + line + b"\n", "l.csv")


PATHWAY = Rubric("names-a-pathway", "Does the text name a pathway?")


@pytest.mark.soak
def test_label_draws_exports_and_imports(small_workspace: Workspace, tmp_path: Path) -> None:
    place = small_workspace.settings.workspace
    readings.add_rubric(small_workspace, PATHWAY)
    found = core_json(
        place, "rubric", "label", PATHWAY.name, "debate", "--sample", "5", "--seed", "3"
    )
    assert (found["rubric"], found["by"], found["seed"], found["n"]) == (
        PATHWAY.name,
        "simple",
        3,
        5,
    )
    assert sum(found["roles"].values()) == 5
    text = core(
        place, "rubric", "label", PATHWAY.name, "debate", "--sample", "5", "--seed", "3"
    ).out
    assert (
        f"5 texts of debate for names-a-pathway, simple, seed 3: sample {found['sample']}" in text
    )
    assert "page Arguments" in text
    sample = labels.draw_sample(small_workspace, PATHWAY, "debate", 5, "simple", 3)
    assert sample.id == found["sample"]
    first = sample.texts[0]
    given = TextLabel(first.pair_id, first.seq, first.role, "yes", "Ada", sample=sample.id)
    labels.give_labels(small_workspace, PATHWAY, "debate", [given])
    file = tmp_path / "labels.csv"
    assert core_json(place, "rubric", "label", PATHWAY.name, "debate", "--export", str(file)) == {
        "file": str(file),
        "labels": 1,
    }
    assert first.pair_id in file.read_text()
    labels.take_back(small_workspace, PATHWAY, "debate", given)
    done = core_json(place, "rubric", "label", PATHWAY.name, "debate", "--import", str(file))
    assert (done["new"], done["changed"], done["known"]) == (1, 0, 0)


def test_label_says_what_is_wrong(small_workspace: Workspace, tmp_path: Path) -> None:
    place = small_workspace.settings.workspace
    readings.add_rubric(small_workspace, PATHWAY)
    file = tmp_path / "labels.csv"
    file.write_text("pair_id,role,answer,author\nPa_Ga,EFFECT,maybe,Ada\n")
    for arguments, message in (
        (
            ("names-a-pathway", "debate"),
            "got nothing to do, expected one of --sample, --export and --import",
        ),
        (
            ("names-a-pathway", "debate", "--sample", "3", "--export", str(file)),
            "got --sample, --export, expected one of",
        ),
        (("names-a-pathway", "debate", "--import", str(file)), "answer 'maybe', expected yes, no"),
    ):
        done = core(place, "rubric", "label", *arguments)
        assert (done.status, done.out) == (1, "")
        assert message in done.err
        assert done.err.count("\n") == 1


DRAWS = 4000
DESIGNS = {"simple": [""] * 8, "stratified": ["yes"] * 6 + ["no"] * 2}


@pytest.mark.few(1)
@pytest.mark.parametrize("design", DESIGNS)
def test_texts_are_drawn_as_often_as_their_probability_says(design: str) -> None:
    rng = np.random.default_rng(0)
    counts, said = np.zeros(8), np.full(8, np.nan)
    weighted = 0.0  # the mean, over draws, of an estimate of the number of texts
    for _ in range(DRAWS):
        drawn = draw(DESIGNS[design], 3, rng)
        assert len(drawn.places) == len(set(drawn.places.tolist())) == 3
        counts[drawn.places] += 1
        said[drawn.places] = drawn.probabilities
        weighted += (1 / drawn.probabilities).sum() / DRAWS
    assert (said > 0).all()  # none was never drawn
    assert said.sum() == pytest.approx(3)
    np.testing.assert_allclose(counts / DRAWS, said, atol=4 * np.sqrt(0.25 / DRAWS))
    assert weighted == pytest.approx(8, rel=0.05)


@pytest.mark.parametrize("design", DESIGNS)
def test_the_order_of_reading_is_random_and_a_seed_draws_the_same_again(design: str) -> None:
    rng = np.random.default_rng(1)
    first = {int(draw(DESIGNS[design], 3, rng).places[0]) for _ in range(300)}
    assert first == set(range(8))
    once, again = (draw(DESIGNS[design], 3, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(once.places, again.places)


def test_strata_get_equal_numbers_as_far_as_they_reach() -> None:
    # 9 from 10 yes, 2 no, 1 unclear: 3 each, of which unclear has 1 and no has 2; the 3 that are left go to yes, 6 in all.
    strata = ["yes"] * 10 + ["no"] * 2 + ["unclear"]
    drawn = draw(strata, 9, np.random.default_rng(0))
    by_stratum = {
        name: [
            p for at, p in zip(drawn.places, drawn.probabilities, strict=True) if strata[at] == name
        ]
        for name in strata
    }
    assert by_stratum == {"yes": [0.6] * 6, "no": [1.0] * 2, "unclear": [1.0]}
    # 3 from 6 yes and 2 no: one each, and the third from the larger.
    found = draw(DESIGNS["stratified"], 3, np.random.default_rng(0)).probabilities
    assert sorted(found) == pytest.approx([1 / 3, 1 / 3, 0.5])


@given(
    strata=st.lists(st.sampled_from(["yes", "no", ""]), min_size=1, max_size=40),
    size=st.integers(3, 50),
)
def test_as_many_are_drawn_as_were_asked_for(strata: list[str], size: int) -> None:
    n = len(strata)
    drawn = draw(strata, size, np.random.default_rng(size))
    assert len(set(drawn.places.tolist())) == len(drawn.places) == min(n, size)
    assert ((drawn.probabilities > 0) & (drawn.probabilities <= 1)).all()
    assert set(drawn.places.tolist()) <= set(range(n))


def test_what_cannot_be_drawn_is_said() -> None:
    for strata, size, message in (
        ([], 3, "no text to draw from"),
        (["", "", ""], 0, "0 texts from 1 strata, expected at least one"),
        (["a", "b", "c"], 2, "2 texts from 3 strata, expected at least one from each"),
    ):
        with pytest.raises(InputError, match=message):
            draw(strata, size, np.random.default_rng(0))
