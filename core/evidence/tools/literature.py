"""literature: what abstracts say of a perturbation and a gene."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, TypedDict

from core.evidence.passages import names_all, rank, sentences
from core.evidence.pubmed import SITE, Article, articles
from core.evidence.source_client import source_of
from core.evidence.sources import askable
from core.evidence.tool import Answer, Query, Tool

ABSTRACTS = 4  # of keyword mode
SENTENCES = 5  # of passage mode
_CELLS = "macrophage*[Title/Abstract]"


class Passage(TypedDict):
    """A sentence, or a whole abstract after its title; co_mention: it names both genes."""

    pmid: str
    year: int | None
    title: str
    text: str
    co_mention: bool


class Passages(TypedDict):
    """What was found, those that name both genes first; mode: whole abstracts, or sentences."""

    mode: Literal["keyword", "passage"]
    passages: list[Passage]


async def _ask(query: Query) -> Answer:
    web = query.web
    if web is None:
        return Answer("offline", "PubMed: this run asks no public source", {})
    symbols = list(dict.fromkeys(askable(SITE, symbol) for symbol in (query.pert, query.gene) if symbol))
    by_keyword = web.literature == "keyword"
    queries = _queries(symbols)[: 1 if by_keyword else None]
    found, kept = await articles(web, queries)
    passages = await asyncio.to_thread(_abstracts if by_keyword else _sentences, found, symbols)
    source, at = source_of(SITE, *kept), min(one.retrieved_at for one in kept)
    if not passages:
        return Answer("empty", source, {}, at)
    return Answer("ok", source, Passages(mode=web.literature, passages=passages), at)


def _queries(symbols: Sequence[str]) -> list[str]:
    """All symbols together, then each by itself in macrophages; a single one in macrophages, then anywhere."""
    named = [f'"{symbol}"[Title/Abstract]' for symbol in symbols]
    in_cells = [f"{one} AND {_CELLS}" for one in named]
    return [" AND ".join(named), *in_cells] if len(named) > 1 else [*in_cells, *named]


def _abstracts(found: Sequence[Article], symbols: Sequence[str]) -> list[Passage]:
    """The articles that name a symbol; one with a sentence that names both goes before one that names them apart."""
    ranked = rank([" ".join((article.title, *article.parts)) for article in found], symbols)
    passages = [
        _passage(article, " ".join(article.parts), any(names_all(line, symbols) for line in _lines(article)))
        for article in (found[one.place] for one in ranked)
    ]
    return sorted(passages, key=lambda passage: not passage["co_mention"])[:ABSTRACTS]


def _sentences(found: Sequence[Article], symbols: Sequence[str]) -> list[Passage]:
    lines = [(article, line) for article in found for line in _lines(article)]
    best = rank([line for _, line in lines], symbols)[:SENTENCES]
    return [_passage(*lines[one.place], one.together) for one in best]


def _lines(article: Article) -> list[str]:
    """The title and every sentence of the abstract."""
    return [article.title, *(line for part in article.parts for line in sentences(part))]


def _passage(article: Article, text: str, together: bool) -> Passage:
    return Passage(pmid=article.pmid, year=article.year, title=article.title, text=text, co_mention=together)


TOOL = Tool(
    "literature",
    "What PubMed abstracts say of a perturbation and a gene.",
    ("pert", "gene"),
    _ask,
    together=True,
    as_pair=True,
)
