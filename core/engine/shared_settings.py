"""Settings that several requests have: which model is asked, how much at once, how many tokens, and where."""

from __future__ import annotations

from typing import Any

from core.engine.spec import MOST_CALLS, BackendName
from core.fields.record import setting
from core.llm.endpoint import CONCURRENCY, MAX_ANSWER_MB, TIMEOUT_S

_USUAL_SERVER = "that of the settings"
SERVERS_HELP = (
    "A model server's address ending in /v1, or several, joined by commas. Or a file of them, one a line, which is read again "
    "while the run goes on."
)


def one_server(help: str = "A model server's address ending in /v1.") -> Any:
    """Return the setting of a request that asks one model server."""
    return setting(None, help, kind="server", title="Model server", missing=_USUAL_SERVER, changes_result=False)


def several_servers(help: str = SERVERS_HELP, missing: str = _USUAL_SERVER) -> Any:
    """Return the setting of a request that asks one model server or several."""
    about: dict[str, Any] = {"kind": "server", "metavar": "URL[,URL…]|FILE", "title": "Model server"}
    return setting(None, help, missing=missing, changes_result=False, **about)


def one_model() -> Any:
    """Return the setting of which model of a server is asked."""
    about = "The model to ask; by default the only one that the server lists."
    return setting(None, about, title="Model", missing="the server's only model")


def random_seed(help: str = "The random seed of the calls.", key: str = "") -> Any:
    """Return the setting of a random seed."""
    return setting(0, help, title="Seed", least=0, key=key)


def calls_at_once(default: int | None = CONCURRENCY, help: str = "How many calls to wait for at once.") -> Any:
    """Return the setting of how many calls of a model a request waits for."""
    return setting(default, help, title="Calls at once", least=1, most=MOST_CALLS, changes_result=False)


def most_tokens(help: str = "Start no further row once so many tokens are spent.") -> Any:
    """Return the setting of how many tokens a run may spend."""
    return setting(None, help, title="Token budget", least=1, key="budget", changes_result=False)


def seconds_to_wait() -> Any:
    """Return the setting of how long an answer may take."""
    about: dict[str, Any] = {"flag": "--timeout", "title": "Seconds to wait"}
    return setting(TIMEOUT_S, "Seconds to wait for one answer.", above=0, changes_result=False, **about)


def longest_answer() -> Any:
    """Return the setting of how long an answer may be."""
    return setting(
        MAX_ANSWER_MB,
        "Cut answers off beyond so many million bytes; log-probabilities of long answers get more.",
        title="Longest answer, million bytes",
        above=0,
        changes_result=False,
    )


def cached_answers() -> Any:
    """Return the setting of whether cached answers count."""
    return setting(
        True,
        "Whether an answer that was cached counts, or the model is asked again.",
        flag="--no-cache",
        title="Reuse cached answers to identical requests",
        command_help="Ask the model again even if an answer is cached.",
        changes_result=False,
    )


def where_predicted(default: BackendName | None = "local", help: str = "", title: str = "Rows are predicted on") -> Any:
    """Return the setting of where rows are predicted."""
    usual = "Where rows are predicted: local (in the worker's process) or ray (on a Ray cluster)."
    words = {"local": "this machine", "ray": "a Ray cluster"}
    return setting(default, help or usual, title=title, words=words, changes_result=False)


def cluster_address(default: str | None = "", help: str = "") -> Any:
    """Return the setting of the Ray cluster's address."""
    return setting(
        default,
        help
        or "HOST:PORT of the Ray cluster, as `ray start --head` prints it; auto: the one on this machine. Without one, Ray "
        "starts here and ends with the work. Answers, journal and store stay on this machine.",
        metavar="HOST:PORT|auto",
        title="Address of the cluster",
        missing="none: start one here",
        key="address-ray",
        in_link=False,
        command_help=help or "Address of the Ray cluster; auto: the one on this machine. By default one is started.",
        changes_result=False,
    )
