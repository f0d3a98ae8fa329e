"""A context that asks a loopback server about one row of the evidence tests' small world."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from core.base.fields.record import read_options
from core.base.types import RowResult
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.kept_answer import ReplyCache
from core.methods.base import Context, Method, RowMethod, TextsOfRun
from tests.evidence.world import PACKS, TEST, TRAINING
from tests.fakes.scripted import MODEL

VIEW = LabelView(TRAINING)  # 9 rows, 5 changed, of these 3 up and 2 down
BLIND = LabelView(())
ARGUED = "Jak1 acts upstream of Gm12345. Its loss reaches the programs that hold both. This is the case for my side."


def context(
    method: Method,
    client: Client | None = None,
    view: LabelView = VIEW,
    packs: Packs = PACKS,
    **options: object,
) -> Context:
    """A context of the test row with a method's options."""
    pairs = (replace(TEST, label=None),)
    return Context(
        pairs, read_options(method.settings, options), lambda _: view, packs, client, MODEL, seed=7
    )


def predict(
    method: RowMethod,
    url: str,
    view: LabelView = VIEW,
    model: str = MODEL,
    cache: ReplyCache | None = None,
    **options: object,
) -> RowResult:
    """The test row as a method predicts it with the server at `url`; failing calls are sent again at most four times."""

    async def one() -> RowResult:
        endpoint = Endpoint(url, retries=4, backoff_s=0.001, longest_backoff_s=0.001)
        async with Client(endpoint, cache=cache) as client:
            asked = replace(context(method, client, view, **options), model=model)
            return await method.predict_row(TEST, asked)

    return asyncio.run(one())


def read_texts(method: RowMethod, texts: TextsOfRun, url: str, **options: object) -> RowResult:
    """What a method reads in these texts of the test row, of which it sees no label."""

    async def one() -> RowResult:
        async with Client(
            Endpoint(url, retries=1, backoff_s=0.001, longest_backoff_s=0.001)
        ) as client:
            asked = replace(context(method, client, BLIND, **options), texts=texts)
            return await method.predict_row(asked.pairs[0], asked)

    return asyncio.run(one())
