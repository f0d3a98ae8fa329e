"""Made-up data for the fake of the public sources, rows about it, and a client that asks it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from core.base.types import Evidence, Pair
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.evidence.registry import TOOLS
from core.evidence.source_client import Mode, SourceClient
from core.evidence.tools.literature import Article
from tests.fakes.sources import FakeServer, fake_data

T = TypeVar("T")
PLANTED = "Loss of Jak1 silenced Gm12345 within hours (p < 0.05)."
ARTICLES = (
    Article(
        "101",
        2001,
        "Jak1 in macrophages",
        ("Jak1 signals. Jak1 binds receptors of Jak1 ligands in macrophages.",),
    ),
    Article(
        "102",
        2002,
        "Gm12345, a transcript of macrophages",
        ("Gm12345 is expressed.", "Macrophages need it."),
    ),
    Article(
        "103",
        None,
        "A screen",
        ("Jak1 was one hit in macrophages. It was followed up. Gm12345 was another.",),
    ),
    Article(
        "104",
        2004,
        "Long after",
        ("Many things were done in macrophages, e.g. by others. " * 20 + PLANTED + " We end.",),
    ),
    Article("105", 2005, "Jak1 and Gm12345", ()),
)
SYMBOLS = ("Jak1", "Stat1", "Irf1", "Psmd1", "Psmd4", "Gm12345", "Cxcl10", "Il6", "Actb", "Cdkn1a")
WORLD = fake_data(SYMBOLS, ARTICLES, {"Cd118": "Jak1"})
ROW = Pair("Jak1_Gm12345", "Jak1", "Gm12345", None, "test")
LIVE = ("gene_info", "protein_interactions", "pathway_neighbours", "literature")
NOTHING = LabelView(())
QUICK = {"rate_factor": 100.0, "backoff_s": 0.01, "timeout_s": 5.0}


def run_with_client(
    server: FakeServer,
    folder: Path | None,
    work: Callable[[SourceClient], Awaitable[T]],
    mode: Mode = "live",
    literature: Any = "passage",
    **settings: Any,
) -> T:
    """What `work` returns for a client of the server; the folder holds the cache. settings: of the client's sources."""

    async def inside() -> T:
        cache = folder / "http.sqlite" if folder else None
        async with SourceClient(
            server.settings(cache=cache, **{**QUICK, **settings}), mode, literature
        ) as client:
            return await work(client)

    return asyncio.run(inside())


async def ask(
    client: SourceClient,
    name: str,
    pert: str | None = None,
    gene: str | None = None,
    view: LabelView = NOTHING,
) -> Evidence:
    """The answer of a tool that has public sources and no packs."""
    return await TOOLS[name].run(pert, gene, Packs(), view, client)


def most_in_a_second(times: Sequence[float]) -> int:
    """The largest number of requests in any window of one second."""
    return max((sum(start <= at < start + 1 for at in times) for start in times), default=0)
