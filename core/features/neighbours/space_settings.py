"""The settings from which a gene space is built, by its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from annotated_types import Ge, Le

from core.base.fields.setting import Count, setting

Pack = Annotated[
    str | None,
    setting(
        "The knowledge pack to build from; by default the latest of its kind.", where="command"
    ),
]

COLUMNS = setting("How many columns the SVD keeps.", title="Columns")

Seed = Annotated[
    int,
    Ge(0),
    Le(2**32 - 1),
    setting(
        "Seed of a randomized SVD. Other seeds give slightly different spaces and scores; for"
        " networks the difference is visible.",
        title="Seed",
    ),
]


@dataclass(frozen=True, slots=True)
class TextSettings:
    """A space of gene descriptions: TF-IDF and SVD, or an encoder, or a server's embeddings."""

    pack: Pack = None
    columns: Annotated[Count, COLUMNS, setting("", key="columns_text")] = 200
    seed: Seed = 0
    encoder: Annotated[
        str | None,
        setting(
            "A sentence-transformers model instead of TF-IDF; minilm for all-MiniLM-L6-v2.",
            where="command",
        ),
    ] = None
    # Two servers may have different models under one name, and a space is kept: its address is a
    # part of the identity.
    endpoint: Annotated[
        str | None,
        setting(
            "A server's address ending in /v1; its --model makes the embeddings.",
            names="server",
            where="command",
        ),
    ] = None
    model: Annotated[str | None, setting("The server's model.", where="command")] = None


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """A space of a network's edges: normalised adjacency, then SVD."""

    pack: Pack = None
    columns: Annotated[Count, COLUMNS, setting("", key="columns_network")] = 128
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class ResponseSettings:
    """A space of a published LPS response, which has as many columns as its source."""

    pack: Pack = None


@dataclass(frozen=True, slots=True)
class CoresponseSettings:
    """A space of a dataset's labels: genes (or perturbations) that respond alike are close. It is
    never evaluated on these labels, unless it is built again in each fold."""

    of: Annotated[
        Literal["gene", "pert"], setting("The axis with vectors: gene or pert.", where="command")
    ] = "gene"
    columns: Annotated[Count, COLUMNS, setting("", key="columns_coresponse")] = 64
    seed: Seed = 0


SPACE_SETTINGS: Final[Mapping[str, type]] = {
    "text": TextSettings,
    "network": NetworkSettings,
    "response": ResponseSettings,
    "coresponse": CoresponseSettings,
}
