"""A fake of mygene.info, STRING and PubMed, so that tests need no network.

It listens on this machine only, answers from made-up data, records every request with its time, and fails on demand.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit
from xml.sax.saxutils import escape

from core.evidence.packs import Partner
from core.evidence.sources import SiteName, SourceSettings
from core.evidence.tools.literature import Article
from tests.fakes import http_server as testing
from tests.fakes.http_server import ReceivedRequest, ServerResponse, json_response

FaultName = Literal[
    "none",
    "busy",
    "unavailable",
    "error",
    "hang",
    "dropped",
    "garbage",
    "shape",
    "half",
    "missing",
    "refused",
    "moved",
]
MYGENE_VERSION, STRING_VERSION = "20260101", "12.0"
_TERM = re.compile(r'"?([^"\[]+?)"?\[Title/Abstract\]')


Texts = Mapping[str, str]  # by name


class RecordedRequest(NamedTuple):
    """A request to a source; at: monotonic time of its arrival, in seconds."""

    source: SiteName
    path: str
    params: Texts
    user_agent: str
    at: float


@dataclass(frozen=True)
class FakeData:
    """What the sources know.

    genes: symbol → mygene.info's fields. partners: by symbol, the highest score first. aliases: alias → symbol.
    """

    genes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    partners: Mapping[str, Sequence[Partner]] = field(default_factory=dict)
    aliases: Texts = field(default_factory=dict)
    articles: Sequence[Article] = ()


def fake_data(
    symbols: Iterable[str],
    articles: Sequence[Article] = (),
    aliases: Texts | None = None,
) -> FakeData:
    """Return data in which every symbol has a name, a summary, ten processes, six pathways, and all other symbols as partners."""
    distinct = list(dict.fromkeys(symbols))
    genes = {
        symbol: {
            "symbol": symbol,
            "name": f"{symbol} as invented",
            "summary": f"{symbol} stands here for a gene.",
            "go": {
                "BP": [{"term": f"process {number} of {symbol}"} for number in range(9, -1, -1)]
            },
            "pathway": {
                "kegg": [
                    {"name": f"pathway {number} - Mus musculus (house mouse)"}
                    for number in range(6)
                ]
            },
        }
        for symbol in distinct
    }
    partners = {
        symbol: [
            Partner(other, 999 - rank)
            for rank, other in enumerate(other for other in distinct if other != symbol)
        ]
        for symbol in distinct
    }
    return FakeData(genes, partners, aliases or {}, articles)


class FakeServer:
    """The three sources at one address.

    requests: every request so far, in order. retry_after: the header of the faults busy and unavailable.
    """

    def __init__(self, data: FakeData, retry_after: str = "0.2") -> None:
        self.data, self.retry_after = data, retry_after
        self.address = ""
        self.requests: list[RecordedRequest] = []
        self._faults: dict[SiteName, deque[FaultName]] = defaultdict(deque)

    def settings(self, **settings: Any) -> SourceSettings:
        """Return source settings with the addresses of this server; settings: the other fields."""
        return SourceSettings(
            mygene=f"{self.address}/mygene",
            string=f"{self.address}/string",
            pubmed=f"{self.address}/pubmed",
            **settings,
        )

    def fail(self, source: SiteName, *faults: FaultName) -> None:
        """Let the next requests to a source fail with these faults, one each; later requests are answered."""
        self._faults[source].extend(faults)

    def times(self, source: SiteName) -> list[float]:
        """Return the arrival times of the requests to a source, ascending, as of RecordedRequest."""
        return sorted(request.at for request in self.requests if request.source == source)

    async def answer(
        self, request: ReceivedRequest, reader: asyncio.StreamReader
    ) -> ServerResponse | None:
        """Return the response to a request; None closes the connection without one."""
        target = urlsplit(request.path)
        name, _, path = target.path.lstrip("/").partition("/")
        sources = {"mygene": "mygene", "string": "string", "pubmed": "pubmed"}
        if name not in sources:
            return json_response(404, {})
        params = dict(parse_qsl(target.query)) | dict(parse_qsl(request.body.decode()))
        self.requests.append(
            RecordedRequest(
                sources[name], path, params, request.headers.get("user-agent", ""), request.at
            )
        )
        faults = self._faults[sources[name]]
        good = _ANSWERS[path](self.data, params) if path in _ANSWERS else json_response(404, {})
        return await self._fail_with(faults.popleft(), good, params, reader) if faults else good

    async def _fail_with(
        self,
        fault: FaultName,
        good: ServerResponse,
        params: Texts,
        reader: asyncio.StreamReader,
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
            "error": ServerResponse(
                500, b"<html>Internal error</html>", (("Content-Type", "text/html"),)
            ),
            "garbage": ServerResponse(
                200, b"<html>All is well? \xff</html>", (("Content-Type", "text/html"),)
            ),
            "shape": json_response(200, {"error": "Search Backend failed"}),
            "half": ServerResponse(200, good.content[: len(good.content) // 2]),
            "missing": json_response(404, {"Error": "not found"}),
            "refused": json_response(
                400, {"error": "API key invalid", **params}
            ),  # NCBI repeats the key
            "moved": ServerResponse(302, b"", (("Location", "http://127.0.0.2:9/elsewhere"),)),
        }
        return failures[fault]


@contextmanager
def serve_fake_sources(data: FakeData, retry_after: str = "0.2") -> Iterator[FakeServer]:
    """Run a fake server in a separate thread until the block ends."""
    server = FakeServer(data, retry_after)
    with testing.serve_in_thread(server.answer, "fake sources") as server.address:
        yield server


def _answer_genes(data: FakeData, params: Texts) -> ServerResponse:
    by_case = _by_case(data.genes)
    hits = []
    for query in params["q"].split(","):
        spellings = by_case.get(query.casefold(), [])
        hits += [{"query": query, "_id": symbol, **data.genes[symbol]} for symbol in spellings]
        if not spellings:
            hits.append({"query": query, "notfound": True})
    return json_response(200, hits)


def _answer_ids(data: FakeData, params: Texts) -> ServerResponse:
    """Return the proteins with a name or an alias, as STRING finds them."""
    by_case = _by_case(data.partners)
    hits = {
        name: [
            *([data.aliases[name]] if name in data.aliases else []),
            *by_case.get(name.casefold(), []),
        ]
        for name in params["identifiers"].split("\r")
    }
    return json_response(
        200,
        [
            {
                "queryItem": name,
                "stringId": _id(symbol),
                "preferredName": symbol,
                "annotation": "invented",
            }
            for name, symbols in hits.items()
            for symbol in symbols
        ],
    )


def _answer_interactions(data: FakeData, params: Texts) -> ServerResponse:
    by_id = {_id(symbol): symbol for symbol in data.partners}
    symbols = [by_id[key] for key in params["identifiers"].split("\r") if key in by_id]
    interactions = [
        {
            "stringId_A": _id(symbol),
            "preferredName_A": symbol,
            "preferredName_B": partner.symbol,
            "score": partner.score / 1000,
        }
        for symbol in symbols
        for partner in data.partners[symbol][: int(params["limit"])]
    ]
    return (
        json_response(200, interactions) if symbols else json_response(404, {"Error": "not found"})
    )


def _answer_search(data: FakeData, params: Texts) -> ServerResponse:
    """Return the articles that contain every word; as PubMed does, a word that none contains is ignored and reported."""
    terms = [_TERM.fullmatch(term) for term in params["term"].split(" AND ")]
    words = [term.group(1) for term in terms if term]
    pmids = {
        word: {article.pmid for article in data.articles if _contains(article, word)}
        for word in words
    }
    known = [matches for matches in pmids.values() if matches]
    common = set.intersection(*known) if known else set()
    ids = [article.pmid for article in data.articles if article.pmid in common][
        : int(params["retmax"])
    ]
    unknown = [word for word, matches in pmids.items() if not matches]
    result = {"count": str(len(ids)), "idlist": ids}
    return json_response(
        200,
        {
            "esearchresult": result
            | ({"errorlist": {"phrasesnotfound": unknown}} if unknown else {})
        },
    )


def _answer_articles(data: FakeData, params: Texts) -> ServerResponse:
    pmids = params["id"].split(",")
    articles = "".join(_as_xml(article) for article in data.articles if article.pmid in pmids)
    head = '<?xml version="1.0" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.example/p.dtd">\n'
    content = f"{head}<PubmedArticleSet>{articles}</PubmedArticleSet>".encode()
    return ServerResponse(200, content, (("Content-Type", "text/xml; charset=UTF-8"),))


def _as_xml(article: Article) -> str:
    year = f"<PubDate><Year>{article.year}</Year></PubDate>" if article.year else "<PubDate/>"
    parts = "".join(
        f'<AbstractText Label="PART">{escape(part)}</AbstractText>' for part in article.parts
    )
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{article.pmid}</PMID><Article><Journal><JournalIssue>{year}</JournalIssue>"
        f"</Journal><ArticleTitle>{escape(article.title)}</ArticleTitle>"
        f"{f'<Abstract>{parts}</Abstract>' if parts else ''}</Article></MedlineCitation></PubmedArticle>"
    )


def _contains(article: Article, word: str) -> bool:
    end = r"\w*" if word.endswith("*") else r"(?!\w)"
    pattern = rf"(?<!\w){re.escape(word.rstrip('*'))}{end}"
    return re.search(pattern, " ".join((article.title, *article.parts)), re.IGNORECASE) is not None


def _by_case(symbols: Iterable[str]) -> dict[str, list[str]]:
    spellings = defaultdict(list)
    for symbol in symbols:
        spellings[symbol.casefold()].append(symbol)
    return spellings


def _id(symbol: str) -> str:
    return f"10090.{symbol.encode().hex()}"


_ANSWERS = {
    "metadata": lambda _data, _params: json_response(200, {"build_version": MYGENE_VERSION}),
    "query": _answer_genes,
    "json/version": lambda _data, _params: json_response(200, [{"string_version": STRING_VERSION}]),
    "json/get_string_ids": _answer_ids,
    "json/interaction_partners": _answer_interactions,
    "esearch.fcgi": _answer_search,
    "efetch.fcgi": _answer_articles,
}
