"""Settings for sorting texts into kinds of arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from core.errors import SettingError
from core.fields.record import check_values, setting

Method = Literal["kmeans", "hdbscan"]
TextKind = Literal["", "brief", "rebuttal", "answer", "thought", "text", "verdict"]
_HERE = "a page sorts texts by their words, without a model"


@dataclass(frozen=True, slots=True)
class KindSettings:
    """How to find kinds. k: number of kinds, None to choose it by a rule; only for k-means. Raises InputError."""

    method: Method = setting(
        "kmeans",
        "How texts are sorted.",
        title="Sorted by",
        words={"kmeans": "k-means", "hdbscan": "HDBSCAN"},
        key="sorted_by",
    )
    k: int | None = setting(
        None,
        "Number of kinds; by default the largest one that other seeds and samples of rows reproduce. Only with kmeans.",
        title="Number of kinds",
        command_help="Number of kinds; by default the largest stable number. Only with kmeans.",
        key="kinds",
        least=2,
        offered=tuple(range(2, 25)),
    )
    seed: int = setting(0, "Random seed of k-means and of the samples.", title="Seed", key="kinds_seed", least=0, most=2**31 - 1)

    def __post_init__(self) -> None:
        check_values(self)
        if self.k is not None and self.method != "kmeans":
            raise SettingError("k", f"got {self.k} with {self.method}, which finds the number itself")


@dataclass(frozen=True, slots=True)
class KindsRequest:
    """A request for kinds of arguments: the texts, how to compare them, and how to sort them.

    endpoint, model: a server with embeddings.
    """

    settings: KindSettings = field(default_factory=KindSettings)
    texts: TextKind = setting(
        "",
        "By default, the first stage of the run.",
        title="Texts",
        metavar="brief|rebuttal|answer|thought|text|verdict",
        key="texts",
    )
    role: str = setting("", "Only texts of this role.", title="Of the role", key="of_role")
    embedding: Literal["tfidf", "minilm", "endpoint"] = setting("tfidf", "How to compare texts.", not_on_form=_HERE)
    endpoint: str = setting(
        "", "The /v1 address of a server with embeddings.", kind="server", changes_result=False, not_on_form=_HERE
    )
    model: str = setting("", "The model of the endpoint.", not_on_form=_HERE)
