"""Kinds of arguments: clusters of texts with similar words, and their stability when clustering is repeated.

Vectors are TF-IDF of the words that count (`argument_words`), reduced by a truncated SVD, or come from an encoder. Clusters
come from k-means, or from HDBSCAN (Campello, Moulavi and Sander 2013), which gives no kind to texts that resemble no others.
Vectors have length 1, so distances depend only on angles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.audit.argument_words import Documents, WordTable, words_of
from core.audit.kind_settings import KindSettings
from core.errors import InputError
from core.fields.record import option_of
from core.stats.arrays import Bools, Codes, Floats

METHODS = option_of(KindSettings, "method").titles
NOISE, WORDLESS = -1, -2  # kinds for texts that resemble no others, and for texts without a word that counts
LEAST_K, MOST_K = 3, 12  # range for the number of kinds
HOLDS = 0.8  # clusters count as stable from this adjusted Rand index
MOST_TEXTS, MOST_ENTRIES = (
    60_000,
    8_000_000,
)  # most texts, and words in them, for finding columns; a sample is drawn if there are more
COLUMNS, STARTS = 50, 3  # columns of the SVD; starts of each k-means, the best of which is used
REPEATS = 5  # number of other seeds, and of samples of the rows, for finding kinds again
SAMPLED = 0.8  # share of the rows in a sample
SMALLEST_SHARE, SMALLEST = 0.01, 10  # the smallest kind of HDBSCAN: a share of the texts, and a number of texts
WORDS, TYPICAL = 6, 5  # number of characteristic words and of typical texts of a kind
RULE = (
    f"the largest number from {LEAST_K} to {MOST_K} with stable kinds, otherwise the most stable number; stable: a mean "
    f"adjusted Rand index of {HOLDS} or more under other seeds and on samples of the rows"
)
Encoder = Callable[[Sequence[str]], Floats]  # texts in, vectors of shape (n_texts, n_columns) out


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of repeated clusterings with the first: adjusted Rand index, 1 for the same kinds, 0 for chance.

    mean, low, high: the mean, smallest and largest over the `repeats`. over: the difference between repeats.
    """

    mean: float
    low: float
    high: float
    repeats: int
    over: str

    @property
    def holds(self) -> bool:
        """Whether repeats find the same kinds."""
        return self.mean >= HOLDS


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentKinds:
    """The kinds of some texts, the largest first.

    kinds: of each text, of shape (n_texts,), NOISE or WORDLESS for texts without a kind. words: characteristic words of each
    kind. typical: positions of the texts nearest to each kind's mean, from different rows. by_seed: None for HDBSCAN, which has
    no seed. n_drawn: number of texts drawn at random to find the columns; None if all texts were used.
    """

    kinds: Codes
    words: tuple[tuple[str, ...], ...]
    typical: tuple[tuple[int, ...], ...]
    by_seed: Agreement | None
    by_rows: Agreement
    n_drawn: int | None = None

    @property
    def n_kinds(self) -> int:
        return len(self.words)

    @property
    def agreements(self) -> tuple[Agreement, ...]:
        return (self.by_rows,) if self.by_seed is None else (self.by_seed, self.by_rows)


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """Texts to sort. content, pert, gene: of shape (n_texts,); rows: codes of the texts' rows, of the same shape."""

    content: Sequence[str]
    pert: Sequence[str]
    gene: Sequence[str]
    rows: Codes

    @property
    def documents(self) -> _Documents:
        """The words that count, of each text."""
        return _Documents(self)


@dataclass(frozen=True, slots=True, eq=False)
class _Documents:
    """The words of texts. They are extracted again at each read, because they need ten times the memory of the texts."""

    texts: Arguments

    def __len__(self) -> int:
        return len(self.texts.pert)

    def __iter__(self) -> Iterator[list[str]]:
        texts = self.texts
        return (words_of(*one) for one in zip(texts.content, texts.pert, texts.gene, strict=True))


def find_argument_kinds(texts: Arguments, settings: KindSettings, encode: Encoder | None = None) -> ArgumentKinds:
    """Sort texts into kinds; the same texts and settings give the same kinds.

    encode: replaces TF-IDF; called with the words that count. Raise InputError for fewer texts with words than kinds.
    """
    from threadpoolctl import threadpool_limits  # part of scikit-learn, which is slow to import

    documents = texts.documents
    table = WordTable(documents)
    with threadpool_limits(1):  # on a busy machine, threads wait for each other and take many times as long as a single one
        vectors, n_drawn = _svd_vectors(table) if encode is None else (_encode(documents, encode), None)
        has_words = np.linalg.norm(vectors, axis=1) > 0
        least = max(LEAST_K, settings.k or 0)
        with_words = vectors if has_words.all() else vectors[has_words]
        distinct = _count_distinct(with_words, least)
        if distinct < least:
            raise InputError(f"kinds of arguments: {distinct:,} different texts with shared words, expected at least {least}")
        labels, by_seed, by_rows = _Search(with_words, texts.rows[has_words], settings).sort()
        del with_words
    kinds = np.full(len(documents), WORDLESS, dtype=np.intp)
    # The same clusters with codes ordered by size, the largest 0; NOISE stays
    used, counts = np.unique(labels[labels >= 0], return_counts=True)
    place = np.full(int(labels.max(initial=-1)) + 2, NOISE, dtype=np.intp)  # the last entry is for NOISE, -1
    place[used[np.argsort(-counts, kind="stable")]] = np.arange(len(used))
    kinds[has_words] = place[labels]
    n_kinds = int(kinds.max(initial=-1)) + 1
    typical = tuple(_nearest_to_mean(vectors, kinds == kind, texts.rows) for kind in range(n_kinds))
    return ArgumentKinds(kinds, tuple(table.tell_apart(kinds, n_kinds, WORDS)), typical, by_seed, by_rows, n_drawn)


def _svd_vectors(table: WordTable) -> tuple[Floats, int | None]:
    """Return unit vectors of shape (n_texts, COLUMNS or fewer), 0 for a text without a word that counts.

    Also return the number of texts used to find the columns, None for all.
    """
    from scipy.sparse import vstack
    from sklearn.decomposition import TruncatedSVD

    if len(table.terms) < 2:
        return np.zeros((table.n_texts, 1)), None
    drawn = _draw(table)
    fitted = vstack(list(_of_drawn(table.weigh(), drawn)), format="csr")
    columns = min(COLUMNS, len(table.terms) - 1, fitted.shape[0])
    # Always seed 0: another seed should give other kinds, not other vectors of the same texts.
    svd = TruncatedSVD(columns, random_state=0).fit(fitted)
    del fitted
    vectors = np.empty((table.n_texts, columns), dtype=np.float64 if drawn is None else np.float32)
    start = 0
    for weights in table.weigh():
        vectors[start : start + weights.shape[0]] = _unit_length(svd.transform(weights))
        start += weights.shape[0]
    return vectors, None if drawn is None else len(drawn)


def _draw(table: WordTable) -> Codes | None:
    """Return the positions of the texts used to find columns, in order; None for all, unless there are too many."""
    most = min(MOST_TEXTS, table.n_texts * MOST_ENTRIES // table.entries)
    if table.n_texts <= most:
        return None
    return np.sort(np.random.default_rng(0).choice(table.n_texts, most, replace=False))


def _of_drawn(pieces: Iterator[Any], drawn: Codes | None) -> Iterator[Any]:
    """Yield the rows at the drawn positions from consecutive matrices."""
    start = 0
    for piece in pieces:
        end = start + piece.shape[0]
        yield piece if drawn is None else piece[drawn[(drawn >= start) & (drawn < end)] - start]
        start = end


def _encode(documents: Documents, encode: Encoder) -> Floats:
    """Return the encoder's vectors, scaled to length 1; 0 for a text without a word."""
    has_words = np.array([bool(words) for words in documents])
    if not has_words.any():
        return np.zeros((len(documents), 1))
    vectors = np.asarray(encode([" ".join(words) for words in documents if words]), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != has_words.sum():
        raise InputError(f"kinds of arguments: vectors of shape {vectors.shape} for {int(has_words.sum()):,} texts")
    found = np.zeros((len(documents), vectors.shape[1]))
    found[has_words] = _unit_length(vectors)
    return found


def _unit_length(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 1e-9)
    return unit


def _count_distinct(vectors: Any, most: int) -> int:
    """Return the number of different rows, or `most` if there are more."""
    known: set[bytes] = set()
    for row in vectors:
        known.add((row + 0.0).tobytes())  # -0.0 is 0.0
        if len(known) == most:
            break
    return len(known)


class _Search:
    """Clusters vectors by one method, and repeats this under other seeds and on samples of the rows."""

    def __init__(self, vectors: Floats, rows: Codes, settings: KindSettings) -> None:
        self.vectors = vectors.astype(np.float32, copy=False)
        self.rows = rows
        self.settings = settings
        self.most_k = _count_distinct(self.vectors, MOST_K)

    def sort(self) -> tuple[Codes, Agreement | None, Agreement]:
        """Return the cluster of each text, and the agreement under other seeds and on samples of the rows."""
        if self.settings.method == "hdbscan":
            labels = self._hdbscan(self.vectors)
            return labels, None, self._agree_on_samples(labels, self._hdbscan)
        if self.settings.k:
            return self._sort_into(self.settings.k, -np.inf)
        best = self._sort_into(self.most_k, -np.inf)
        for k in range(self.most_k - 1, LEAST_K - 1, -1):
            if _worst(best) >= HOLDS:
                break
            found = self._sort_into(k, _worst(best))
            best = max(best, found, key=_worst)
        return best

    def _sort_into(self, k: int, least: float) -> tuple[Codes, Agreement, Agreement]:
        """Return `sort` by k-means. Draw no samples if the agreement under other seeds is at most `least`."""
        seed = self.settings.seed
        labels = self._kmeans(k, seed)(self.vectors)
        others = [(labels, self._kmeans(k, seed + i)(self.vectors)) for i in range(1, REPEATS + 1)]
        by_seed = _agreement(others, "other seeds")
        if by_seed.mean <= least:
            return labels, by_seed, _agreement([], "")
        return labels, by_seed, self._agree_on_samples(labels, self._kmeans(k, seed))

    def _agree_on_samples(self, labels: Codes, cluster: Callable[[Any], Codes]) -> Agreement:
        """Return the agreement of clusters of samples with the clusters of all rows, on the texts of each sample."""
        rng = np.random.default_rng(self.settings.seed)
        every = np.unique(self.rows)
        found = []
        for _ in range(REPEATS):
            drawn = np.isin(self.rows, rng.choice(every, max(1, round(SAMPLED * len(every))), replace=False))
            found.append((labels[drawn], cluster(self.vectors[drawn])))
        return _agreement(found, f"samples of {SAMPLED:.0%} of the rows")

    def _kmeans(self, k: int, seed: int) -> Callable[[Any], Codes]:
        from sklearn.cluster import KMeans

        def cluster(vectors: Any) -> Codes:
            fewer = _count_distinct(vectors, k)  # a sample of few rows may have fewer different texts
            found: Codes = KMeans(fewer, n_init=STARTS, random_state=seed).fit_predict(vectors).astype(np.intp)
            return found

        return cluster

    def _hdbscan(self, vectors: Any) -> Codes:
        from sklearn.cluster import HDBSCAN

        smallest = max(SMALLEST, round(SMALLEST_SHARE * len(vectors)))
        if len(vectors) < smallest:
            return np.full(len(vectors), NOISE, dtype=np.intp)
        found: Codes = HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(vectors).astype(np.intp)
        return found


def _agreement(pairs: Sequence[tuple[Codes, Codes]], over: str) -> Agreement:
    from sklearn.metrics import adjusted_rand_score

    found = [float(adjusted_rand_score(one, other)) for one, other in pairs]
    if not found:
        return Agreement(-np.inf, -np.inf, -np.inf, 0, over)
    return Agreement(float(np.mean(found)), min(found), max(found), len(found), over)


def _worst(found: tuple[Codes, Agreement | None, Agreement]) -> float:
    """Return the lower mean agreement: under other seeds or on samples."""
    return min(each.mean for each in found[1:] if each is not None)


def _nearest_to_mean(vectors: Floats, members: Bools, rows: Codes) -> tuple[int, ...]:
    """Return positions of at most TYPICAL texts nearest to the mean of a kind, the nearest first, one text per row."""
    at = np.flatnonzero(members)
    order = at[np.argsort(-(vectors[at] @ vectors[at].mean(axis=0)), kind="stable")]
    _, first = np.unique(rows[order], return_index=True)
    return tuple(int(i) for i in order[np.sort(first)][:TYPICAL])
