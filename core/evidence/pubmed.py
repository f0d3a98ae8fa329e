"""PubMed: abstracts by what their title or text says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element, ParseError

from core.evidence.source_client import Batch, SourceClient
from core.evidence.sources import Request, Site, SourceSettings
from core.net.response_cache import CachedResponse

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FOUND = 8  # abstracts a query
MOST = 200  # abstracts a request
_TOOL = "perturbdesk"
_YEAR = re.compile(r"\b(1[89]|20)\d\d\b")


class Article(NamedTuple):
    """An article; parts: of its abstract, in order, none where it has no abstract. year: None where PubMed tells none."""

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


@cache
def _searches() -> TypeAdapter[_Search]:
    from pydantic import TypeAdapter

    return TypeAdapter(_Search)


def _asker(net: SourceSettings) -> Mapping[str, str]:
    who = {"tool": _TOOL, "email": net.contact, "api_key": net.api_key}
    return {name: value for name, value in who.items() if value}


SITE = Site("pubmed", "PubMed", per_s=3.0, per_s_with_key=10.0, about_asker=_asker)


async def articles(web: SourceClient, queries: Sequence[str]) -> tuple[list[Article], list[CachedResponse]]:
    """The articles that fit the queries best, up to eight a query, each once, in order; and the answers they are from.

    Raises SourceError.
    """
    searches = await web.many(SEARCH, queries)
    pmids = list(dict.fromkeys(pmid for kept in searches.values() for pmid in json.loads(kept.body or "[]")))
    texts = await web.many(ARTICLE, pmids)
    found = [_article(kept.body) for kept in texts.values() if kept.body]
    return found, [*searches.values(), *texts.values()]


def _article(text: str) -> Article:
    pmid, year, title, parts = json.loads(text)
    return Article(pmid, year, title, tuple(parts))


# Sent in the body: an address with the key in it would end up in logs, on either side.
def _search(query: str) -> Request:
    params = {"db": "pubmed", "term": query, "retmax": str(FOUND), "retmode": "json", "sort": "relevance"}
    return Request("POST", "esearch.fcgi", params)


def _fetch(pmids: Sequence[str]) -> Request:
    return Request("POST", "efetch.fcgi", {"db": "pubmed", "id": ",".join(pmids), "retmode": "xml", "rettype": "abstract"})


async def _find(web: SourceClient, queries: Sequence[str]) -> dict[str, str | None]:
    """The PMIDs of each query's articles. A query with a word that PubMed does not know finds nothing, not the rest of it."""
    found: dict[str, str | None] = {}
    for query in queries:
        pmids = await web.ask(SITE, _search(query), _pmids)
        found[query] = None if pmids is None else json.dumps(pmids)
    return found


def _pmids(text: str) -> list[str]:
    result = _searches().validate_json(text).esearchresult
    if not all(pmid.isascii() and pmid.isdecimal() for pmid in result.idlist):
        raise ValueError("no PMIDs")
    unknown = result.errorlist.phrasesnotfound or result.errorlist.fieldsnotfound
    return [] if unknown else result.idlist[:FOUND]


async def _texts(web: SourceClient, pmids: Sequence[str]) -> dict[str, str | None]:
    found = await web.ask(SITE, _fetch(pmids), read_articles) or []
    return {article.pmid: json.dumps(article) for article in found}


def read_articles(text: str) -> list[Article]:
    """The articles of an efetch answer. Raises ValueError for anything else, also for XML that refers to other files."""
    from defusedxml.ElementTree import fromstring

    try:
        root = fromstring(text.encode(), forbid_dtd=False)
    except ParseError as error:
        raise ValueError("no XML") from error
    if root.tag != "PubmedArticleSet":
        raise ValueError("no set of articles")
    return [_of_element(one) for one in root.iterfind("PubmedArticle")]


def _of_element(one: Element) -> Article:
    pmid = one.findtext("MedlineCitation/PMID")
    if not pmid:
        raise ValueError("an article without a PMID")
    dated = " ".join(part.text or "" for part in one.iterfind("MedlineCitation/Article/Journal/JournalIssue/PubDate/*"))
    year = _YEAR.search(dated)
    title = one.find("MedlineCitation/Article/ArticleTitle")
    parts = one.iterfind("MedlineCitation/Article/Abstract/AbstractText")
    said = tuple(text for part in parts if (text := _text(part)))
    return Article(pmid, int(year.group()) if year else None, "" if title is None else _text(title), said)


def _text(element: Element) -> str:
    """All text inside, also that in italics and superscripts, on one line."""
    return " ".join("".join(element.itertext()).split())


SEARCH = Batch(SITE, _search, _find)
ARTICLE = Batch(SITE, lambda pmid: _fetch([pmid]), _texts, MOST)
