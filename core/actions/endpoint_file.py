"""What the file data/endpoints.toml of a workspace says about model servers: how each is asked, and what its tokens cost."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field
from typing import Final

from core.actions.workspace import Workspace
from core.engine.request import Price
from core.errors import InputError
from core.fields.record import part, setting
from core.fields.toml_table import read_toml
from core.llm.call_settings import CallSettings
from core.llm.endpoint import asks_several
from core.net.address_list import read_addresses

NAME: Final = "endpoints.toml"


@dataclass(frozen=True, slots=True)
class EndpointEntry:
    """A table [[endpoint]]. model: "" for all models there. calls: how it is asked. The prices are of a million tokens."""

    address: str = setting(MISSING, "Of the model server, ending in /v1.")
    model: str = setting("", "The model that this is about; by default all.")
    calls: CallSettings = field(default_factory=CallSettings)
    price_prompt: float | None = setting(None, "What a million tokens of prompts cost.", least=0, changes_result=False)
    price_completion: float | None = setting(None, "What a million tokens of answers cost.", least=0, changes_result=False)

    def __post_init__(self) -> None:
        if (self.price_prompt is None) != (self.price_completion is None):
            raise InputError(f"{NAME}: {self.address} has one price, expected price_prompt and price_completion or neither")

    @property
    def price(self) -> Price | None:
        """What its tokens cost, None if the file does not say."""
        if self.price_prompt is None or self.price_completion is None:
            return None
        return Price(self.price_prompt, self.price_completion)


@dataclass(frozen=True, slots=True)
class EndpointFile:
    """The whole file."""

    endpoint: tuple[EndpointEntry, ...] = part(())


def find_entries(workspace: Workspace, servers: str, model: str) -> list[EndpointEntry]:
    """Return what the file says about a server, or the first of several, and a model: first of this model, then of all.

    Raises InputError for a file that cannot be read.
    """
    path = workspace.settings.data / NAME
    if not path.is_file():
        return []
    address = (read_addresses(servers)[0] if asks_several(servers) else servers).rstrip("/")
    entries = [each for each in read_toml(path).record(EndpointFile).endpoint if each.address.rstrip("/") == address]
    return sorted((each for each in entries if each.model in ("", model)), key=lambda each: not each.model)


def call_settings(workspace: Workspace, servers: str, model: str, chosen: CallSettings) -> CallSettings:
    """Return how a server is asked: as chosen, and where nothing is chosen as the file says."""
    for entry in find_entries(workspace, servers, model):
        chosen = chosen.over(entry.calls)
    return chosen


def price_at(workspace: Workspace, servers: str, model: str) -> Price | None:
    """Return the price of a million tokens of a model at a server, by default that of the settings; None if it is unknown."""
    settings = workspace.settings
    own = next((entry.price for entry in find_entries(workspace, servers, model) if entry.price is not None), None)
    if own is not None or settings.price_prompt is None or settings.price_completion is None:
        return own
    return Price(settings.price_prompt, settings.price_completion)
