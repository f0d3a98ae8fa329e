"""Published numbers: the registry, and what is said where nothing can be computed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.base.errors import NotFound
from core.features.published import reproduce
from core.features.published.reproduce import choose_numbers, reproduce_numbers
from core.features.published.result import Reproduced, Reproduction
from core.runs.workspace import Workspace
from tests.commands import core, core_json

NUMBER = Reproduced("g.n", "A group", "a source", 0.58, 0.003, (), {})
AGREES, DIFFERS = replace(NUMBER, ours=0.58), replace(NUMBER, ours=0.6, why="another cut")
NONE = replace(NUMBER, why="no file")


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_number_has_a_name_of_its_own_a_function_and_known_sources() -> None:
    numbers = choose_numbers(None)
    assert len({number.name for number in numbers}) == len(numbers) > 100
    for number in numbers:
        assert "missing" in number.wanted or callable(getattr(reproduce, number.wanted["compute"]))
        assert set(number.needs) <= reproduce.LIST["sources"].keys()
        assert number.source
        assert number.tolerance >= 0


def test_numbers_are_chosen_by_name_beginning_and_pattern() -> None:
    assert [number.name for number in choose_numbers("knn.text.loo.de")] == ["knn.text.loo.de"]
    assert {number.name.partition(".")[0] for number in choose_numbers("knn")} == {"knn"}
    assert {number.wanted["column"] for number in choose_numbers("knn.*.folds.*")} == {"folds"}
    with pytest.raises(
        NotFound, match=r"published numbers 'nothing': unknown; expected .*challenge, pool"
    ):
        choose_numbers("nothing")


def test_agreement_is_within_the_tolerance() -> None:
    assert replace(NUMBER, ours=0.583).agrees  # the difference is 0.0030000000000000027
    assert not replace(NUMBER, ours=0.5831).agrees
    assert replace(NUMBER, published=31, tolerance=0.0, ours=31).agrees
    assert not replace(NUMBER, published=31, tolerance=0.0, ours=32).agrees


def test_a_summary_counts_agreeing_differing_and_missing_numbers() -> None:
    found = Reproduction((AGREES, DIFFERS, NONE))
    assert found.sentence == "1 of 3 published numbers agree, 1 differ, 1 cannot be computed here."
    assert [each.agrees for each in found.numbers] == [True, False, None]
    [table] = found.tables()
    assert [(row["verdict"], row["why"]) for row in table.rows] == [
        ("agrees", None),
        ("differs", "another cut"),
        ("not computed", "no file"),
    ]
    [whole] = Reproduction((replace(NUMBER, published=7705, tolerance=0.0),)).tables()
    assert whole.rows[0]["published"] == "7,705"


@pytest.mark.soak
def test_on_the_demo_nothing_is_computed_and_each_number_says_what_is_missing(
    demo_workspace: Workspace,
) -> None:
    folder = demo_workspace.settings.workspace
    before = files_in(folder)
    begun = []
    found = reproduce_numbers(demo_workspace, begin=begun.append).numbers
    assert [each.ours for each in found] == [None] * len(choose_numbers(None))
    assert {each.why for each in found} == {
        "train.csv is not in this workspace; try: perturbdesk fetch challenge"
    }
    assert begun == [each.name for each in found]
    assert files_in(folder) == before


def test_through_the_command(demo_workspace: Workspace) -> None:
    folder = demo_workspace.settings.workspace
    [row] = core_json(folder, "reproduce --only knn.text.loo.de")["numbers"]
    expected = {
        "name": "knn.text.loo.de",
        "published": 0.54,
        "tolerance": 0.003,
        "ours": None,
        "agrees": None,
    }
    assert {key: row[key] for key in expected} == expected
    assert row["why"].startswith("train.csv is not in this workspace")
    wrong = core(folder, "reproduce --only nothing")
    assert wrong.status == 1
    assert "unknown; expected" in wrong.err
