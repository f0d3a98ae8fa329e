"""Settings: the only reader of the environment and of secrets.toml."""

from __future__ import annotations

import getpass
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from core.base.errors import InputError
from core.base.net.addresses import ENDPOINT, check_address, is_local, is_loopback
from core.base.net.server_access import (
    ServerAccess,
    read_secrets_file,
    refuse_two_keys,
    secrets_in_environment,
    secrets_in_file,
    settings_in_file,
)

EVERYONE = "*"  # among the readers: whoever signs in
_SWITCH = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


class SettingType(NamedTuple):
    """How a setting is written. read: turns its text into a value, raises ValueError if it
    cannot."""

    name: str
    expected: str
    read: Callable[[str], Any]


def _folder(text: str) -> Path:
    folder = Path(text).expanduser().resolve()
    if folder.exists() and not folder.is_dir():
        raise ValueError(text)
    return folder


def _folders(text: str) -> tuple[Path, ...]:
    folders = tuple(Path(part).expanduser().resolve() for part in text.split(os.pathsep) if part)
    if not folders or not all(folder.is_dir() for folder in folders):
        raise ValueError(text)
    return folders


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise ValueError(text)
    return _SWITCH[text.lower()]


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError(text)
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def fold_address(email: str) -> str:
    """Return an e-mail address as it is compared: blanks around it and, if it is all ASCII, the
    case do not count. Other signs may fold to those of another person's address."""
    email = email.strip()
    return email.lower() if email.isascii() else email


def _e_mails(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(fold_address(part) for part in text.split(",") if part.strip()))
    if not all(each == EVERYONE or re.fullmatch(r"[^@\s]+@[^@\s]+", each) for each in found):
        raise ValueError(text)
    return found


def _addresses(text: str) -> tuple[str, ...]:
    found = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(part if "://" in part else str(_absolute(part)) for part in found)


def _absolute(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_absolute():
        raise ValueError(text)
    return path


def _hosts(text: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not all(part == "auto" or re.fullmatch(r"\S+:[0-9]{1,5}", part) for part in found):
        raise ValueError(text)
    return found


def _keys(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for part in text.split():
        address, equals, key = part.partition("=")
        if "://" not in address or not equals:
            raise ValueError
        found.append((address, _ascii(key)))
    return tuple(found)


def _ascii(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise ValueError(text)
    return text


FOLDER = SettingType("folder", "a folder", _folder)
FOLDERS = SettingType("folders", f"folders that are there, separated by {os.pathsep!r}", _folders)
YES_OR_NO = SettingType("yes or no", "1, true, yes, on, 0, false, no or off", _switch)
SECONDS = SettingType("seconds", "seconds, 0 or more", _amount)
MEGABYTES = SettingType(
    "megabytes", "a whole number of megabytes, 1 or more, without a unit", _count
)
PRICE = SettingType("price", "what a million tokens cost, 0 or more", _amount)
ADDRESS = SettingType("address", f"an address such as {ENDPOINT}", str)
TEXT = SettingType("text", "text", str)
E_MAIL = SettingType("e-mail address", "an e-mail address in ASCII", _ascii)
E_MAILS = SettingType("e-mail addresses", "e-mail addresses separated by commas", _e_mails)
FILE = SettingType("file", "a file", lambda text: Path(text).expanduser().resolve())
KEY = SettingType("key", "printable ASCII", _ascii)
ADDRESSES = SettingType(
    "addresses",
    "addresses, and absolute paths of files that list some, separated by commas",
    _addresses,
)
HOSTS = SettingType("hosts", "HOST:PORT, or auto, separated by commas", _hosts)
KEYS = SettingType("keys", "ADDRESS=KEY for each server, separated by blanks", _keys)
SECRET = (KEY, KEYS)  # never shown, and may stand in the file of secrets


MYGENE = "https://mygene.info/v3"
STRING = "https://version-12-0.string-db.org/api"
PUBMED = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
EXAMPLE = "https://desk.example.org"  # of an address where others reach the app
CALLBACK = "oauth2callback"  # where a provider sends people back to, below the base address
REPOSITORY = Path(__file__).resolve().parents[2]
SECRETS_FILE = REPOSITORY / ".streamlit" / "secrets.toml"


def _setting(
    value: Any, kind: SettingType, what: str, default: str = "", *, repr: bool = True
) -> Any:
    """Return a field of Settings. default: in words, if the value itself does not say it."""
    return field(
        default=value, repr=repr, metadata={"type": kind, "what": what, "default": default}
    )


def variable_of(setting: str) -> str:
    """Return the environment variable of a field of Settings."""
    return f"PERTURBDESK_{setting.upper()}"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a workspace lies and how it may be used; the environment variable of a field is that of
    `variable_of`."""

    workspace: Path = _setting(
        REPOSITORY, FOLDER, "The folder that holds data/ and cache/.", "the repository"
    )
    import_roots: tuple[Path, ...] = _setting(
        (),
        FOLDERS,
        "The folders that the page Data may import from by path.",
        "the workspace, the folder the app was started from, the home folder",
    )
    read_only: bool = _setting(False, YES_OR_NO, "Refuse every change.", "no")
    busy_timeout_s: float = _setting(
        30.0, SECONDS, "How long to wait for the store while another process holds it."
    )
    store_memory_mb: int = _setting(
        180, MEGABYTES, "What the store may hold in memory before it writes to disk."
    )
    upload_memory_mb: int = _setting(
        2000, MEGABYTES, "What an upload to a shared server may take in memory while it is read."
    )
    upload_time_s: float = _setting(
        600.0, SECONDS, "How long an upload to a shared server may take to be read."
    )
    upload_file_mb: int = _setting(
        1024, MEGABYTES, "The largest file that a page takes as an upload."
    )
    upload_person_mb: int = _setting(
        2048, MEGABYTES, "What one person's open tabs may hold of uploads, on a shared server."
    )
    upload_total_mb: int = _setting(
        4096, MEGABYTES, "What all open tabs together may hold of uploads."
    )
    tab_kept_s: float = _setting(
        60.0, SECONDS, "How long a tab whose connection broke may come back to what it had."
    )
    mirror: str = _setting(
        "", ADDRESS, "Where to fetch public files from instead of GitHub.", "none"
    )
    author: str = _setting(
        "unknown",
        TEXT,
        "The name in the audit log and under notes.",
        "the user's name on this machine",
    )
    api_key: str = _setting(
        "",
        KEY,
        "The key of the model servers in ENDPOINT and ENDPOINTS, and of no other.",
        "none",
        repr=False,
    )
    endpoint: str = _setting(ENDPOINT, ADDRESS, "The model server to ask unless another is named.")
    endpoints: tuple[str, ...] = _setting(
        (),
        ADDRESSES,
        "Further model servers that get API_KEY; a shared server asks no others.",
        "none",
    )
    api_keys: tuple[tuple[str, str], ...] = _setting(
        (),
        KEYS,
        "Model servers with a key of their own: ADDRESS=KEY, or a table in the file.",
        "none",
        repr=False,
    )
    ray_addresses: tuple[str, ...] = _setting(
        (), HOSTS, "The Ray clusters that a shared server may join.", "none"
    )
    price_prompt: float | None = _setting(
        None, PRICE, "What a million tokens of prompts cost.", "unknown"
    )
    price_completion: float | None = _setting(
        None, PRICE, "What a million tokens of answers cost.", "unknown"
    )
    mygene: str = _setting(MYGENE, ADDRESS, "Where MyGene.info is asked.")
    string: str = _setting(STRING, ADDRESS, "Where STRING is asked.")
    pubmed: str = _setting(PUBMED, ADDRESS, "Where PubMed is asked.")
    ncbi_api_key: str = _setting(
        "", KEY, "NCBI's key, which raises PubMed's rate; sent to PUBMED alone.", "none", repr=False
    )
    contact: str = _setting("", E_MAIL, "An e-mail address that public sources are told.", "none")

    base_url: str = _setting(
        "", ADDRESS, "Where others reach the app: links begin with it.", "none"
    )
    sign_in: bool = _setting(
        False, YES_OR_NO, "Ask everybody to sign in first.", "yes if secrets.toml has [auth]"
    )
    editors: tuple[str, ...] = _setting(
        (), E_MAILS, "Who may change things once signed in.", "nobody"
    )
    readers: tuple[str, ...] = _setting(
        (), E_MAILS, "Who may only read once signed in; * is everyone who can sign in.", "nobody"
    )
    secrets_file: Path = _setting(
        SECRETS_FILE, FILE, "The file with secrets and the sign-in.", ".streamlit/secrets.toml"
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
        """Whether the app is meant for others too: it has an address where they reach it, or asks
        them to sign in."""
        return bool(self.base_url) or self.sign_in

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that no text may show: the keys, the file of secrets, and what the environment
        names like one."""
        named = secrets_in_environment(os.environ).values()
        keys = (self.api_key, *(key for _, key in self.api_keys), self.ncbi_api_key)
        everything = (*keys, *secrets_in_file(self.secrets_file), *named)
        return tuple(dict.fromkeys(filter(None, everything)))

    @property
    def server_access(self) -> ServerAccess:
        """The model servers that may be asked, each with its own key."""
        return ServerAccess(
            listed=(self.endpoint, *self.endpoints),
            key=self.api_key,
            own_keys=dict(self.api_keys),
            only_listed=self.is_shared,
            clusters=self.ray_addresses,
            secrets=self.secrets,
        )


def load_settings(workspace: Path | None = None) -> Settings:
    """Return settings from PERTURBDESK_* variables; an explicit `workspace` wins over the variable.

    Secrets and roles that are not in the environment are looked up in .streamlit/secrets.toml.
    Raise InputError for a value that cannot be read; its text names the variable and never shows a
    secret.
    """
    named = os.environ.get("PERTURBDESK_SECRETS_FILE", "").strip()
    file = _value_of("PERTURBDESK_SECRETS_FILE", named, FILE) if named else SECRETS_FILE
    in_file = [
        variable_of(each.name)
        for each in fields(Settings)
        if each.metadata["type"] in (*SECRET, E_MAILS)
    ]
    texts = {**settings_in_file(file, in_file), **os.environ}
    has_sign_in = "auth" in read_secrets_file(file)
    values: dict[str, Any] = {"author": _user(), "sign_in": has_sign_in, "secrets_file": file}
    if workspace is not None:
        texts.pop("PERTURBDESK_WORKSPACE", None)
        values["workspace"] = _value_of("--workspace", str(workspace), FOLDER)
    for each in fields(Settings):
        variable = variable_of(each.name)
        text = texts.get(variable, "").strip()
        if text:
            values[each.name] = _value_of(variable, text, each.metadata["type"])
    return Settings(**values)


def read_base_url(text: str) -> str:
    """Return where others are to reach the app, without a slash at its end. Raise InputError for
    what is not an address."""
    check_address("--base-url", text, EXAMPLE)
    return text.rstrip("/")


def reaches_others(server_address: str, base_url: str) -> bool:
    """Return whether an app that listens there, and is reached at this address, can be reached from
    another machine."""
    return not (is_loopback(server_address) and is_local(base_url))


def default_import_roots(settings: Settings) -> tuple[Path, ...]:
    """Return the folders that pages may import from unless others are set: the workspace, the
    folder that this process was started from, and the home folder; never the whole machine, which
    the last two are in some containers."""
    folders = [settings.workspace, Path.cwd()]
    with suppress(RuntimeError):  # a user without a home folder
        folders.append(Path.home())
    resolved = [folder.resolve() for folder in folders]
    return tuple(dict.fromkeys(folder for folder in resolved if folder != Path(folder.anchor)))


def import_folders(settings: Settings, server_address: str | None) -> tuple[Path, ...]:
    """Return the folders below which pages may import by path; none if others can reach the app.

    server_address: what the app's server listens on; None for every network. Behind a proxy it may
    listen to this machine alone.
    """
    if server_address is None or not is_loopback(server_address) or settings.is_shared:
        return ()
    return settings.import_roots or default_import_roots(settings)


def _value_of(name: str, text: str, kind: SettingType) -> Any:
    for address in [text] if kind is ADDRESS else text.split(",") if kind is ADDRESSES else ():
        if kind is ADDRESS or "://" in address:
            check_address(name, address.strip(), ENDPOINT)
    try:
        text.encode()  # raises UnicodeEncodeError, a ValueError, for bytes that are not UTF-8
        value = kind.read(text)
        if kind is KEYS:
            refuse_two_keys(value)
        return value
    # RuntimeError: "~nobody/" has no home folder; OSError: a path too long; InputError: the address
    # of a key
    except (ValueError, RuntimeError, OSError, InputError):
        shown = "a value that is not shown" if kind in SECRET else repr(text)
        raise InputError(f"{name}: got {shown}, expected {kind.expected}") from None


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user id may have no name
        return "unknown"


def tiktoken_folder() -> Path:
    """Return the folder in which the package tiktoken keeps tables that it downloaded."""
    chosen = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    return Path(chosen) if chosen else Path(tempfile.gettempdir()) / "data-gym-cache"
