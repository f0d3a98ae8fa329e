"""Published numbers in words."""

from __future__ import annotations

import pytest

from core.experiments.published.number_words import words_of
from core.experiments.published.registry import load_registry


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("challenge.train.other_ids", "train, ids other than pert_gene"),
        ("debate.UP.short", "UP, under 120 characters"),
        ("debate.arguing.3", "rows by advocates who argue, 3"),
        ("public.sharp", "debate with sharp evidence"),
    ],
)
def test_a_name_is_written_part_by_part_without_its_group(name: str, words: str) -> None:
    assert words_of(name) == words


def test_no_number_is_shown_by_a_raw_name_and_no_two_of_a_group_by_the_same_words() -> None:
    numbers = load_registry().numbers
    assert not [each.name for each in numbers if "_" in each.words.replace("pert_gene", "")]
    assert len({(each.title, each.words) for each in numbers}) == len(numbers)
