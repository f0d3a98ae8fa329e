"""Settings: the only reader of the environment and of secrets.toml."""

from __future__ import annotations

import getpass
import os
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import InputError
from core.net.addresses import check_address, is_local, is_loopback
from core.setting_types import (
    ADDRESS,
    E_MAIL,
    E_MAILS,
    ENDPOINT,
    FILE,
    FOLDER,
    FOLDERS,
    KEY,
    MEGABYTES,
    PRICE,
    SECONDS,
    TEXT,
    YES_OR_NO,
    SettingType,
)

MYGENE = "https://mygene.info/v3"
STRING = "https://version-12-0.string-db.org/api"
PUBMED = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
KEY_VARIABLE = "PERTURBDESK_API_KEY"
EXAMPLE = "https://desk.example.org"  # of an address where others reach the app
CALLBACK = "oauth2callback"  # where a provider sends people back to, below the base address
REPOSITORY = Path(__file__).resolve().parent.parent
SECRETS_FILE = REPOSITORY / ".streamlit" / "secrets.toml"


def _about(variable: str, kind: SettingType, what: str, default: str = "") -> dict[str, Any]:
    """Returns a setting's metadata. default: in words, if the value itself does not say it."""
    return {"variable": f"PERTURBDESK_{variable}", "type": kind, "what": what, "default": default}


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a workspace lies and how it may be used; `settings_table` has a row for each field."""

    workspace: Path = field(
        default=REPOSITORY,
        metadata=_about("WORKSPACE", FOLDER, "The folder that holds data/ and cache/.", "the repository"),
    )
    import_roots: tuple[Path, ...] = field(
        default=(),
        metadata=_about(
            "IMPORT_ROOTS",
            FOLDERS,
            "The folders that the page Data may import from by path.",
            "the workspace, the folder the app was started from, the home folder",
        ),
    )
    read_only: bool = field(default=False, metadata=_about("READ_ONLY", YES_OR_NO, "Refuse every change.", "no"))
    busy_timeout_s: float = field(
        default=30.0,
        metadata=_about("BUSY_TIMEOUT_S", SECONDS, "How long to wait for the store while another process holds it."),
    )
    store_memory_mb: int = field(
        default=180,
        metadata=_about("STORE_MEMORY_MB", MEGABYTES, "What the store may hold in memory before it writes to disk."),
    )
    mirror: str = field(
        default="", metadata=_about("MIRROR", ADDRESS, "Where to fetch public files from instead of GitHub.", "none")
    )
    author: str = field(
        default="unknown",
        metadata=_about("AUTHOR", TEXT, "The name in the audit log and under notes.", "the user's name on this machine"),
    )
    api_key: str = field(
        default="", repr=False, metadata=_about("API_KEY", KEY, "The key of model servers; never stored or printed.", "none")
    )
    endpoint: str = field(
        default=ENDPOINT, metadata=_about("ENDPOINT", ADDRESS, "The model server to ask unless another is named.")
    )
    price_prompt: float | None = field(
        default=None, metadata=_about("PRICE_PROMPT", PRICE, "What a million tokens of prompts cost.", "unknown")
    )
    price_completion: float | None = field(
        default=None, metadata=_about("PRICE_COMPLETION", PRICE, "What a million tokens of answers cost.", "unknown")
    )
    mygene: str = field(default=MYGENE, metadata=_about("MYGENE", ADDRESS, "Where MyGene.info is asked."))
    string: str = field(default=STRING, metadata=_about("STRING", ADDRESS, "Where STRING is asked."))
    pubmed: str = field(default=PUBMED, metadata=_about("PUBMED", ADDRESS, "Where PubMed is asked."))
    ncbi_api_key: str = field(
        default="",
        repr=False,
        metadata=_about("NCBI_API_KEY", KEY, "NCBI's key, which raises PubMed's rate; never stored or printed.", "none"),
    )
    contact: str = field(
        default="", metadata=_about("CONTACT", E_MAIL, "An e-mail address that public sources are told.", "none")
    )

    base_url: str = field(
        default="", metadata=_about("BASE_URL", ADDRESS, "Where others reach the app: links begin with it.", "none")
    )
    sign_in: bool = field(
        default=False,
        metadata=_about("SIGN_IN", YES_OR_NO, "Ask everybody to sign in first.", "yes if secrets.toml has [auth]"),
    )
    editors: tuple[str, ...] = field(
        default=(), metadata=_about("EDITORS", E_MAILS, "Who may change things once signed in.", "nobody")
    )
    readers: tuple[str, ...] = field(
        default=(),
        metadata=_about("READERS", E_MAILS, "Who may only read once signed in; * is everyone who can sign in.", "nobody"),
    )
    secrets_file: Path = field(
        default=SECRETS_FILE,
        metadata=_about("SECRETS_FILE", FILE, "The file with secrets and the sign-in.", ".streamlit/secrets.toml"),
    )

    @property
    def data(self) -> Path:
        return self.workspace / "data"

    @property
    def cache(self) -> Path:
        return self.workspace / "cache"

    @property
    def store_file(self) -> Path:
        return self.data / "desk.duckdb"

    @property
    def is_shared(self) -> bool:
        """Whether the app is meant for others too: it has an address where they reach it, or asks them to sign in."""
        return bool(self.base_url) or self.sign_in

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that no log and no page may show."""
        return tuple(key for key in (self.api_key, self.ncbi_api_key) if key)


class SettingRow(NamedTuple):
    """One row of the settings table: its environment variable, how it is written, its default, what it does.

    field: of Settings. secret: it is never shown, and may stand in .streamlit/secrets.toml under the variable's name.
    """

    field: str
    variable: str
    type: str
    default: str
    what: str
    secret: bool


def settings_table() -> list[SettingRow]:
    """Returns every setting, in the order of Settings."""
    rows = []
    for each in fields(Settings):
        about = each.metadata
        secret = about["type"] is KEY
        default = about["default"] or str(each.default)
        rows.append(SettingRow(each.name, about["variable"], about["type"].name, default, about["what"], secret))
    return rows


def load_settings(workspace: Path | None = None) -> Settings:
    """Returns settings from PERTURBDESK_* variables; an explicit `workspace` wins over the variable.

    Secrets that are not in the environment are looked up in .streamlit/secrets.toml. Raises InputError for a value that
    cannot be read; its text names the variable and never shows a secret.
    """
    file = _secrets_file()
    texts = {**_secrets_in(file), **os.environ}
    values: dict[str, Any] = {"author": _user(), "sign_in": has_sign_in(file), "secrets_file": file}
    if workspace is not None:
        texts.pop("PERTURBDESK_WORKSPACE", None)
        values["workspace"] = _value_of("--workspace", str(workspace), FOLDER)
    for each in fields(Settings):
        text = texts.get(each.metadata["variable"], "").strip()
        if text:
            values[each.name] = _value_of(each.metadata["variable"], text, each.metadata["type"])
    return Settings(**values)


def _secrets_file() -> Path:
    named = os.environ.get("PERTURBDESK_SECRETS_FILE", "").strip()
    return _value_of("PERTURBDESK_SECRETS_FILE", named, FILE) if named else SECRETS_FILE


def has_sign_in(file: Path) -> bool:
    """Returns whether a file of secrets configures a sign-in: its section [auth]. Raises InputError as `load_settings` does."""
    return "auth" in _read_toml(file)


def read_base_url(text: str) -> str:
    """Returns where others are to reach the app, without a slash at its end. Raises InputError for what is no address."""
    check_address("--base-url", text, EXAMPLE)
    return text.rstrip("/")


def reaches_others(server_address: str, base_url: str) -> bool:
    """Whether an app that listens there, and is reached at this address, can be reached from another machine."""
    return not (is_loopback(server_address) and is_local(base_url))


def redirect_uri(file: Path) -> str:
    """Returns where a provider sends back who signed in, as a file of secrets says; "" if it does not."""
    section = _read_toml(file).get("auth")
    return str(section.get("redirect_uri", "")) if isinstance(section, Mapping) else ""


def default_import_roots(settings: Settings) -> tuple[Path, ...]:
    """Returns the folders that pages may import from unless others are set: the workspace, the folder that this process was
    started from, and the home folder; never the whole machine, which the last two are in some containers."""
    folders = [settings.workspace, Path.cwd()]
    with suppress(RuntimeError):  # a user without a home folder
        folders.append(Path.home())
    resolved = [folder.resolve() for folder in folders]
    return tuple(dict.fromkeys(folder for folder in resolved if folder != Path(folder.anchor)))


def import_folders(settings: Settings, server_address: str | None) -> tuple[Path, ...]:
    """Returns the folders below which pages may import by path; none if others can reach the app.

    server_address: what the app's server listens on; None for every network. Behind a proxy it may listen to this machine alone.
    """
    if server_address is None or not is_loopback(server_address) or settings.is_shared:
        return ()
    return settings.import_roots or default_import_roots(settings)


def environment_of(settings: Settings) -> dict[str, str]:
    """Returns this process's environment for another that works on its behalf, with the settings that a caller may have changed.

    Keys are handed on here and nowhere else that the other process could read them from.
    """
    return {
        **os.environ,
        "PERTURBDESK_AUTHOR": settings.author,
        "PERTURBDESK_BUSY_TIMEOUT_S": str(settings.busy_timeout_s),
        "PERTURBDESK_STORE_MEMORY_MB": str(settings.store_memory_mb),
        KEY_VARIABLE: settings.api_key,
        "PERTURBDESK_NCBI_API_KEY": settings.ncbi_api_key,
    }


def _value_of(name: str, text: str, kind: SettingType) -> Any:
    if kind is ADDRESS:
        check_address(name, text, ENDPOINT)
    try:
        text.encode()  # raises UnicodeEncodeError, a ValueError, for bytes that are not UTF-8
        return kind.read(text)
    except (ValueError, RuntimeError, OSError):  # RuntimeError: "~nobody/" has no home folder; OSError: a path too long
        shown = "a value that is not shown" if kind is KEY else repr(text)
        raise InputError(f"{name}: got {shown}, expected {kind.expected}") from None


def _read_toml(file: Path) -> Mapping[str, Any]:
    """Returns what a file of secrets holds; nothing if there is no such file."""
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read ({type(error).__name__}), expected TOML in UTF-8") from None


def _secrets_in(file: Path) -> Mapping[str, str]:
    """Returns the secrets in a file by variable."""
    content = _read_toml(file)
    found = {row.variable: content[row.variable] for row in settings_table() if row.secret and row.variable in content}
    for variable, value in found.items():
        if not isinstance(value, str):
            raise InputError(f"{file}: {variable} is a {type(value).__name__}, expected text in quotes")
    return found


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user id may have no name
        return "unknown"


def tiktoken_folder() -> Path:
    """Returns the folder in which the package tiktoken keeps tables that it downloaded."""
    chosen = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    return Path(chosen) if chosen else Path(tempfile.gettempdir()) / "data-gym-cache"
