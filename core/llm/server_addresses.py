"""Several model servers: their addresses in a text or a file, whether they serve the same model, and how each is doing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import SplitResult, urlsplit

from core.errors import InputError
from core.file_io import read_file
from core.llm.endpoint import EXAMPLE
from core.net.addresses import check_address

if TYPE_CHECKING:
    from core.llm.health import Health  # which brings NumPy

ServerState = Literal["checking", "ready", "resting", "refused", "leaving"]
_MAX_FILE_BYTES = 1 << 20
_ONE_A_LINE = "expected one address a line"


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How one of several servers is doing in a run.

    state: checking (being asked what it serves), ready, resting (after failures, until it is asked again), refused (it differs
    from the others), leaving (its address was taken away, and its last requests are finished). in_flight: requests that wait
    for its answer. done: its answers; failed: its faults; tokens: of its answers. tokens_per_s: of late. problem: why it is
    not ready, "" if it is.
    """

    address: str
    state: ServerState
    in_flight: int = 0
    done: int = 0
    failed: int = 0
    tokens: int = 0
    tokens_per_s: float = 0.0
    problem: str = ""


def normalise(text: str) -> str:
    """What a person gave, as settings hold it: addresses joined by commas, or the absolute path of a file.

    Raises InputError as `read_addresses` does.
    """
    if "://" in text or not text.strip(" ,"):
        return ",".join(read_addresses(text))
    file = _find_file(text.strip())
    if file is None:
        raise InputError(f"endpoint: {text.strip()!r} is neither a file nor an address, expected one such as {EXAMPLE}")
    read_addresses(str(file))
    return str(file)


def _find_file(text: str) -> Path | None:
    """Returns the absolute path of a file that is there, or of any that is given by an absolute path; else None."""
    try:
        path = Path(text).expanduser()
        return path.absolute() if path.is_absolute() or path.is_file() else None
    except (OSError, RuntimeError):  # too long, or in the home of nobody
        return None


def names_file(text: str) -> bool:
    """Whether a text, as settings hold it, is the path of a file of addresses."""
    return text.startswith("/")


def check_addresses(text: str) -> None:
    """Raises InputError if addresses, as settings hold them, cannot be used; a file is not read."""
    if not names_file(text):
        read_addresses(text)


def read_addresses(text: str) -> tuple[str, ...]:
    """The addresses that are joined by commas in a text, or that stand in the file whose absolute path it is, in their order.

    In a file, what follows "#" is a remark. Raises InputError if there is none, if one is not an address or comes twice, and if
    the file cannot be read; its text shows nothing of a file that may hold other things.
    """
    if not names_file(text):
        return _distinct("endpoint", [_checked("endpoint", part) for part in text.split(",") if part.strip()], "expected one")
    file = Path(text)
    try:
        lines = read_file(file, _MAX_FILE_BYTES).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is no text, {_ONE_A_LINE}") from error
    found = []
    for number, line in enumerate(lines, 1):
        for part in line.partition("#")[0].split(","):
            if part.strip():
                if "://" not in part:
                    raise InputError(f"{file}, line {number}: is no address, expected one such as {EXAMPLE}")
                found.append(_checked(f"{file}, line {number}", part))
    return _distinct(str(file), found, _ONE_A_LINE)


def _checked(where: str, part: str) -> str:
    address = part.strip().rstrip("/")
    check_address(where, address, EXAMPLE)
    return address


def _distinct(where: str, addresses: list[str], expected: str) -> tuple[str, ...]:
    if not addresses:
        raise InputError(f"{where}: holds no address, {expected}")
    seen: set[SplitResult] = set()
    for address in addresses:
        parts = urlsplit(address)  # whose scheme is in lower case
        server = parts._replace(netloc=parts.netloc.lower())
        if server in seen:
            raise InputError(f"{where}: {address} comes twice, expected each server once")
        seen.add(server)
    return tuple(addresses)


def describe_difference(health: Health, model: str, reference: Health, at: str) -> str:
    """What differs between a server that answers and the first one, which is `at` an address: "" if both can be in one run.

    at: "" for the first one itself, which has to serve the model.
    """
    if model not in health.models:
        return f"serves {', '.join(health.models) or 'no model'}, expected {model}{f' as {at} does' if at else ''}"
    if health.problem:  # no completion came, which says nothing of what it can do
        return ""
    if health.logprobs != reference.logprobs:
        gives = {True: "gives log-probabilities", False: "gives no log-probabilities"}
        return f"{gives[health.logprobs]}, but {at} {gives[reference.logprobs]}"
    if health.max_model_len != reference.max_model_len:
        lengths = [f"{n:,} tokens" if n else "of unknown length" for n in (health.max_model_len, reference.max_model_len)]
        return f"has a longest context of {lengths[0]}, expected {lengths[1]} as at {at}".replace("of of", "of")
    return ""
