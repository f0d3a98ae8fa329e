"""A server that stands in for mygene.info, STRING and PubMed, so that tests ask nobody.

It listens on this machine alone, knows a small invented world, notes when each request came, and fails when it is told to.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit
from xml.sax.saxutils import escape

from core.evidence.packs import Partner
from core.evidence.pubmed import Article
from core.evidence.sources import SiteName, SourceSettings
from core.net import testing
from core.net.testing import ReceivedRequest, ServerResponse, json_response

Fault = Literal[
    "none", "busy", "unavailable", "error", "hang", "dropped", "garbage", "shape", "half", "missing", "refused", "moved"
]
MYGENE_VERSION, STRING_VERSION = "20260101", "12.0"
_TERM = re.compile(r'"?([^"\[]+?)"?\[Title/Abstract\]')


class RecordedRequest(NamedTuple):
    """A request: to which source, for what, with which parameters, and when it was here on the clock that only runs forward."""

    source: SiteName
    path: str
    params: Mapping[str, str]
    user_agent: str
    at: float


@dataclass(frozen=True)
class FakeData:
    """What the sources know. aliases: another name → symbol. partners: by symbol, the highest score first."""

    genes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    partners: Mapping[str, Sequence[Partner]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    articles: Sequence[Article] = ()


def fake_data(symbols: Iterable[str], articles: Sequence[Article] = (), aliases: Mapping[str, str] | None = None) -> FakeData:
    """A world in which every symbol has a name, a summary, ten processes, six pathways, and all others for partners."""
    listed = list(dict.fromkeys(symbols))
    genes = {
        symbol: {
            "symbol": symbol,
            "name": f"{symbol} as invented",
            "summary": f"{symbol} stands here for a gene.",
            "go": {"BP": [{"term": f"process {number} of {symbol}"} for number in range(9, -1, -1)]},
            "pathway": {"kegg": [{"name": f"pathway {number} - Mus musculus (house mouse)"} for number in range(6)]},
        }
        for symbol in listed
    }
    partners = {
        symbol: [Partner(other, 999 - place) for place, other in enumerate(other for other in listed if other != symbol)]
        for symbol in listed
    }
    return FakeData(genes, partners, aliases or {}, articles)


class FakeServer:
    """The three sources at one address.

    came: every request so far, in order. retry_after: what busy and unavailable say. Faults are for the next requests to a
    source, one each; then it answers again.
    """

    def __init__(self, world: FakeData, retry_after: str = "0.2") -> None:
        self.world, self.retry_after = world, retry_after
        self.address = ""
        self.came: list[RecordedRequest] = []
        self._faults: dict[SiteName, deque[Fault]] = defaultdict(deque)

    def net(self, **settings: Any) -> SourceSettings:
        """Addresses of the three sources here, and other settings of the client."""
        return SourceSettings(
            mygene=f"{self.address}/mygene", string=f"{self.address}/string", pubmed=f"{self.address}/pubmed", **settings
        )

    def fail(self, source: SiteName, *faults: Fault) -> None:
        """Fail the next requests to a source, one after the other."""
        self._faults[source].extend(faults)

    def times(self, source: SiteName) -> list[float]:
        """When each request to a source came."""
        return sorted(one.at for one in self.came if one.source == source)

    async def answer(self, asked: ReceivedRequest, reader: asyncio.StreamReader) -> ServerResponse | None:
        """What goes out; None ends the connection without an answer."""
        target = urlsplit(asked.path)
        name, _, path = target.path.lstrip("/").partition("/")
        sources: dict[str, SiteName] = {"mygene": "mygene", "string": "string", "pubmed": "pubmed"}
        if name not in sources:
            return json_response(404, {})
        params = dict(parse_qsl(target.query)) | dict(parse_qsl(asked.body.decode()))
        self.came.append(RecordedRequest(sources[name], path, params, asked.headers.get("user-agent", ""), asked.at))
        faults = self._faults[sources[name]]
        good = _ANSWERS[path](self.world, params) if path in _ANSWERS else json_response(404, {})
        return await self._failed(faults.popleft(), good, params, reader) if faults else good

    async def _failed(
        self, fault: Fault, good: ServerResponse, params: Mapping[str, str], reader: asyncio.StreamReader
    ) -> ServerResponse | None:
        if fault == "hang":
            await reader.read()  # until the client leaves
        if fault in ("hang", "dropped"):
            return None
        later = ("Retry-After", self.retry_after)
        failures = {
            "none": good,
            "busy": json_response(429, {"error": "API rate limit exceeded"}, later),
            "unavailable": json_response(503, {}, later),
            "error": ServerResponse(500, b"<html>Internal error</html>", (("Content-Type", "text/html"),)),
            "garbage": ServerResponse(200, b"<html>All is well? \xff</html>", (("Content-Type", "text/html"),)),
            "shape": json_response(200, {"error": "Search Backend failed"}),
            "half": ServerResponse(200, good.content[: len(good.content) // 2]),
            "missing": json_response(404, {"Error": "not found"}),
            "refused": json_response(400, {"error": "API key invalid", **params}),  # NCBI repeats the key
            "moved": ServerResponse(302, b"", (("Location", "http://127.0.0.2:9/elsewhere"),)),
        }
        return failures[fault]


@contextmanager
def serving(world: FakeData, retry_after: str = "0.2") -> Iterator[FakeServer]:
    """A server in a thread of its own, which is gone when the block ends."""
    mimic = FakeServer(world, retry_after)
    with testing.serve_in_thread(mimic.answer, "mimic") as mimic.address:
        yield mimic


def _genes(world: FakeData, params: Mapping[str, str]) -> ServerResponse:
    by_case = _by_case(world.genes)
    hits: list[dict[str, Any]] = []
    for asked in params["q"].split(","):
        spelled = by_case.get(asked.casefold(), [])
        hits += [{"query": asked, "_id": symbol, **world.genes[symbol]} for symbol in spelled]
        if not spelled:
            hits.append({"query": asked, "notfound": True})
    return json_response(200, hits)


def _ids(world: FakeData, params: Mapping[str, str]) -> ServerResponse:
    """Proteins of a name or of an alias, as STRING finds them."""
    by_case = _by_case(world.partners)
    found = {
        asked: [*([world.aliases[asked]] if asked in world.aliases else []), *by_case.get(asked.casefold(), [])]
        for asked in params["identifiers"].split("\r")
    }
    return json_response(
        200,
        [
            {"queryItem": asked, "stringId": _id(symbol), "preferredName": symbol, "annotation": "invented"}
            for asked, symbols in found.items()
            for symbol in symbols
        ],
    )


def _interactions(world: FakeData, params: Mapping[str, str]) -> ServerResponse:
    by_id = {_id(symbol): symbol for symbol in world.partners}
    asked = [by_id[key] for key in params["identifiers"].split("\r") if key in by_id]
    found = [
        {"stringId_A": _id(symbol), "preferredName_A": symbol, "preferredName_B": partner.symbol, "score": partner.score / 1000}
        for symbol in asked
        for partner in world.partners[symbol][: int(params["limit"])]
    ]
    return json_response(200, found) if asked else json_response(404, {"Error": "not found"})


def _search(world: FakeData, params: Mapping[str, str]) -> ServerResponse:
    """Articles that hold every word; a word that none holds is left out, and said, as PubMed does."""
    terms = [_TERM.fullmatch(term) for term in params["term"].split(" AND ")]
    words = [term.group(1) for term in terms if term]
    matching = {word: {one.pmid for one in world.articles if _holds(one, word)} for word in words}
    known = [found for found in matching.values() if found]
    ids = [one.pmid for one in world.articles if known and all(one.pmid in found for found in known)][: int(params["retmax"])]
    unknown = [word for word, found in matching.items() if not found]
    result: dict[str, Any] = {"count": str(len(ids)), "idlist": ids}
    return json_response(200, {"esearchresult": result | ({"errorlist": {"phrasesnotfound": unknown}} if unknown else {})})


def _articles(world: FakeData, params: Mapping[str, str]) -> ServerResponse:
    asked = params["id"].split(",")
    said = "".join(_as_xml(one) for one in world.articles if one.pmid in asked)
    head = (
        '<?xml version="1.0" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.example/p.dtd">\n'
    )
    content = f"{head}<PubmedArticleSet>{said}</PubmedArticleSet>".encode()
    return ServerResponse(200, content, (("Content-Type", "text/xml; charset=UTF-8"),))


def _as_xml(article: Article) -> str:
    year = f"<PubDate><Year>{article.year}</Year></PubDate>" if article.year else "<PubDate/>"
    parts = "".join(f'<AbstractText Label="PART">{escape(part)}</AbstractText>' for part in article.parts)
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{article.pmid}</PMID><Article><Journal><JournalIssue>{year}</JournalIssue>"
        f"</Journal><ArticleTitle>{escape(article.title)}</ArticleTitle>"
        f"{f'<Abstract>{parts}</Abstract>' if parts else ''}</Article></MedlineCitation></PubmedArticle>"
    )


def _holds(article: Article, word: str) -> bool:
    end = r"\w*" if word.endswith("*") else r"(?!\w)"
    pattern = rf"(?<!\w){re.escape(word.rstrip('*'))}{end}"
    return re.search(pattern, " ".join((article.title, *article.parts)), re.IGNORECASE) is not None


def _by_case(symbols: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for symbol in symbols:
        found[symbol.casefold()].append(symbol)
    return found


def _id(symbol: str) -> str:
    return f"10090.{symbol.encode().hex()}"


_ANSWERS: Mapping[str, Callable[[FakeData, Mapping[str, str]], ServerResponse]] = {
    "metadata": lambda _world, _params: json_response(200, {"build_version": MYGENE_VERSION}),
    "query": _genes,
    "json/version": lambda _world, _params: json_response(200, [{"string_version": STRING_VERSION}]),
    "json/get_string_ids": _ids,
    "json/interaction_partners": _interactions,
    "esearch.fcgi": _search,
    "efetch.fcgi": _articles,
}
