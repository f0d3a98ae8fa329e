"""Texts of known kinds are distinguished, whatever genes they name; what cannot be sorted is said."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from core.audit import argument_kinds
from core.audit.argument_kinds import NOISE, TYPICAL, WORDLESS, Arguments, _draw, find_argument_kinds
from core.audit.kind_settings import KindSettings
from core.errors import InputError
from tests.audit.argument_texts import KINDS, write_texts


def test_three_kinds_are_found_and_hold() -> None:
    texts, truth = write_texts(60)
    found = find_argument_kinds(texts, KindSettings(k=3))
    assert adjusted_rand_score(truth, found.kinds) > 0.95
    assert found.by_seed is not None
    assert found.by_seed.holds
    assert found.by_rows.holds
    for kind, words in enumerate(found.words):
        name = truth[int(np.flatnonzero(found.kinds == kind)[0])]
        assert set(" ".join(words).split()) <= set(KINDS[name])
        assert len(set(texts.rows[list(found.typical[kind])])) == TYPICAL
        assert all(truth[at] == name for at in found.typical[kind])
    sizes = np.bincount(found.kinds)
    assert (np.diff(sizes) <= 0).all()


@pytest.mark.soak
def test_the_number_of_kinds_is_chosen_and_a_seed_gives_the_same() -> None:
    texts, truth = write_texts(15)
    one, again = (find_argument_kinds(texts, KindSettings(seed=7)) for _ in range(2))
    assert 3 <= one.n_kinds <= 12
    assert adjusted_rand_score(truth, one.kinds) > 0.5
    assert one.kinds.tolist() == again.kinds.tolist()
    assert (one.words, one.typical, one.by_rows) == (again.words, again.typical, again.by_rows)


@pytest.mark.few(1)
@pytest.mark.parametrize("limit", [{"MOST_TEXTS": 90}, {"MOST_ENTRIES": 900}])
def test_of_too_many_texts_some_are_drawn_which_is_said(monkeypatch: pytest.MonkeyPatch, limit: dict[str, int]) -> None:
    texts, truth = write_texts(60)
    exact = find_argument_kinds(texts, KindSettings(k=3))
    assert exact.n_drawn is None
    for name, most in limit.items():
        monkeypatch.setattr(argument_kinds, name, most)
    found = find_argument_kinds(texts, KindSettings(k=3))
    assert found.n_drawn is not None
    assert 0 < found.n_drawn < len(truth)
    assert adjusted_rand_score(truth, found.kinds) > 0.95
    assert len(found.kinds) == len(truth)


def test_a_run_of_the_published_size_and_more_is_not_drawn_from() -> None:
    for n_texts, entries in [(7_705 * 4, 30 * 7_705 * 4), (60_000, 8_000_000)]:  # published briefs have 26 entries each
        assert _draw(SimpleNamespace(n_texts=n_texts, entries=entries)) is None
    drawn = _draw(SimpleNamespace(n_texts=60_001, entries=60_001))
    assert drawn is not None
    assert len(drawn) == 60_000


def test_hdbscan_has_no_seed_and_leaves_noise() -> None:
    texts, truth = write_texts(60)
    found = find_argument_kinds(texts, KindSettings("hdbscan"))
    assert found.by_seed is None
    assert found.by_rows.repeats == 5
    sorted_ = found.kinds != NOISE
    assert sorted_.sum() > 0
    assert adjusted_rand_score(np.array(truth)[sorted_], found.kinds[sorted_]) > 0.5


def test_texts_without_words_are_of_no_kind() -> None:
    texts, _ = write_texts(20)
    content = [*texts.content, "C", ""]
    more = Arguments(content, [*texts.pert, "P", "P"], [*texts.gene, "G", "G"], np.append(texts.rows, [20, 21]))
    found = find_argument_kinds(more, KindSettings(k=3))
    assert found.kinds[-2:].tolist() == [WORDLESS, WORDLESS]
    assert (found.kinds[:-2] >= 0).all()


def test_vectors_of_an_encoder_stand_in_for_words() -> None:
    texts, truth = write_texts(20)
    seen: list[str] = []

    def encode(given: object) -> np.ndarray:
        seen.extend(given)  # type: ignore[arg-type]
        rng = np.random.default_rng(0)
        return np.array([[name == kind for kind in KINDS] for name in truth]) + rng.normal(0, 0.01, (len(truth), 3))

    found = find_argument_kinds(texts, KindSettings(k=3), encode)
    assert adjusted_rand_score(truth, found.kinds) == 1
    assert len(seen) == len(truth)
    assert not any("gene" in text.casefold() or "tnf" in text.casefold() for text in seen)
    with pytest.raises(InputError, match="vectors of shape"):
        find_argument_kinds(texts, KindSettings(k=3), lambda _: np.ones((2, 2)))


def test_what_cannot_be_sorted_is_refused() -> None:
    nothing = Arguments(["A", "B"], ["p", "p"], ["g", "g"], np.array([0, 1]))
    with pytest.raises(InputError, match="different texts with shared words, expected at least 3"):
        find_argument_kinds(nothing, KindSettings())
    for wrong, message in (
        ({"method": "dbscan"}, "expected kmeans, hdbscan"),
        ({"k": 1}, "expected 2 or more"),
        ({"k": 4, "method": "hdbscan"}, "finds the number itself"),
        ({"seed": -1}, "seed: got -1, expected 0 to 2147483647"),
    ):
        with pytest.raises(InputError, match=message):
            KindSettings(**wrong)  # type: ignore[arg-type]
