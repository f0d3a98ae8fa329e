"""Cards left out of a dossier, and edited ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.base.types import Evidence, Pair
from core.evidence.render import dossier
from core.features.asking.changed_cards import (
    LONGEST,
    CardChange,
    change_cards,
    describe_changes,
    read_changes,
    text_of,
    write_changes,
)

PAIR = Pair("Pa_Ga", "Pa", "Ga", None, "test")
ITEMS = (
    Evidence("pathways", "Pa", "ok", "pack", None, {"pathways": ["Stress"]}),
    Evidence("pathways", "Ga", "ok", "pack", None, {"pathways": ["Growth"]}),
    Evidence("train_lookup", "*|Ga @ folds", "empty", "labels", None, {}, "folds"),
    Evidence("literature", "Pa|Ga", "offline", "PubMed", None, {}),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(
    lambda text: text.split()
)
CHANGES = st.lists(
    st.builds(CardChange, TEXTS, TEXTS, st.none() | TEXTS),
    max_size=4,
    unique_by=lambda change: (change.tool, change.key),
)


@pytest.mark.soak
@given(CHANGES)
def test_changes_survive_being_written(changes: list[CardChange]) -> None:
    written = write_changes(changes)
    assert sorted(read_changes(written), key=repr) == sorted(changes, key=repr)
    assert write_changes(reversed(changes)) == written
    assert (written == "") == (not changes)


def test_a_changed_dossier() -> None:
    changes = (
        CardChange("pathways", "Pa"),
        CardChange("train_lookup", "*|Ga @ folds", "Ga moves\n often."),
    )
    assert describe_changes(changes) == "without pathways:Pa, train_lookup:*|Ga edited"
    found = change_cards(ITEMS, changes, PAIR)
    assert dossier(found, PAIR).text == "- pathways, Ga: Growth.\n- Ga moves often."
    assert found[0] is ITEMS[1]
    assert (found[1].status, found[1].view) == ("ok", "folds")
    assert (
        found[1].body["instead_of"]
        == text_of(ITEMS[2], PAIR)
        == "train lookup, gene Ga: nothing known."
    )
    assert change_cards(ITEMS, (), PAIR) == ITEMS
    assert describe_changes(()) == "as it was"
    # a tool that failed gave no text, and can be given one
    edited = CardChange("literature", "Pa|Ga", "Pa binds Ga.")
    assert dossier(change_cards(ITEMS, [edited], PAIR), PAIR).text.endswith("- Pa binds Ga.")


@pytest.mark.parametrize(
    ("tool", "key", "text", "message"),
    [
        (
            "pathway",
            "Pa",
            None,
            r"card pathway:Pa: not in the dossier about Pa_Ga, expected one of pathways:Pa, pathways:Ga, tr",
        ),
        ("literature", "Pa|Ga", None, "leaves what the agents saw as it is"),
        ("pathways", "Ga", "pathways, Ga:  Growth.", "leaves what the agents saw as it is"),
        ("pathways", "Ga", "  ", "text of card pathways:Ga: 0 characters"),
        ("pathways", "Ga", "x" * (LONGEST + 1), "4,001 characters, expected 1 to 4,000"),
    ],
)
def test_impossible_changes_are_refused(
    tool: str, key: str, text: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        change_cards(ITEMS, [CardChange(tool, key, text)], PAIR)


def test_other_data_is_refused() -> None:
    with pytest.raises(InputError, match="expected a list of"):
        read_changes("{")
    with pytest.raises(InputError, match=r"1.card is not known, expected tool, key, text"):
        read_changes('[{"card": 1}]')
    with pytest.raises(InputError, match="changes: a:b comes twice"):
        read_changes('[{"tool": "a", "key": "b"}, {"tool": "a", "key": "b", "text": "c"}]')
    with pytest.raises(InputError, match="about Pa_Ga"):
        change_cards(ITEMS, [CardChange("a", "b")], PAIR)
