from __future__ import annotations

from core.evidence.symbol_table import Table

TABLE = Table({"Tp53": 1, "TP53": 2, "Il6": 3}, "tests")


def test_the_symbol_itself_wins_over_other_cases() -> None:
    assert TABLE.spellings("Tp53") == ("Tp53",)
    assert TABLE.spellings("TP53") == ("TP53",)


def test_else_every_spelling_that_differs_in_case_only() -> None:
    assert TABLE.spellings("IL6") == ("Il6",)
    assert TABLE.spellings("tp53") == ("TP53", "Tp53")


def test_nothing_is_guessed() -> None:
    assert TABLE.spellings("Il-6") == TABLE.spellings("Il") == TABLE.spellings("Trp53") == ()
