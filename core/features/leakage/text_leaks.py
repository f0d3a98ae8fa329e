"""What the texts of a knowledge pack give away: labels that they state, and words that go along
with label shares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from core.features.leakage.label_statements import TextCheck, check_texts
from core.features.leakage.share_probe import probe_shares
from core.features.leakage.space_leaks import AXES, SEED, TASKS, shares_text, task_rows
from core.stats.arrays import Floats
from core.transfer.row_index import RowIndex

# words that are counted: how many, and in how many (share of) texts
MOST_WORDS, LEAST_TEXTS, MOST_TEXTS = 400, 8, 0.6
_WORD, _NUMBER = re.compile(r"\w+"), re.compile(r"[-+−]?\b\d+(?:\.\d+)?\b")


def check_pack(name: str, texts: Mapping[str, str], index: RowIndex) -> TextCheck:
    """Return the leaks of a dataset's labels in a pack's texts by gene."""
    at = index.labelled_positions
    symbols = [symbol.casefold() for symbol in index.symbols]
    perts, genes = (
        [symbols[code] for code in codes[at].tolist()]
        for codes in (index.rows.pert, index.rows.gene)
    )
    known = zip([index.pair_ids[row] for row in at.tolist()], index.labels[at], strict=True)
    found = check_texts(name, texts, dict(zip(zip(perts, genes, strict=True), known, strict=True)))
    return replace(found, findings=(*found.findings, *_find_shares(texts, index, symbols)))


def _find_shares(texts: Mapping[str, str], index: RowIndex, symbols: list[str]) -> Iterator[str]:
    """Yield the axes and tasks whose label shares the words of texts predict above the noise
    ceiling."""
    words = np.hstack([_count_words(texts, symbols), _read_numbers(texts, symbols)])
    if words.shape[1]:
        for axis in AXES:
            for task in TASKS:
                probe = probe_shares(
                    task_rows(index, axis, task)[1], words, np.random.default_rng(SEED)
                )
                if probe.has_seen_labels:
                    yield (
                        f"words or numbers correlate with labels: {shares_text(axis, task, probe)}"
                    )


def _count_words(texts: Mapping[str, str], symbols: list[str]) -> Floats:
    """Return 1 for the words of each symbol's text, of shape (n_symbols, n_words); NaN for a symbol
    without a text."""
    place = {symbol: row for row, symbol in enumerate(symbols)}
    known = {
        row: set(_WORD.findall(text.casefold()))
        for gene, text in texts.items()
        if (row := place.get(gene.casefold())) is not None
    }
    counts = Counter(word for words in known.values() for word in words)
    common = [
        word for word, n in counts.most_common() if LEAST_TEXTS <= n <= MOST_TEXTS * len(known)
    ][:MOST_WORDS]
    columns = {word: column for column, word in enumerate(common)}
    table = np.full((len(symbols), len(common)), np.nan)
    for row, words in known.items():
        table[row] = 0.0
        table[row, [columns[word] for word in words if word in columns]] = 1.0
    return table


def _read_numbers(texts: Mapping[str, str], symbols: list[str]) -> Floats:
    """Return the first and the last number of each symbol's text, of shape (n_symbols, 2); their
    means where a text has none."""
    place, table = (
        {symbol: row for row, symbol in enumerate(symbols)},
        np.full((len(symbols), 2), np.nan),
    )
    for gene, text in texts.items():
        numbers = _NUMBER.findall(text)
        if numbers and (row := place.get(gene.casefold())) is not None:
            table[row] = [float(number.replace("−", "-")) for number in (numbers[0], numbers[-1])]
    known = np.isfinite(table[:, 0])
    if known.sum() < LEAST_TEXTS:
        return np.empty((len(symbols), 0))
    table[~known] = table[known].mean(axis=0)
    return table
