"""Settings: the only reader of the environment."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import InputError

ENDPOINT = "http://127.0.0.1:8000/v1"  # where vLLM listens by itself
MYGENE = "https://mygene.info/v3"
STRING = "https://version-12-0.string-db.org/api"
PUBMED = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
KEY_VARIABLE = "PERTURBDESK_API_KEY"
REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a workspace lies and how it may be used.

    workspace: the folder that holds data/ and cache/. read_only: every change is refused. busy_timeout_s: how long to
    wait for the store before StoreBusy. store_memory_mb: what the store may hold in memory before it goes to disk.
    mirror: a base address to fetch public files from instead of GitHub, or "". author: who stands in the audit trail and
    under notes. api_key: for model servers; never stored or printed. endpoint: of the model server to ask unless another
    is named. price_prompt, price_completion: of a million tokens.
    """

    workspace: Path = REPOSITORY
    read_only: bool = False
    busy_timeout_s: float = 30.0
    store_memory_mb: int = 2_000
    mirror: str = ""
    author: str = "unknown"
    api_key: str = field(default="", repr=False)
    endpoint: str = ENDPOINT
    price_prompt: float | None = None
    price_completion: float | None = None
    mygene: str = MYGENE
    string: str = STRING
    pubmed: str = PUBMED
    ncbi_api_key: str = field(default="", repr=False)
    contact: str = ""

    @property
    def data(self) -> Path:
        return self.workspace / "data"

    @property
    def cache(self) -> Path:
        return self.workspace / "cache"

    @property
    def store_file(self) -> Path:
        return self.data / "desk.duckdb"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user id may have no name
        return "unknown"


def _price(kind: str) -> float | None:
    """Of a million tokens; None where it is not set. Raises InputError for what is no price."""
    name = f"PERTURBDESK_PRICE_{kind}"
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not 0 <= price < float("inf"):
        raise InputError(f"{name}: got {text!r}, expected what a million tokens cost")
    return price


def environment_of(settings: Settings) -> dict[str, str]:
    """This process's environment, to be handed on to one that works for it, with the settings that a caller may have changed.

    The key of model servers is in it, and in no other place that the other process could read it from.
    """
    return {
        **os.environ,
        "PERTURBDESK_AUTHOR": settings.author,
        "PERTURBDESK_BUSY_TIMEOUT_S": str(settings.busy_timeout_s),
        "PERTURBDESK_STORE_MEMORY_MB": str(settings.store_memory_mb),
        KEY_VARIABLE: settings.api_key,
    }


def load_settings(workspace: Path | None = None) -> Settings:
    """Settings from PERTURBDESK_* environment variables; an explicit `workspace` wins over the variable."""
    chosen = workspace or Path(os.environ.get("PERTURBDESK_WORKSPACE") or REPOSITORY)
    return Settings(
        workspace=chosen.expanduser().resolve(),
        read_only=os.environ.get("PERTURBDESK_READ_ONLY", "").lower() in {"1", "true", "yes"},
        busy_timeout_s=float(os.environ.get("PERTURBDESK_BUSY_TIMEOUT_S", "30")),
        store_memory_mb=int(os.environ.get("PERTURBDESK_STORE_MEMORY_MB", "2000")),
        mirror=os.environ.get("PERTURBDESK_MIRROR", ""),
        author=os.environ.get("PERTURBDESK_AUTHOR") or _user(),
        api_key=os.environ.get(KEY_VARIABLE, ""),
        endpoint=os.environ.get("PERTURBDESK_ENDPOINT") or ENDPOINT,
        price_prompt=_price("PROMPT"),
        price_completion=_price("COMPLETION"),
        mygene=os.environ.get("PERTURBDESK_MYGENE") or MYGENE,
        string=os.environ.get("PERTURBDESK_STRING") or STRING,
        pubmed=os.environ.get("PERTURBDESK_PUBMED") or PUBMED,
        ncbi_api_key=os.environ.get("PERTURBDESK_NCBI_API_KEY", "").strip(),
        contact=os.environ.get("PERTURBDESK_CONTACT", "").strip(),
    )
