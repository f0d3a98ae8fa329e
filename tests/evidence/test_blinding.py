"""No tool can see a label outside its view: every tool there is, asked in every way, about every symbol."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.types import Label, Pair
from core.evidence.label_view import LabelView, all_training, blinded_view, fold_views
from core.evidence.registry import TOOLS
from core.evidence.tool import Answer, Tool
from tests.evidence.world import (
    DOWN,
    NONE,
    PACKS,
    PAIRS,
    TRAINING,
    UP,
    answers,
    gathered,
    pair,
    run,
)
from tests.strength import examples

EVALUATED = (TRAINING[0],)  # Stat1_Cxcl10: hides the rows of Stat1 and of Cxcl10, three of nine
HIDDEN = TRAINING[:3]
VISIBLE = TRAINING[3:]
FLIPPED = {UP: DOWN, DOWN: NONE, NONE: UP}


def relabelled(labels: dict[str, Label | None]) -> tuple[Pair, ...]:
    return tuple(replace(row, label=labels.get(row.pair_id, row.label)) for row in PAIRS)


@pytest.mark.few(9)
@pytest.mark.parametrize("name", TOOLS)
@examples(20)
@given(labels=st.tuples(*[st.sampled_from([*Label, None])] * len(HIDDEN)))
def test_no_answer_changes_with_a_hidden_label(name: str, labels: tuple[Label | None, ...]) -> None:
    changed = relabelled({row.pair_id: label for row, label in zip(HIDDEN, labels, strict=True)})
    before, after = (
        list(answers(name, PACKS, blinded_view(pairs, EVALUATED))) for pairs in (PAIRS, changed)
    )
    assert before == after


@pytest.mark.parametrize("name", TOOLS)
def test_no_answer_changes_when_hidden_labels_are_shuffled_rows_reordered_or_taken_away(
    name: str,
) -> None:
    before = list(answers(name, PACKS, blinded_view(PAIRS, EVALUATED)))
    shuffled = relabelled(
        dict(zip((row.pair_id for row in HIDDEN), (NONE, DOWN, DOWN), strict=True))
    )
    more = (*PAIRS, pair("Stat1_Actb", UP), pair("Psmd4_Cxcl10", UP))
    for pairs in (shuffled, PAIRS[::-1], VISIBLE, more):
        assert list(answers(name, PACKS, blinded_view(pairs, EVALUATED))) == before


@pytest.mark.parametrize("name", TOOLS)
def test_answers_change_with_visible_labels_exactly_where_the_tool_says_so(name: str) -> None:
    flipped = relabelled({row.pair_id: FLIPPED[row.label] for row in VISIBLE if row.label})
    before, after = (
        list(answers(name, PACKS, blinded_view(pairs, EVALUATED))) for pairs in (PAIRS, flipped)
    )
    assert ([item.body for item in before] != [item.body for item in after]) == TOOLS[
        name
    ].sees_labels


@pytest.mark.parametrize("name", TOOLS)
def test_answers_without_a_blind_change_with_the_labels_that_a_blind_hides(name: str) -> None:
    """What the tests above look for can be seen by them: the same change, not blinded, shows."""
    flipped = relabelled({row.pair_id: FLIPPED[row.label] for row in HIDDEN if row.label})
    before, after = (list(answers(name, PACKS, all_training(pairs))) for pairs in (PAIRS, flipped))
    assert ([item.body for item in before] != [item.body for item in after]) == TOOLS[
        name
    ].sees_labels


@pytest.mark.parametrize("name", TOOLS)
def test_answers_name_the_view_exactly_where_labels_are_seen(name: str) -> None:
    view = all_training(PAIRS)
    for item in answers(name, PACKS, view):
        assert item.tool == name
        assert item.view == (view.name if TOOLS[name].sees_labels else "")
        assert item.key.endswith(f" @ {view.name}") == TOOLS[name].sees_labels


@pytest.mark.parametrize("sees_labels", [True, False])
def test_a_tool_that_does_not_say_so_gets_no_label(sees_labels: bool) -> None:
    def look(query):
        return Answer("ok", "", {"rows": len(query.view)})

    tool = Tool("curious", "Counts what it can see.", (), look, sees_labels)
    assert run(tool, None, None, PACKS, all_training(PAIRS)).body == {
        "rows": 9 if sees_labels else 0
    }


def test_nothing_hidden_can_be_reached_from_a_view() -> None:
    view = blinded_view(PAIRS, EVALUATED)
    for name in TOOLS:
        assert list(answers(name, PACKS, view))  # fills whatever is worked out once and kept
    reachable = pickle.dumps(view)
    for row in HIDDEN:
        assert row.pair_id.encode() not in reachable
    for row in VISIBLE:
        assert row.pair_id.encode() in reachable


def test_no_row_of_a_fold_sees_its_own_perturbation_or_gene() -> None:
    folds = fold_views(PAIRS, 2)
    for row in TRAINING:
        for item in gathered(row, PACKS, folds.view_of(row), ["train_lookup"]):
            assert item.status == "empty"
    seen = gathered(TRAINING[0], PACKS, all_training(PAIRS), ["train_lookup"])
    assert [item.status for item in seen] == ["ok", "ok"]


def test_no_tool_opens_a_file_or_a_connection() -> None:
    """So a label cannot come from anywhere but the view."""
    opened = []
    watching = False

    def watch(event, _):
        if watching and event.split(".")[0] in ("open", "socket", "subprocess", "import"):
            opened.append(event)

    sys.addaudithook(watch)  # stays for good, so it looks only while asked to
    view = LabelView(TRAINING)
    watching = True
    for name in TOOLS:
        list(answers(name, PACKS, view))
    assert opened == []
    with open(__file__, "rb"):
        watching = False
    assert opened == ["open"]
