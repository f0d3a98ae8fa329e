"""Several model servers: their addresses as given, whether they serve the same model, and the state of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core.errors import InputError
from core.llm.endpoint import EXAMPLE
from core.net.addresses import read_addresses

if TYPE_CHECKING:
    from core.llm.health import Health  # which brings NumPy

ServerState = Literal["checking", "ready", "resting", "refused", "leaving"]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of one of several servers in a run.

    state: checking (being asked what it serves), ready, resting (after failures, until it is asked again), refused (it differs
    from the others), leaving (its address was taken away, and its last requests are finished). in_flight: requests that wait for
    its answer. done: its answers; failed: its faults; tokens: of its answers. tokens_per_s: of late. problem: why it is not
    ready, "" if it is.
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
    """Return the given addresses in the form of settings: addresses joined by commas, or the absolute path of a file.

    Raise InputError as `read_addresses` does.
    """
    if "://" in text or not text.strip(" ,"):
        return ",".join(read_addresses(text))
    file = _find_file(text.strip())
    if file is None:
        raise InputError(f"endpoint: {text.strip()!r} is neither a file nor an address, expected one such as {EXAMPLE}")
    read_addresses(str(file))
    return str(file)


def _find_file(text: str) -> Path | None:
    """Return the absolute path of an existing file, or of any absolute path; otherwise None."""
    try:
        path = Path(text).expanduser()
        return path.absolute() if path.is_absolute() or path.is_file() else None
    except (OSError, RuntimeError):  # too long, or in the home of nobody
        return None


def describe_difference(health: Health, model: str, reference: Health, at: str) -> str:
    """Return how a server differs from the first one, whose address is `at`; "" if one run can use both.

    at: "" for the first one itself, which has to serve the model.
    """
    if model not in health.models:
        return f"serves {', '.join(health.models) or 'no model'}, expected {model}{f' as {at} does' if at else ''}"
    if health.problem:  # without a completion, the server's abilities are unknown
        return ""
    if health.logprobs != reference.logprobs:
        gives = {True: "gives log-probabilities", False: "gives no log-probabilities"}
        return f"{gives[health.logprobs]}, but {at} {gives[reference.logprobs]}"
    if health.max_model_len != reference.max_model_len:
        lengths = [f"{n:,} tokens" if n else "of unknown length" for n in (health.max_model_len, reference.max_model_len)]
        return f"has a longest context of {lengths[0]}, expected {lengths[1]} as at {at}".replace("of of", "of")
    return ""
