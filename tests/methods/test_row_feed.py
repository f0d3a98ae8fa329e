"""The events of a row, for several who watch it."""

from __future__ import annotations

from core.base.types import Pair
from core.features.asking.page.live_row import LiveRow
from core.llm.streaming import Words
from core.methods.row_feed import RowFeed


def test_everybody_who_watches_a_row_hears_all_of_it() -> None:
    feed = RowFeed(Pair("Pa_Ga", "Pa", "Ga", None, "test"))
    first = []
    second = []
    to_first, to_second = first.append, second.append
    feed.attach(to_first)
    on_words = feed.begin_call(0, "de", "EFFECT", 0)
    on_words(Words("one ", "", 1))
    feed.attach(to_second)
    on_words(Words("two", "", 1))
    assert [[event["kind"] for event in heard] for heard in (first, second)] == [
        ["asked", "words", "words"]
    ] * 2
    feed.detach(to_second)
    feed.fail_call(0, "gone")
    assert (first[-1]["kind"], second[-1]["kind"]) == ("failed", "words")
    assert feed.is_watched
    feed.detach(to_first)
    assert not feed.is_watched


def test_words_that_turn_out_to_be_thinking_are_thinking_for_all_who_watch_also_for_who_comes_later() -> (
    None
):
    feed = RowFeed(Pair("Pa_Ga", "Pa", "Ga", None, "test"))
    early, late = LiveRow(), LiveRow()
    feed.attach(lambda event: early.take([event]))
    on_words = feed.begin_call(0, "de", "JUDGE", 0)
    on_words(Words("Is it A?", "", 1))
    on_words(Words("It is B", "Is it A?", 1, is_anew=True))
    feed.attach(lambda event: late.take([event]))
    on_words(Words(".", "", 1))
    for row in (early, late):
        assert (row.speeches[0].content, row.speeches[0].reasoning) == ("It is B.", "Is it A?")
