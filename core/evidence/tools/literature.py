"""literature: what abstracts say about a perturbation and a gene."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, TypedDict

from core.evidence.passages import names_all, rank_texts, split_sentences
from core.evidence.pubmed import SITE, Article, fetch_articles
from core.evidence.source_client import describe_source
from core.evidence.sources import check_symbol
from core.evidence.tool import Answer, Query, Tool

MAX_ABSTRACTS = 4  # in keyword mode
MAX_SENTENCES = 5  # in passage mode
_CELLS = "macrophage*[Title/Abstract]"


class Passage(TypedDict):
    """A sentence or a whole abstract. co_mention: whether it names both genes."""

    pmid: str
    year: int | None
    title: str
    text: str
    co_mention: bool


class Passages(TypedDict):
    """The passages, those that name both genes first. mode: "keyword" for whole abstracts, "passage" for sentences."""

    mode: Literal["keyword", "passage"]
    passages: list[Passage]


async def _ask(query: Query) -> Answer:
    client = query.client
    if client is None:
        return Answer("offline", "PubMed: this run asks no public source", {})
    symbols = list(dict.fromkeys(check_symbol(SITE, symbol) for symbol in (query.pert, query.gene) if symbol))
    by_keyword = client.literature == "keyword"
    queries = _queries(symbols)[: 1 if by_keyword else None]
    articles, responses = await fetch_articles(client, queries)
    passages = await asyncio.to_thread(_best_abstracts if by_keyword else _best_sentences, articles, symbols)
    source, retrieved_at = describe_source(SITE, *responses), min(response.retrieved_at for response in responses)
    if not passages:
        return Answer("empty", source, {}, retrieved_at)
    return Answer("ok", source, Passages(mode=client.literature, passages=passages), retrieved_at)


def _queries(symbols: Sequence[str]) -> list[str]:
    """The queries: all symbols together, then each in macrophages; for a single symbol in macrophages, then anywhere."""
    terms = [f'"{symbol}"[Title/Abstract]' for symbol in symbols]
    in_cells = [f"{term} AND {_CELLS}" for term in terms]
    return [" AND ".join(terms), *in_cells] if len(terms) > 1 else [*in_cells, *terms]


def _best_abstracts(articles: Sequence[Article], symbols: Sequence[str]) -> list[Passage]:
    """The best articles that name a symbol; those with a sentence that names both come first."""
    ranked = rank_texts([" ".join((article.title, *article.parts)) for article in articles], symbols)
    passages = [
        _passage(article, " ".join(article.parts), any(names_all(line, symbols) for line in _lines(article)))
        for article in (articles[text.position] for text in ranked)
    ]
    return sorted(passages, key=lambda passage: not passage["co_mention"])[:MAX_ABSTRACTS]


def _best_sentences(articles: Sequence[Article], symbols: Sequence[str]) -> list[Passage]:
    """The best sentences that name a symbol; those that name both come first."""
    lines = [(article, line) for article in articles for line in _lines(article)]
    best = rank_texts([line for _, line in lines], symbols)[:MAX_SENTENCES]
    return [_passage(*lines[text.position], text.names_all) for text in best]


def _lines(article: Article) -> list[str]:
    """The title and every sentence of the abstract."""
    return [article.title, *(line for part in article.parts for line in split_sentences(part))]


def _passage(article: Article, text: str, co_mention: bool) -> Passage:
    return Passage(pmid=article.pmid, year=article.year, title=article.title, text=text, co_mention=co_mention)


TOOL = Tool(
    "literature",
    "What PubMed abstracts say of a perturbation and a gene.",
    ("pert", "gene"),
    _ask,
    takes_both=True,
    as_pair=True,
)
