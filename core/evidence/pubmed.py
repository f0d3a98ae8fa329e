"""PubMed: abstracts, found by words of their title or text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError

from core.base.net.response_cache import CachedResponse
from core.evidence.source_client import Batch, SourceClient
from core.evidence.sources import Site, SourceRequest, SourceSettings, parse_json

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
