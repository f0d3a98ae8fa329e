"""Settings that several requests have: which model is asked, how much at once, how many tokens, and
where."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le

from core.base.fields.setting import Count, Positive, Whole, setting
from core.runs.spec import MOST_CALLS, BackendName

SERVERS_HELP = (
    "A model server's address ending in /v1, or several, joined by commas. Or a file of them, one a"
    " line, which is read again while the run goes on."
)
DatasetName = Annotated[
    str | None, setting("By default the only one that is not the demo.", where="command")
]
Server = Annotated[
    str | None,
    setting(
        "A model server's address ending in /v1.",
        title="Model server",
        names="server",
        missing="that of the settings",
        changes_result=False,
    ),
]
Servers = Annotated[Server, setting(SERVERS_HELP, metavar="URL[,URL…]|FILE")]
Model = Annotated[
    str | None,
    setting(
        "The model to ask; by default the only one that the server lists.",
        title="Model",
        missing="the server's only model",
    ),
]
Seed = Annotated[Whole, setting("The random seed of the calls.", title="Seed")]
CallsAtOnce = Annotated[
    int,
    Ge(1),
    Le(MOST_CALLS),
    setting("How many calls to wait for at once.", title="Calls at once", changes_result=False),
]
TokenBudget = Annotated[
    Count | None,
    setting(
        "Start no further row once so many tokens are spent.",
        title="Token budget",
        key="budget",
        changes_result=False,
    ),
]
Timeout = Annotated[
    Positive,
    setting(
        "Seconds to wait for one answer.",
        title="Seconds to wait",
        option="--timeout",
        changes_result=False,
    ),
]
LongestAnswer = Annotated[
    Positive,
    setting(
        "Cut answers off beyond so many million bytes; log-probabilities of long answers get more.",
        title="Longest answer, million bytes",
        changes_result=False,
    ),
]
Cached = Annotated[
    bool,
    setting(
        "Whether an answer that was cached counts, or the model is asked again.",
        title="Reuse cached answers to identical requests",
        option="--no-cache",
        changes_result=False,
    ),
]
Backend = Annotated[
    BackendName,
    setting(
        "Where rows are predicted: local (in the worker's process) or ray (on a Ray cluster).",
        title="Rows are predicted on",
        words={"local": "this machine", "ray": "a Ray cluster"},
        changes_result=False,
    ),
]
ClusterAddress = Annotated[
    str,
    setting(
        "HOST:PORT of the Ray cluster, as `ray start --head` prints it; auto: the one on this"
        " machine. Without one, Ray starts here and ends with the work. Answers, journal and store"
        " stay on this machine.",
        title="Address of the cluster",
        names="cluster",
        missing="none: start one here",
        metavar="HOST:PORT|auto",
        key="address-ray",
        changes_result=False,
    ),
]
