"""What abstracts say of symbols: their sentences, which symbols those name, and which matter most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

K1, B = 1.5, 0.75
CONTEXT = ("macrophage", "macrophages", "expression", "knockout", "deficient", "induced")  # what the task is about
_END = re.compile(r"""[.!?][)\]"'”’]*\s+(?=\S)""")
_BEGINS = re.compile(r"""["'“‘(\[]*([A-Z0-9]|[a-z]{1,2}-?[A-Z]|[a-z]+\d)""")  # also mRNA, c-Myc, p65
_ABBREVIATIONS = "e.g. i.e. vs. al. fig. figs. approx. no. nos. ca. cf. resp. sp. spp. dr. st. ref. refs. eq. incl. min. max."
_ABBREVIATED = frozenset(_ABBREVIATIONS.split(" "))
_INITIAL = re.compile(r"\(?[A-Z]\.")  # of a genus: E. coli
_WORD = re.compile(r"[a-z0-9]+")


class Ranked(NamedTuple):
    """A text, by its place among those given; together: it names all of the symbols, of two or more."""

    place: int
    score: float
    together: bool


def sentences(text: str) -> Iterator[str]:
    """The sentences of an abstract. A full stop inside a number, an abbreviation or a gene's name ends none."""
    start = 0
    for end in _END.finditer(text):
        last = text[start : end.end()].split()[-1]
        short = last.lstrip("([").casefold() in _ABBREVIATED or _INITIAL.fullmatch(last)
        if not short and _BEGINS.match(text, end.end()):
            yield text[start : end.end()].strip()
            start = end.end()
    if rest := text[start:].strip():
        yield rest


def sentences_naming(symbol: str) -> re.Pattern[str]:
    """Finds a symbol as a word of its own, in whatever case: Stat1-deficient names Stat1, Nkx2-1 does not name Nkx2."""
    return re.compile(rf"(?<![a-z0-9])(?<![a-z0-9]\d-){re.escape(symbol)}(?![a-z0-9]|-\d)", re.IGNORECASE)


def names_all(text: str, symbols: Sequence[str]) -> bool:
    """Whether a text names every one of two or more symbols."""
    return len(symbols) > 1 and all(sentences_naming(symbol).search(text) for symbol in symbols)


def rank(texts: Sequence[str], symbols: Sequence[str]) -> list[Ranked]:
    """Texts that name a symbol: those that name all of them first, then by BM25 among all texts, else in their order."""
    patterns = [sentences_naming(symbol) for symbol in symbols]
    named = [[len(pattern.findall(text)) for pattern in patterns] for text in texts]
    words = [_WORD.findall(text.casefold()) for text in texts]
    # A symbol counts as `naming` finds it, whatever words it is made of; "#" is in no word.
    tokens = [
        [*found, *(f"#{place}" for place, count in enumerate(counts) for _ in range(count))]
        for found, counts in zip(words, named, strict=True)
    ]
    scores = _bm25(tokens, [*(f"#{place}" for place in range(len(symbols))), *CONTEXT])
    ranked = [
        Ranked(place, score, len(symbols) > 1 and all(counts))
        for place, (score, counts) in enumerate(zip(scores, named, strict=True))
        if any(counts)
    ]
    return sorted(ranked, key=lambda one: (not one.together, -one.score, one.place))


def _bm25(texts: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
    """The score of each text. The library's inverse document frequency never falls below 0, so that in a few texts which
    all name a gene the gene still counts for something."""
    known = Counter(token for text in texts for token in text)
    asked = [token for token in query if token in known]
    if not asked:
        return [0.0] * len(texts)
    import bm25s  # type: ignore[import-untyped]

    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index([list(text) for text in texts], show_progress=False)
    return [float(score) for score in index.get_scores(asked)]
