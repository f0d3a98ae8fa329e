"""A screen is named where its descriptor is said; what the question told, or codes bring as well, is no memory."""

from __future__ import annotations

import json

import pytest

from core.errors import InputError
from core.experiments.screen_names import (
    NamedScreen,
    SavedScreen,
    ScreenAnswer,
    choose_questions,
    known_descriptors,
    names_any,
)
from core.experiments.screen_words import screen_json, screen_lines
from core.store.datasets import Dataset

KNOWN = {"cells": ("K562",), "organism": ("human", "Homo sapiens"), "authors": ("Replogle",)}


@pytest.mark.parametrize(
    ("said", "is_named"),
    [
        ("K562", True),
        ("K-562 cells (CML)", True),
        ("k562", True),
        ("K5621", False),
        ("KU812", False),
        ("", False),
    ],
)
def test_spellings_are_found_as_whole_words(said: str, is_named: bool) -> None:
    assert names_any(said, ("K562", "chronic myeloid leukaemia")) == is_named


def test_hyphens_and_plurals_do_not_matter() -> None:
    assert names_any("mouse bone marrow derived macrophage", ("bone-marrow-derived macrophages",))
    assert not names_any("macrophages", ("bone-marrow-derived macrophages",))


def test_what_is_known_is_what_is_recorded_and_what_a_person_gives() -> None:
    line = Dataset("1", "k562", "ternary", "human", "K562, chronic myeloid leukaemia; CRISPRi", "imported")
    assert known_descriptors(line) == {**KNOWN, "cells": ("K562", "chronic myeloid leukaemia")}
    screen = Dataset("2", "bmdm", "ternary", "mouse", "bone-marrow-derived macrophages", "imported")
    assert list(known_descriptors(screen)) == ["cells", "organism", "stimulus"]
    assert known_descriptors(screen, {"authors": "Doe | Roe"})["authors"] == ("Doe", "Roe")
    assert known_descriptors(Dataset("3", "own", "ternary", "", "", "imported")) == {}
    with pytest.raises(InputError, match="'journal' is not known, expected cells, organism"):
        known_descriptors(line, {"journal": "Cell"})


def test_questions_are_spread_over_the_rows() -> None:
    rows = [str(i) for i in range(300)]
    questions = choose_questions(rows)
    assert [len(each) for each in questions] == [3] * 8
    assert len({row for each in questions for row in each}) == 24
    assert questions[-1][-1] == "287"
    assert choose_questions(["a", "b"]) == [("a",), ("b",)]


def asked(with_names: dict[str, str] | str, with_codes: dict[str, str] | str, *told: str, n: int = 8) -> NamedScreen:
    answers = []
    for coded, said in ((False, with_names), (True, with_codes)):
        text = said if isinstance(said, str) else json.dumps(said)
        answers += [ScreenAnswer((str(i),), coded, told, text) for i in range(n)]
    return NamedScreen(SavedScreen(KNOWN, tuple(answers)))


def test_a_screen_that_names_alone_bring_is_remembered() -> None:
    found = asked({"cells": "K-562", "organism": "human", "authors": "Replogle et al."}, {"cells": "HEK293"})
    cells, organism, authors = found.fields
    # 8 of 8 against none: p = 1/256, doubled by Holm over cells and authors, since the organism is not judged.
    assert (cells.named, cells.coded, cells.n, cells.p, cells.p_holm) == (8, 0, 8, 1 / 256, 2 / 256)
    assert (cells.is_remembered, organism.is_remembered, authors.is_remembered) == (True, False, True)
    lines = screen_lines(found)
    assert lines[0] == "The model names the screen by its genes: cells, authors."
    assert "stimulus, accession: unknown" in lines[4]
    assert lines[5] == 'With names: “{"cells": "K-562", "organism": "human", "authors": "Replogle et al."}” (8 times)'
    plain = screen_json(found)
    assert plain is not None
    assert plain["cannot_be_known"] == ["stimulus", "accession"]
    json.dumps(plain, allow_nan=False)


def test_a_guess_that_codes_bring_as_well_is_no_memory() -> None:
    found = asked({"cells": "K562"}, {"cells": "K562"})
    assert [each.is_remembered for each in found.fields] == [False] * 3
    assert "perhaps not by its genes" in screen_lines(found)[0]
    assert "does not name the screen" in screen_lines(asked("Which screen? I cannot say.", ""))[0]


def test_what_the_question_tells_cannot_be_known() -> None:
    found = asked({"cells": "K562"}, "", "cells", "authors")
    assert found.fields[0].n == 0
    assert "not judged, because the rows' texts reveal it" in screen_lines(found)[1]
    assert screen_lines(found)[0].startswith("Whether the model can name the screen is unknown")


def test_what_was_not_answered_is_said_and_asked_again() -> None:
    failed = ScreenAnswer(("0",), coded=True, error="Unanswered: refused")
    found = NamedScreen(SavedScreen(KNOWN, (*asked({"cells": "K562"}, "", n=1).saved.answers[:1], failed)))
    assert not found.saved.is_whole
    assert found.fields[0].n == 0
    assert "1 of 2 questions got no answer (Unanswered: refused); repeat the command to ask them." in screen_lines(found)[-1]
    assert "was not asked to name the screen yet" in screen_lines(NamedScreen(SavedScreen()))[0]
