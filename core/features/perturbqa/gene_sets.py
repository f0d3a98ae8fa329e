"""Gene sets summarised by the model of a server: a phrase for each set, scored where a person has
described the set."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
from annotated_types import MinLen

from core.base.errors import InputError
from core.base.file_io import read_file, replace_file
from core.base.records import parse
from core.base.workbook import encode
from core.evidence.packs import Packs
from core.features.perturbqa.summaries import rouge_1_recall, summary_request
from core.llm.client import Client
from core.llm.endpoint import asks_several
from core.llm.errors import ModelError
from core.llm.kept_answer import ReplyCache
from core.runs import launch, model_servers, packs
from core.runs.request import ModelRequest
from core.runs.run_control import CACHE
from core.runs.workspace import Workspace

COLUMNS = ("genes", "n_genes", "n_known", "label", "summary", "rouge1_recall", "error")
FOLDER = "gene_sets"  # in the workspace's data


@dataclass(frozen=True, slots=True, eq=False)
class SummarisedSets:
    """What came of a file. table: a row for each set, in the file's order, with COLUMNS; path:
    where it was written."""

    path: Path
    model: str
    table: pd.DataFrame


def summarise_gene_sets(
    workspace: Workspace, file: Path, request: ModelRequest | None = None, *, replace: bool = False
) -> SummarisedSets:
    """Ask a model for a phrase on every gene set of a file, and write the table below the
    workspace's data.

    A call that fails leaves its set without a phrase, with the error in the table. Raise InputError
    for a file without a list of gene sets, a table that is there unless `replace`, or several
    servers; MissingPackage before anything is asked; Unreachable without a model.
    """
    workspace.refuse_if_read_only("gene-sets", file.name)
    sets = read_gene_sets(file)
    path = workspace.settings.data / FOLDER / f"{file.stem}.csv"
    if path.exists() and not replace:
        raise InputError(f"{path}: exists; --replace overwrites it")
    rouge_1_recall("a", "a")  # a missing package is told before the model is asked
    asked = request or ModelRequest()
    address = asked.endpoint or workspace.settings.endpoint
    if asks_several(address):
        raise InputError(f"gene-sets: got {address!r}, expected the address of one model server")
    server = model_servers.endpoint_of(workspace, address, asked.model or "", asked.calls)
    chosen = asked.model or launch.only_model(
        asyncio.run(launch.health(workspace, server.base_url))
    )
    # The sets of PerturbQA are human; packs about mouse genes find them by their orthologs.
    known = packs.read_packs(workspace, packs.pack_hashes(workspace, "human", or_another=True))
    cache = ReplyCache(workspace.settings.cache / CACHE)

    async def summarise_all() -> list[tuple[object, ...]]:
        async with Client(server, cache=cache) as client:
            asking = (_summarise(each, client, chosen, known, asked.seed) for each in sets)
            return list(await asyncio.gather(*asking))

    rows = asyncio.run(summarise_all())
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"rouge1_recall": float})
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, encode(table, "csv"))
    return SummarisedSets(path, chosen, table)


async def _summarise(
    each: GeneSet, client: Client, model: str, known: Packs, seed: int
) -> tuple[object, ...]:
    """Return a row of the table."""
    request, n_known = await summary_request(each.genes, known, model, seed)
    summary, error = None, ""
    try:
        summary = (await client.complete(client.prepare(request))).content.strip()
    except ModelError as failure:
        error = f"{type(failure).__name__}: {failure}"
    score = (
        rouge_1_recall(each.label, summary)
        if summary is not None and each.label is not None
        else None
    )
    return " ".join(each.genes), len(each.genes), n_known, each.label, summary, score, error


MAX_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class GeneSet:
    """A set of genes; label: a person's description of it, or None."""

    genes: Annotated[tuple[Annotated[str, MinLen(1)], ...], MinLen(1), "a list of symbols"]
    label: str | None


_Sets = Annotated[
    tuple[GeneSet, ...], MinLen(1), 'a list of {"genes": [symbols], "label": text or null}'
]


def read_gene_sets(path: Path) -> tuple[GeneSet, ...]:
    """Return the gene sets of a file of at most 16 MiB. Raise InputError that names the entry that
    is wrong."""
    return parse(_Sets, read_file(path, MAX_BYTES), path.name, unknown="ignore")
