"""How often each of many texts holds which words: counted text by text, kept on disk and read some thousand texts at a time."""

from __future__ import annotations

import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from core.file_io import UnnamedFile
from core.stats.arrays import Bools, Codes
from core.system_errors import explain

PIECE = 1 << 20  # entries that are read at a time, about


class WordCounts:
    """The counts of the words that are kept, at first of all.

    terms: sorted, of shape (n_terms,). texts: how many texts hold each of them, of the same shape. n_texts: of all; entries: how
    many counts there are.
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
        """Leave out the other words. is_kept: of shape (n_terms,)."""
        places = np.append(np.where(is_kept, np.cumsum(is_kept) - 1, -1), -1).astype(np.int32)
        self._columns = places[self._columns]
        self.terms, self.texts = self.terms[is_kept], self.texts[is_kept]
        self.entries = int(self.texts.sum())

    def read(self) -> Iterator[Any]:
        """Yield the counts, texts in order: sparse matrices of shape (some texts, n_terms)."""
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
        """Write what of some texts was found. Raise SystemFailure if the disk does not take it."""
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
