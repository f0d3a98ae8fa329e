"""Which words count, and which tell kinds apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import vstack
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from core.audit import argument_words
from core.audit.argument_words import PRIOR_WORDS, WordTable, log_odds_z, words_of


def test_names_of_genes_do_not_count() -> None:
    text = "Knockdown of Cbfb lowers runx1, RUNX1, NF-κB and Tnf; set is down-regulated, don't say (B) beta-2 or SET."
    assert words_of(text, "Cbfb", "Set") == ["of", "lowers", "and", "is", "down-regulated", "don't", "say", "or"]
    assert words_of("rest of the rest-like", "Rest", "x") == ["of", "the"]


def test_words_that_say_which_way_stay_among_stop_words() -> None:
    table = WordTable([["there", "is", "no", "change"], ["it", "goes", "up"], ["it", "goes", "up"], ["no", "change"]])
    assert set(table.terms) == {"no", "change", "no change", "goes", "up", "goes up"}
    assert [counts.shape for counts in table.counts()] == [(4, 6)]
    assert [np.linalg.norm(weights.toarray(), axis=1) for weights in table.weigh()] == [pytest.approx(np.ones(4))]


def test_words_are_counted_and_weighed_as_sklearn_does_whatever_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    documents = [[f"w{n}" for n in rng.zipf(1.5, 20) if n < 500] for _ in range(200)]
    for piece in (1 << 20, 50):
        monkeypatch.setattr(argument_words, "PIECE", piece)
        table = WordTable(documents)
        counter = CountVectorizer(tokenizer=str.split, lowercase=False, token_pattern=None, ngram_range=(1, 2), dtype=np.float64)
        counts = counter.set_params(vocabulary=table.terms).fit_transform(map(" ".join, documents))
        weights = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
        assert (vstack(list(table.counts())) != counts).nnz == 0
        assert (vstack(list(table.weigh())) != weights).nnz == 0


def test_rare_words_of_many_texts_are_left_out_before_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    documents = [[f"w{n}" for n in rng.zipf(1.3, 20) if n < 5_000] for _ in range(2_000)]
    exact = WordTable(documents)
    monkeypatch.setattr(argument_words, "MANY_TEXTS", 10)
    for buckets in (1 << 24, 64):  # so many that no two words share one, and so few that all do
        monkeypatch.setattr(argument_words, "_BUCKETS", buckets)
        rough = WordTable(documents)
        assert rough.terms.tolist() == exact.terms.tolist()
        assert (vstack(list(rough.counts())) != vstack(list(exact.counts()))).nnz == 0


def test_texts_without_words_have_no_table() -> None:
    table = WordTable([[], []])
    assert len(table.terms) == 0
    assert table.tell_apart(np.array([0, 0]), 1, 3) == [()]


def test_log_odds_by_hand() -> None:
    here, elsewhere = np.array([3.0, 1.0]), np.array([1.0, 5.0])
    # Prior: 500 · (4, 6) / 10 = (200, 300). Word 0: a = 203 of 504, b = 201 of 506.
    ratio = np.log(203 / 301) - np.log(201 / 305)
    assert PRIOR_WORDS == 500
    assert log_odds_z(here, elsewhere)[0] == pytest.approx(ratio / np.sqrt(1 / 203 + 1 / 201))
    assert log_odds_z(here, elsewhere) == pytest.approx(-log_odds_z(elsewhere, here))


def test_telling_words_repeat_none() -> None:
    documents = [["stress", "response"]] * 4 + [["no", "effect"]] * 4
    told = WordTable(documents).tell_apart(np.repeat([0, 1], 4), 2, 3)
    assert [set(" ".join(words).split()) for words in told] == [{"stress", "response"}, {"no", "effect"}]
    assert all(len(" ".join(words).split()) == 2 for words in told)
