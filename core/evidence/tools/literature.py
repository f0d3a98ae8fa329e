"""literature: what abstracts say about a perturbation and a gene. Sentences are ranked by the
symbols that they name."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError

from core.base.net.response_cache import CachedResponse
from core.base.types import JsonObject
from core.evidence.source_client import Batch, SourceClient, describe_source
from core.evidence.sources import Site, SourceRequest, SourceSettings, check_symbol, parse_json
from core.evidence.tool import Answer, Query, Tool

K1, B = 1.5, 0.75
# the task's subject
CONTEXT_WORDS = ("macrophage", "macrophages", "expression", "knockout", "deficient", "induced")
_END = re.compile(r"""[.!?][)\]"'”’]*\s+(?=\S)""")
# also mRNA, c-Myc, p65
_BEGINS = re.compile(r"""["'“‘(\[]*([A-Z0-9]|[a-z]{1,2}-?[A-Z]|[a-z]+\d)""")
_ABBREVIATIONS = (
    "e.g. i.e. vs. al. fig. figs. approx. no. nos. ca. cf. resp. sp. spp. dr. st. ref. refs. eq."
    " incl. min. max."
)
_ABBREVIATED = frozenset(_ABBREVIATIONS.split(" "))
_INITIAL = re.compile(r"\(?[A-Z]\.")  # of a genus: E. coli
_WORD = re.compile(r"[a-z0-9]+")


class RankedText(NamedTuple):
    """The position of a text among those given, and its BM25 score. names_all: whether it names all
    of two or more symbols."""

    position: int
    score: float
    names_all: bool


MAX_ABSTRACTS = 4  # in keyword mode
MAX_SENTENCES = 5  # in passage mode
_CELLS = "macrophage*[Title/Abstract]"


async def _ask(query: Query) -> Answer:
    client = query.client
    if client is None:
        return Answer("offline", "PubMed: this run asks no public source", {})
    symbols = list(
        dict.fromkeys(check_symbol(SITE, symbol) for symbol in (query.pert, query.gene) if symbol)
    )
    by_keyword = client.literature == "keyword"
    # The queries: all symbols together, then each in macrophages; for a single symbol in
    # macrophages, then anywhere
    terms = [f'"{symbol}"[Title/Abstract]' for symbol in symbols]
    in_cells = [f"{term} AND {_CELLS}" for term in terms]
    queries = ([" AND ".join(terms), *in_cells] if len(terms) > 1 else [*in_cells, *terms])[
        : 1 if by_keyword else None
    ]
    articles, responses = await fetch_articles(client, queries)
    passages = await asyncio.to_thread(
        _best_abstracts if by_keyword else _best_sentences, articles, symbols
    )
    source, retrieved_at = (
        describe_source(SITE, *responses),
        min(response.retrieved_at for response in responses),
    )
    if not passages:
        return Answer("empty", source, {}, retrieved_at)
    return Answer("ok", source, {"mode": client.literature, "passages": passages}, retrieved_at)


def _best_abstracts(articles: Sequence[Article], symbols: Sequence[str]) -> list[JsonObject]:
    """Return the best articles that name a symbol; those with a sentence that names both come
    first."""
    ranked = rank_texts(
        [" ".join((article.title, *article.parts)) for article in articles], symbols
    )
    passages = [
        _passage(
            article,
            " ".join(article.parts),
            any(names_all(line, symbols) for line in _lines(article)),
        )
        for article in (articles[text.position] for text in ranked)
    ]
    return sorted(passages, key=lambda passage: not passage["co_mention"])[:MAX_ABSTRACTS]


def _best_sentences(articles: Sequence[Article], symbols: Sequence[str]) -> list[JsonObject]:
    """Return the best sentences that name a symbol; those that name both come first."""
    lines = [(article, line) for article in articles for line in _lines(article)]
    best = rank_texts([line for _, line in lines], symbols)[:MAX_SENTENCES]
    return [_passage(*lines[text.position], text.names_all) for text in best]


def _lines(article: Article) -> list[str]:
    """Return the title and every sentence of the abstract."""
    return [article.title, *(line for part in article.parts for line in split_sentences(part))]


def _passage(article: Article, text: str, co_mention: bool) -> JsonObject:
    """Return a sentence or a whole abstract. co_mention: whether it names both genes."""
    return {
        "pmid": article.pmid,
        "year": article.year,
        "title": article.title,
        "text": text,
        "co_mention": co_mention,
    }


TOOL = Tool(
    "literature",
    "What PubMed abstracts say of a perturbation and a gene.",
    ("pert", "gene"),
    _ask,
    takes_both=True,
    as_pair=True,
)


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of an abstract. Full stops inside numbers, abbreviations and gene names
    do not end a sentence."""
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
    """Return a pattern that finds a symbol as a whole word in any case: Stat1-deficient names
    Stat1, but Nkx2-1 does not name Nkx2.
    """
    return re.compile(
        rf"(?<![a-z0-9])(?<![a-z0-9]\d-){re.escape(symbol)}(?![a-z0-9]|-\d)", re.IGNORECASE
    )


def names_all(text: str, symbols: Sequence[str]) -> bool:
    """Return whether a text names every one of two or more symbols."""
    return len(symbols) > 1 and all(symbol_pattern(symbol).search(text) for symbol in symbols)


def rank_texts(texts: Sequence[str], symbols: Sequence[str]) -> list[RankedText]:
    """Return the texts that name a symbol: those that name all symbols first, then by BM25 score,
    ties in the given order."""
    patterns = [symbol_pattern(symbol) for symbol in symbols]
    mentions = [[len(pattern.findall(text)) for pattern in patterns] for text in texts]
    words = [_WORD.findall(text.casefold()) for text in texts]
    # A symbol is one token "#0", "#1", … per mention, whatever words it is made of; no word has a
    # "#".
    tokens = [
        [*own, *(f"#{number}" for number, count in enumerate(counts) for _ in range(count))]
        for own, counts in zip(words, mentions, strict=True)
    ]
    # The inverse document frequency of the "lucene" variant is never below 0, so that a gene in all
    # texts still counts.
    query = [*(f"#{number}" for number in range(len(symbols))), *CONTEXT_WORDS]
    known = {token for text in tokens for token in text}
    terms = [token for token in query if token in known]
    if not terms:
        scores = [0.0] * len(tokens)
    else:
        import bm25s  # type: ignore[import-untyped]

        index = bm25s.BM25(k1=K1, b=B, method="lucene")
        index.index([list(text) for text in tokens], show_progress=False)
        scores = [float(score) for score in index.get_scores(terms)]
    ranked = [
        RankedText(position, score, len(symbols) > 1 and all(counts))
        for position, (score, counts) in enumerate(zip(scores, mentions, strict=True))
        if any(counts)
    ]
    return sorted(ranked, key=lambda text: (not text.names_all, -text.score, text.position))


MAX_FOUND = 8  # articles of one query
MAX_FETCHED = 200  # articles in one request
_TOOL = "perturbdesk"
_YEAR = re.compile(r"\b(1[89]|20)\d\d\b")


class Article(NamedTuple):
    """An article. parts: the paragraphs of its abstract, none if it has no abstract. year: None if
    PubMed gives none."""

    pmid: str
    year: int | None
    title: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class _Errors:
    phrasesnotfound: list[str] = field(default_factory=list)
    fieldsnotfound: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Result:
    idlist: list[str]
    errorlist: _Errors = field(default_factory=_Errors)


@dataclass(frozen=True)
class _Search:
    esearchresult: _Result


def _identify(settings: SourceSettings) -> Mapping[str, str]:
    params = {"tool": _TOOL, "email": settings.contact, "api_key": settings.api_key}
    return {name: value for name, value in params.items() if value}


SITE = Site("pubmed", "PubMed", per_s=3.0, per_s_with_key=10.0, identify=_identify)


async def fetch_articles(
    client: SourceClient, queries: Sequence[str]
) -> tuple[list[Article], list[CachedResponse]]:
    """Return the articles that match the queries best, up to eight a query, each once, best first;
    and the responses.

    Raise SourceError.
    """
    searches = await client.fetch_many(SEARCH, queries)
    pmids = list(
        dict.fromkeys(
            pmid for response in searches.values() for pmid in json.loads(response.body or "[]")
        )
    )
    texts = await client.fetch_many(ARTICLE, pmids)
    articles = [_article_from_json(response.body) for response in texts.values() if response.body]
    return articles, [*searches.values(), *texts.values()]


def _article_from_json(text: str) -> Article:
    pmid, year, title, parts = json.loads(text)
    return Article(pmid, year, title, tuple(parts))


# Sent in the body: an address with the key in it would end up in logs, on either side.
def _search_request(query: str) -> SourceRequest:
    params = {
        "db": "pubmed",
        "term": query,
        "retmax": str(MAX_FOUND),
        "retmode": "json",
        "sort": "relevance",
    }
    return SourceRequest("POST", "esearch.fcgi", params)


def _articles_request(pmids: Sequence[str]) -> SourceRequest:
    params = {"db": "pubmed", "id": ",".join(pmids), "retmode": "xml", "rettype": "abstract"}
    return SourceRequest("POST", "efetch.fcgi", params)


async def _search(client: SourceClient, queries: Sequence[str]) -> dict[str, str | None]:
    """Return the PMIDs of each query's articles, as JSON by query."""
    results: dict[str, str | None] = {}
    for query in queries:
        pmids = await client.send(SITE, _search_request(query), _read_pmids)
        results[query] = None if pmids is None else json.dumps(pmids)
    return results


def _read_pmids(text: str) -> list[str]:
    """Return the PMIDs of a search; none if PubMed does not know a word, since it then searches for
    the other words alone."""
    result = parse_json(_Search, text).esearchresult
    if not all(pmid.isascii() and pmid.isdecimal() for pmid in result.idlist):
        raise ValueError("no PMIDs")
    unknown = result.errorlist.phrasesnotfound or result.errorlist.fieldsnotfound
    return [] if unknown else result.idlist[:MAX_FOUND]


async def _fetch(client: SourceClient, pmids: Sequence[str]) -> dict[str, str | None]:
    articles = await client.send(SITE, _articles_request(pmids), read_articles) or []
    return {article.pmid: json.dumps(article) for article in articles}


def read_articles(text: str) -> list[Article]:
    """Return the articles of an efetch answer. Raise ValueError if it is anything else, or refers
    to other files."""
    from defusedxml.ElementTree import fromstring

    try:
        root = fromstring(text.encode(), forbid_dtd=False)
    except ParseError as error:
        raise ValueError("no XML") from error
    if root.tag != "PubmedArticleSet":
        raise ValueError("no set of articles")
    return [_read_article(element) for element in root.iterfind("PubmedArticle")]


def _read_article(element: Element) -> Article:
    pmid = element.findtext("MedlineCitation/PMID")
    if not pmid:
        raise ValueError("an article without a PMID")
    date = " ".join(
        part.text or ""
        for part in element.iterfind("MedlineCitation/Article/Journal/JournalIssue/PubDate/*")
    )
    year = _YEAR.search(date)
    title = element.find("MedlineCitation/Article/ArticleTitle")
    paragraphs = element.iterfind("MedlineCitation/Article/Abstract/AbstractText")
    parts = tuple(text for paragraph in paragraphs if (text := _text(paragraph)))
    return Article(
        pmid, int(year.group()) if year else None, "" if title is None else _text(title), parts
    )


def _text(element: Element) -> str:
    """Return all text inside an element, including italics and superscripts, on one line."""
    return " ".join("".join(element.itertext()).split())


SEARCH = Batch(SITE, _search_request, _search)
ARTICLE = Batch(SITE, lambda pmid: _articles_request([pmid]), _fetch, MAX_FETCHED)
