"""Sentences of abstracts: which symbols they name, and which matter most."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

K1, B = 1.5, 0.75
CONTEXT_WORDS = ("macrophage", "macrophages", "expression", "knockout", "deficient", "induced")  # what the task is about
_END = re.compile(r"""[.!?][)\]"'”’]*\s+(?=\S)""")
_BEGINS = re.compile(r"""["'“‘(\[]*([A-Z0-9]|[a-z]{1,2}-?[A-Z]|[a-z]+\d)""")  # also mRNA, c-Myc, p65
_ABBREVIATIONS = "e.g. i.e. vs. al. fig. figs. approx. no. nos. ca. cf. resp. sp. spp. dr. st. ref. refs. eq. incl. min. max."
_ABBREVIATED = frozenset(_ABBREVIATIONS.split(" "))
_INITIAL = re.compile(r"\(?[A-Z]\.")  # of a genus: E. coli
_WORD = re.compile(r"[a-z0-9]+")


class RankedText(NamedTuple):
    """A text by its position among those given, and its BM25 score. names_all: whether it names all of two or more symbols."""

    position: int
    score: float
    names_all: bool


def split_sentences(text: str) -> Iterator[str]:
    """The sentences of an abstract. A full stop inside a number, an abbreviation or a gene's name ends no sentence."""
    start = 0
    for end in _END.finditer(text):
        last = text[start : end.end()].split()[-1]
        short = last.lstrip("([").casefold() in _ABBREVIATED or _INITIAL.fullmatch(last)
        if not short and _BEGINS.match(text, end.end()):
            yield text[start : end.end()].strip()
            start = end.end()
    if rest := text[start:].strip():
        yield rest


def symbol_pattern(symbol: str) -> re.Pattern[str]:
    """A pattern that finds a symbol as a whole word in any case: Stat1-deficient names Stat1, Nkx2-1 does not name Nkx2."""
    return re.compile(rf"(?<![a-z0-9])(?<![a-z0-9]\d-){re.escape(symbol)}(?![a-z0-9]|-\d)", re.IGNORECASE)


def names_all(text: str, symbols: Sequence[str]) -> bool:
    """Whether a text names every one of two or more symbols."""
    return len(symbols) > 1 and all(symbol_pattern(symbol).search(text) for symbol in symbols)


def rank_texts(texts: Sequence[str], symbols: Sequence[str]) -> list[RankedText]:
    """The texts that name a symbol: those that name all symbols first, then by BM25 score, ties in the given order."""
    patterns = [symbol_pattern(symbol) for symbol in symbols]
    mentions = [[len(pattern.findall(text)) for pattern in patterns] for text in texts]
    words = [_WORD.findall(text.casefold()) for text in texts]
    # A symbol is one token "#0", "#1", … per mention, whatever words it is made of; no word has a "#".
    tokens = [
        [*own, *(f"#{number}" for number, count in enumerate(counts) for _ in range(count))]
        for own, counts in zip(words, mentions, strict=True)
    ]
    scores = _bm25(tokens, [*(f"#{number}" for number in range(len(symbols))), *CONTEXT_WORDS])
    ranked = [
        RankedText(position, score, len(symbols) > 1 and all(counts))
        for position, (score, counts) in enumerate(zip(scores, mentions, strict=True))
        if any(counts)
    ]
    return sorted(ranked, key=lambda text: (not text.names_all, -text.score, text.position))


def _bm25(texts: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
    """The BM25 score of each text.

    The inverse document frequency of the "lucene" variant is never below 0, so that a gene that all texts name still counts.
    """
    known = {token for text in texts for token in text}
    terms = [token for token in query if token in known]
    if not terms:
        return [0.0] * len(texts)
    import bm25s  # type: ignore[import-untyped]

    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index([list(text) for text in texts], show_progress=False)
    return [float(score) for score in index.get_scores(terms)]
