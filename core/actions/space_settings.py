"""How a gene space is built from each source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from core.fields.record import setting

_ELSEWHERE = "the page has other sources, the command the encoders that need a download or a server"


def _pack() -> Any:
    about = "The knowledge pack to build from; by default the latest of its kind."
    return setting(None, about, not_on_form="the page takes the latest pack of the kind")


def _columns(default: int, kind: str) -> Any:
    return setting(default, "How many columns the SVD keeps.", title="Columns", least=1, key=f"columns_{kind}")


def _random_seed() -> Any:
    about = (
        "Seed of a randomized SVD. Other seeds give slightly different spaces and scores; for networks the difference is visible."
    )
    return setting(0, about, title="Seed", least=0, most=2**32 - 1, command_help="The SVD's random seed.")


@dataclass(frozen=True, slots=True)
class TextSettings:
    """A space of gene descriptions: TF-IDF and SVD, or an encoder, or a server's embeddings."""

    pack: str | None = _pack()
    columns: int = _columns(200, "text")
    seed: int = _random_seed()
    encoder: str | None = setting(
        None, "A sentence-transformers model instead of TF-IDF; minilm for all-MiniLM-L6-v2.", not_on_form=_ELSEWHERE
    )
    # Two servers may have different models under one name, and a space is kept: its address is a part of the identity.
    endpoint: str | None = setting(
        None, "A server's address ending in /v1; its --model makes the embeddings.", kind="server", not_on_form=_ELSEWHERE
    )
    model: str | None = setting(None, "The server's model.", not_on_form=_ELSEWHERE)


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """A space of a network's edges: normalised adjacency, then SVD."""

    pack: str | None = _pack()
    columns: int = _columns(128, "network")
    seed: int = _random_seed()


@dataclass(frozen=True, slots=True)
class ResponseSettings:
    """A space of a published LPS response, which has as many columns as its source."""

    pack: str | None = _pack()


@dataclass(frozen=True, slots=True)
class CoresponseSettings:
    """A space of a dataset's labels: normalised label vectors of genes or perturbations, then SVD."""

    of: Literal["gene", "pert"] = setting(
        "gene", "The axis with vectors: gene or pert.", not_on_form="the page builds spaces of target genes"
    )
    columns: int = _columns(64, "coresponse")
    seed: int = _random_seed()


SPACE_SETTINGS: Final[Mapping[str, type]] = {
    "text": TextSettings,
    "network": NetworkSettings,
    "response": ResponseSettings,
    "coresponse": CoresponseSettings,
}
