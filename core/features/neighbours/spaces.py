"""How a gene space is built from each source."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace as replace_in
from pathlib import Path
from typing import Any

from core.base.errors import InputError, NotFound, StateError
from core.base.feature import Labelled
from core.base.fields.record import keep_identity, values_of
from core.base.hashes import sha256_of
from core.base.log import LOGGER
from core.base.system_errors import explain
from core.base.types import TRAIN, Label
from core.embeddings.space import Space
from core.embeddings.symbol_matching import Coverage, SymbolMatches, coverage, match_symbols
from core.features.importing.spaces import space_files
from core.features.importing.spaces.load import load_safetensors
from core.features.importing.spaces.space_files import Spec
from core.features.neighbours.build import (
    MINILM,
    build_coresponse,
    build_endpoint,
    build_network,
    build_response,
    build_sentences,
    build_text,
)
from core.features.neighbours.space_settings import (
    SPACE_SETTINGS,
    CoresponseSettings,
    NetworkSettings,
    ResponseSettings,
    TextSettings,
)
from core.llm.endpoint import Endpoint
from core.runs import packs
from core.runs.workspace import Workspace
from core.store import Cursor, changes, datasets, pairs, spaces
from core.store.spaces import SpaceRecord

Built = TextSettings | NetworkSettings | ResponseSettings | CoresponseSettings


def build(workspace: Workspace, kind: str, spec: Spec, name: str) -> Space:
    """Build a space of a kind of PACK_OF, or of labels, from what its specification names."""
    if kind == "coresponse":
        return coresponse_of(_source_labels(workspace, spec, name), name, spec)
    pack = packs.read(workspace.settings, spec["pack"], spec["pack_sha256"])
    if pack.kind == "network":
        return build_network(pack.entries, name, spec["columns"], spec["seed"])
    if pack.kind == "lps_response":
        responses = {
            gene: (lps.logfc, lps.mean_lps, lps.mean_ctrl) for gene, lps in pack.entries.items()
        }
        return build_response(responses, name)
    if kind == "sentences":
        return build_sentences(pack.entries, name, spec["model"])
    if kind == "endpoint":
        server = Endpoint(spec["base_url"], workspace.settings.server_access, retries=2)
        return build_endpoint(pack.entries, name, server, spec["model"])
    return build_text(pack.entries, name, spec["columns"], spec["seed"])


def _source_labels(workspace: Workspace, spec: Spec, name: str) -> Labelled:
    """Return the labels that a space was built from. Raise StateError if the dataset was deleted or
    its labels have changed."""
    with workspace.store.read() as db:
        try:
            labelled, fingerprint = labelled_rows(db, datasets.find(db, spec["dataset"]).id)
        except NotFound as error:
            raise StateError(f"space {name}: built from deleted labels: {error}") from error
    if fingerprint != spec["labels_sha256"]:
        raise StateError(
            f"space {name}: the labels of its dataset have changed since it was built; build it"
            " again"
        )
    return labelled


def coresponse_of(labelled: Labelled, name: str, spec: Spec) -> Space:
    """Return a co-response space, built from labelled rows as its specification says."""
    built_from, of = spec["dataset"], spec["of"]
    return build_coresponse(
        *labelled,
        name,
        built_from_labels=built_from,
        of=of,
        columns=spec["columns"],
        seed=spec["seed"],
    )


# kind of a space, as the store has it → the kind of the pack that it is built from; coresponse is
# of labels
PACK_OF = {
    "text": "descriptions",
    "sentences": "descriptions",
    "endpoint": "descriptions",
    "network": "network",
    "response": "lps_response",
}


def embed(
    workspace: Workspace,
    kind: str,
    name: str,
    options: Spec,
    *,
    pack: str | None = None,
    replace: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> SpaceRecord:
    """Build a space of a kind of PACK_OF, or of labels, and record it; return the existing one if
    its specification is the same.

    options: columns, seed, model, base_url, dataset (a name) or of, as the kind needs them. pack:
    the knowledge pack to build from, None for the latest of its kind, about genes of the default
    dataset's organism if there is one. say: called with the next step. Raise StateError if the name
    is another space's, unless `replace`.
    """
    workspace.refuse_if_read_only("embed", name)
    say(f"Reading the sources of {name}")
    spec = specify(workspace, kind, options, pack)
    with workspace.store.read() as db:
        existing = space_files.find_same_or_refuse(
            db, name, space_files.identity(name, kind, spec), replace=replace
        )
    if existing is not None and (
        kind in space_files.REBUILT or space_files.file_of(workspace.settings, existing).exists()
    ):
        return existing
    columns = f"{spec['columns']:,} columns of " if "columns" in spec else ""
    say(f"Computing {columns}{name}")
    space = build(workspace, kind, {**options, **spec}, name)
    say(f"Saving {len(space.symbols):,} genes")
    with workspace.change("embed", name) as (db, detail):
        record, replaced = space_files.record_space(
            db, workspace.settings, space, kind, spec, replace=replace
        )
        detail |= {
            "space": record.id,
            "kind": kind,
            "genes": record.genes,
            "columns": record.columns,
            **spec,
        }
    for old in replaced:
        space_files.remove_file(workspace.settings, old)
    return record


def source_of(settings: Built) -> tuple[str, dict[str, Any]]:
    """Return the kind of a space and the options of `embed` from chosen settings.

    Raise InputError for a server without a model.
    """
    values = {name: value for name, value in values_of(settings).items() if name != "pack"}
    if not isinstance(settings, TextSettings):
        return (
            next(kind for kind, record in SPACE_SETTINGS.items() if isinstance(settings, record)),
            values,
        )
    if settings.endpoint is not None:
        if settings.model is None:
            raise InputError(f"embed text --endpoint {settings.endpoint}: expected --model too")
        return "endpoint", {"base_url": settings.endpoint, "model": settings.model}
    if settings.encoder is not None:
        return "sentences", {
            "model": MINILM if settings.encoder.lower() == "minilm" else settings.encoder
        }
    return "text", {
        name: value
        for name, value in values.items()
        if name not in ("encoder", "endpoint", "model")
    }


def specify(
    workspace: Workspace, kind: str, options: Spec, pack: str | None = None
) -> dict[str, Any]:
    """Return what a space is made from, as part of its identity: the options of `embed` that change
    it, and its pack or labels by content."""
    options = (
        keep_identity(SPACE_SETTINGS[kind], options) if kind in SPACE_SETTINGS else dict(options)
    )
    if kind in PACK_OF and pack is None:
        with workspace.store.read() as db:
            default = datasets.default(db)
        pack = packs.name_of_latest(workspace, PACK_OF[kind], default.organism if default else "")
    with workspace.store.read() as db:
        if kind in PACK_OF:
            source = spaces.pack_of_kind(db, PACK_OF[kind], pack)
            return {**options, "pack": source.name, "pack_sha256": source.sha256}
        dataset = datasets.find(db, options["dataset"])
        return {
            **options,
            "dataset": dataset.name,
            "labels_sha256": labelled_rows(db, dataset.id)[1],
        }


def load(workspace: Workspace, record: SpaceRecord, labelled: Labelled | None = None) -> Space:
    """Return a space's vectors, rebuilt if the cache was emptied; built from these labelled rows
    instead if they are given.

    Raise StateError if the space's file, or its source, is missing or has changed.
    """
    if labelled is not None:
        return coresponse_of(labelled, record.name, record.spec)
    path = space_files.file_of(workspace.settings, record)
    space = (
        _rebuild(workspace, record, path)
        if record.kind in space_files.REBUILT
        else space_files.read_saved(record, path)
    )
    return replace_in(space, built_from_labels=record.built_from)


def _rebuild(workspace: Workspace, record: SpaceRecord, path: Path) -> Space:
    """Return the space from the cache, or built again if the cached file is missing or damaged."""
    if record.kind == "coresponse":
        _source_labels(workspace, record.spec, record.name)
    try:
        return load_safetensors(path, record.name)
    except (InputError, OSError):  # missing, damaged, or cannot be read
        space = build(workspace, record.kind, record.spec, record.name)
        try:
            space_files.write(space, path)
        except OSError as error:  # it is built again next time
            LOGGER.warning("space %s: not kept: %s", record.name, explain(error, path))
        return space


def coverage_of(
    workspace: Workspace, record: SpaceRecord, dataset: str | None = None
) -> Coverage | None:
    """Return how much of a dataset (a name; None for the default one) a space covers; None in a
    workspace without one."""
    with workspace.store.read() as db:
        found = datasets.find(db, dataset) if dataset else datasets.default(db)
        if found is None:
            return None
        rows = pairs.frame(db, found.id)
    space = load(workspace, record)
    return coverage(
        space,
        rows["pert"].tolist(),
        rows["gene"].tolist(),
        packs.read_orthologs(workspace, found.organism, space.symbols),
    )


def match_dataset(workspace: Workspace, record: SpaceRecord, dataset: str) -> SymbolMatches:
    """Return how a space's symbols were found for the perturbations and genes of a dataset (a name
    or id)."""
    with workspace.store.read() as db:
        found = datasets.find(db, dataset)
        rows = pairs.frame(db, found.id)
    space = load(workspace, record)
    return match_symbols(
        space,
        sorted({*rows["pert"], *rows["gene"]}),
        packs.read_orthologs(workspace, found.organism, space.symbols),
    )


def delete(workspace: Workspace, name: str) -> SpaceRecord:
    """Delete a space; its file can be imported again. Runs that were made with it stay."""
    with workspace.change("delete space", name) as (db, detail):
        found = spaces.find(db, name)
        space_files.delete_record(db, found)
        changes.bump(db, "spaces")
        detail |= {"space": found.id, "name": found.name, "kind": found.kind}
    space_files.remove_file(workspace.settings, found)
    return found


def labelled_rows(db: Cursor, dataset: str) -> tuple[Labelled, str]:
    """Return perturbations, genes and labels of a dataset's labelled training rows, and the SHA-256
    of them."""
    frame = pairs.frame(db, dataset)
    frame = frame[frame["label"].notna() & (frame["split"] == TRAIN)]
    rows = (
        frame["pert"].tolist(),
        frame["gene"].tolist(),
        [Label(label) for label in frame["label"]],
    )
    return rows, sha256_of(json.dumps(rows))
