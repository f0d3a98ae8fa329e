"""The words of arguments: those that count, and those that distinguish one kind of argument from the others.

The pair of genes in an argument must not decide its kind. So only words in lower case count, without the names of the row's own
pair in any spelling. Symbols of genes (which start with a capital in mouse and are in capitals in human), acronyms and letters
of options do not count.

Words are counted text by text; the counts are saved on disk and read some thousand texts at a time.
"""

from __future__ import annotations

import re
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from core.file_io import UnnamedFile
from core.stats.arrays import Bools, Codes, Floats
from core.system_errors import explain

PIECE = 1 << 20  # approximate number of entries read at a time


class WordCounts:
    """The counts of words: of all, until `keep` leaves some out.

    terms: sorted, of shape (n_terms,). texts: number of texts that contain each term, of the same shape. n_texts: number of all
    texts; entries: number of counts.
    """

    def __init__(self, documents: Iterable[Sequence[str]]) -> None:
        self._file, self._n_pieces = UnnamedFile(), 0
        ids: dict[str, int] = {}
        self.n_texts, self.entries = 0, 0
        lengths, found, counts = array("i"), array("i"), array("i")
        for words in documents:
            of_text = Counter(words)
            found.extend(ids.setdefault(word, len(ids)) for word in of_text)
            counts.extend(of_text.values())
            lengths.append(len(of_text))
            if len(found) >= PIECE:
                self._write(lengths, found, counts)
                lengths, found, counts = array("i"), array("i"), array("i")
        if lengths:
            self._write(lengths, found, counts)
        self.terms: Any = np.array(sorted(ids), dtype=object)
        self._columns = np.empty(len(ids), dtype=np.int32)
        self._columns[[ids[term] for term in self.terms]] = np.arange(len(ids), dtype=np.int32)
        self.texts = self._count_texts()

    def keep(self, is_kept: Bools) -> None:
        """Keep the flagged words and leave out the others. is_kept: of shape (n_terms,)."""
        places = np.append(np.where(is_kept, np.cumsum(is_kept) - 1, -1), -1).astype(np.int32)
        self._columns = places[self._columns]
        self.terms, self.texts = self.terms[is_kept], self.texts[is_kept]
        self.entries = int(self.texts.sum())

    def read(self) -> Iterator[Any]:
        """Yield the counts, with texts in order: sparse matrices of shape (some texts, n_terms)."""
        from scipy.sparse import csr_matrix

        for lengths, found, counts in self._read():
            columns = self._columns[found]
            is_kept = columns >= 0
            ends = np.append(0, np.cumsum(is_kept))[np.append(0, np.cumsum(lengths))]
            shape = (len(lengths), len(self.terms))
            piece = csr_matrix((counts[is_kept].astype(np.float64), columns[is_kept], ends.astype(np.int32)), shape=shape)
            piece.sort_indices()
            yield piece

    def _count_texts(self) -> Codes:
        texts = np.zeros(len(self._columns), dtype=np.intp)
        for _, found, _ in self._read():
            texts += np.bincount(self._columns[found], minlength=len(texts))
        return texts

    def _write(self, *arrays: Any) -> None:
        """Write the counts of some texts. Raise SystemFailure if the disk refuses."""
        self.n_texts += len(arrays[0])
        self.entries += len(arrays[1])
        self._n_pieces += 1
        try:
            for each in arrays:
                np.save(self._file, np.array(each, dtype=np.int32))
        except OSError as error:
            raise explain(error, tempfile.gettempdir()) from error

    def _read(self) -> Iterator[tuple[Any, Any, Any]]:
        self._file.seek(0)
        for _ in range(self._n_pieces):
            lengths, found, counts = (np.load(self._file, allow_pickle=False) for _ in range(3))
            yield lengths, found, counts


MASKED = "Only words in lower case count: symbols of genes, acronyms, letters of options and the names of the row's pair do not."
LEAST_SHARE, MOST_SHARE = 0.002, 0.5  # share of texts with a word: rarer words join few texts, more common ones separate none
LEAST_TEXTS = 2
MANY_TEXTS = 2_000  # from this many texts on, most words are rare and are left out before counting
_BUCKETS = 1 << 24  # for the approximate counts of words
PRIOR_WORDS = 500.0  # weight of the prior of `tell_apart`, in words
# Common words for direction, amount or negation, which the list of stop words would remove.
_DIRECTIONS = frozenset(
    {"up", "down", "no", "not", "none", "never", "neither", "nor", "without", "cannot", "against", "more", "less", "few", "many"}
    | {"most", "least", "both", "only", "above", "below", "through", "between", "because", "although", "however"}
)
_WORD = re.compile(r"(?<![\w-])[a-z]{2,}(?:[-'’][a-z]+)*(?![\w-])")


def words_of(text: str, pert: str, gene: str) -> list[str]:
    """Return the words of a text that count, in order, including stop words; pert, gene: the names of its row's pair."""
    own = {pert.casefold(), gene.casefold()}
    return [word for word in _WORD.findall(text) if own.isdisjoint((word, *word.split("-")))]


class Documents(Protocol):
    """The words of each of some texts, extracted again at each iteration."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Sequence[str]]: ...


class WordTable:
    """The words and pairs of neighbouring words in each text, with some thousand texts in memory at a time.

    terms: of shape (n_terms,), empty if no text has a word. n_texts: number of texts; entries: number of pairs of a text and
    one of its terms.
    """

    def __init__(self, documents: Documents) -> None:
        # Imported here because few processes count words and the import takes 60 MB.
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        stop = ENGLISH_STOP_WORDS - _DIRECTIONS

        def terms_of(words: Sequence[str]) -> list[str]:
            left = [word for word in words if word not in stop]
            return [*left, *map(" ".join, pairwise(left))]

        least = max(LEAST_TEXTS, int(np.ceil(LEAST_SHARE * len(documents))))
        may_be_used = _rough_filter(documents, terms_of, least) if len(documents) > MANY_TEXTS else terms_of
        self._counts = WordCounts(map(may_be_used, documents))
        texts = self._counts.texts
        self._counts.keep((texts >= least) & (texts <= max(MOST_SHARE * len(documents), least)))
        self.terms, self.n_texts, self.entries = self._counts.terms, self._counts.n_texts, self._counts.entries

    def counts(self) -> Iterator[Any]:
        """Yield the count of each term in each text, with texts in order: sparse matrices of shape (some texts, n_terms)."""
        return self._counts.read()

    def weigh(self) -> Iterator[Any]:
        """Yield TF-IDF with 1 + log of the counts, each row of length 1 (or 0): sparse matrices of the shapes of `counts`."""
        from sklearn.preprocessing import normalize

        rarity = np.log((self.n_texts + 1) / (self._counts.texts + 1)) + 1
        for counts in self.counts():
            counts.data = (np.log(counts.data) + 1) * rarity[counts.indices]
            yield normalize(counts, copy=False)

    def tell_apart(self, kinds: Codes, n_kinds: int, n_words: int) -> list[tuple[str, ...]]:
        """Return at most `n_words` words that distinguish each kind from all other texts, the most distinctive first.

        kinds: of shape (n_texts,), below 0 for texts without a kind. Words are ranked by the z of the log-odds ratio with an
        informative Dirichlet prior (Monroe, Colaresi and Quinn, Political Analysis 2008, 16:372-403) of the number of texts
        with a word. A term that shares a word with an earlier one is left out.
        """
        if not len(self.terms):
            return [()] * n_kinds
        told = []
        for here in self._texts_of_kinds(kinds, n_kinds):
            z = log_odds_z(here, self._counts.texts - here)
            order = [int(i) for i in np.argsort(-z, kind="stable") if z[i] > 0]
            told.append(_without_repeats([str(self.terms[i]) for i in order], n_words))
        return told

    def _texts_of_kinds(self, kinds: Codes, n_kinds: int) -> Floats:
        """Return the number of texts of each kind that contain each term, of shape (n_kinds, n_terms)."""
        found, start = np.zeros((n_kinds, len(self.terms))), 0
        for counts in self.counts():
            own = kinds[start : start + counts.shape[0]]
            for kind in np.unique(own[own >= 0]):
                found[kind] += np.bincount(counts[np.flatnonzero(own == kind)].indices, minlength=len(self.terms))
            start += counts.shape[0]
        return found


Terms = Callable[[Sequence[str]], list[str]]


def _rough_filter(documents: Documents, terms_of: Terms, least: int) -> Terms:
    """Return `terms_of` without most terms that occur in fewer than `least` texts.

    Terms share buckets. No term is in more texts than its bucket, so no frequent term is lost.
    """
    counts = np.zeros(_BUCKETS, dtype=np.int32)
    for words in documents:
        buckets = {hash(term) % _BUCKETS for term in terms_of(words)}
        counts[np.fromiter(buckets, dtype=np.intp, count=len(buckets))] += 1
    is_common = (counts >= least).tobytes()
    return lambda words: [term for term in terms_of(words) if is_common[hash(term) % _BUCKETS]]


def log_odds_z(here: Floats, elsewhere: Floats) -> Floats:
    """Return the log-odds ratio of each word in standard errors, above 0 if it is more common here; counts of shape (n_words,).

    The prior is the sum of both counts, scaled to `PRIOR_WORDS` (Monroe, Colaresi and Quinn 2008, equations 15, 16, 20, 22).
    """
    both = here + elsewhere
    prior = PRIOR_WORDS * both / both.sum()
    a, b = here + prior, elsewhere + prior
    ratio = np.log(a / (a.sum() - a)) - np.log(b / (b.sum() - b))
    z: Floats = ratio / np.sqrt(1 / a + 1 / b)
    return z


def _without_repeats(terms: Sequence[str], n: int) -> tuple[str, ...]:
    chosen: list[str] = []
    known: set[str] = set()
    for term in terms:
        if len(chosen) == n:
            break
        if known.isdisjoint(term.split()):
            chosen.append(term)
            known |= set(term.split())
    return tuple(chosen)
