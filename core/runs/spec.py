"""What a run is (`RunSpec`, its identity) and how it is carried out (`ExecutionSettings`, which may
change between resumes)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le

from core.base.errors import InputError, SettingError
from core.base.fields.setting import Count, Positive, Whole, setting
from core.base.hashes import KEY_DIGITS, sha256_of
from core.base.net.addresses import names_file, read_addresses
from core.base.net.server_access import NO_KEYS, ServerAccess
from core.base.records import to_json
from core.base.types import ASKED, JsonObject, Options, Pair
from core.llm.call_settings import CallSettings
from core.llm.endpoint import CONCURRENCY, EXAMPLE, MAX_ANSWER_MB, TIMEOUT_S, Endpoint, asks_several

ViewKind = Literal["all", "blinded", "folds"]
BackendName = Literal["local", "ray"]
VERSION = 1  # of the files with these records
VIEWS, BACKENDS = get_args(ViewKind), get_args(BackendName)
MOST_CALLS = 4096  # at once
_RAY_ADDRESS = re.compile(r"auto|(?:[\w.-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")


def check_backend(backend: str, ray_address: str) -> None:
    """Raise SettingError unless there is such a backend, and the address is one of a Ray cluster;
    "" for none."""
    if backend not in BACKENDS:
        raise SettingError("backend", f"got {backend!r}, expected {' or '.join(BACKENDS)}")
    if ray_address and backend != "ray":
        raise SettingError(
            "ray_address",
            f"got {ray_address}, but the backend is {backend}; expected the backend ray with it",
        )
    if ray_address and not _is_ray_address(ray_address):
        raise SettingError("ray_address", f"got {ray_address!r}, expected HOST:PORT or auto")


def _is_ray_address(text: str) -> bool:
    """Return whether a text is `auto`, or HOST:PORT with a port from 1 to 65535."""
    port = text.rpartition(":")[2]
    return _RAY_ADDRESS.fullmatch(text) is not None and (text == "auto" or 0 < int(port) < 1 << 16)


@dataclass(frozen=True, slots=True)
class LabelViewSpec:
    """Which labels a row's tools may see: those of all training rows, of training rows that share
    no symbol with the run's rows ("blinded"), or of rows outside the row's own cell ("folds"; k and
    seed as in `fold_views`)."""

    kind: ViewKind = "all"
    k: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in VIEWS:
            raise InputError(f"label view: got {self.kind!r}, expected {', '.join(VIEWS)}")
        if self.kind == "folds" and self.k < 2:
            raise InputError(f"label view: got {self.k} folds, expected at least 2")

    def as_json(self) -> JsonObject:
        """Return plain data, with k and seed for folds only."""
        return asdict(self) if self.kind == "folds" else {"kind": self.kind}


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything that determines a run's answers except chance, as plain data.

    version: the method's. dataset: an id; dataset_sha256: of its rows and labels. rows: pair ids,
    in the order of asking. prompts_sha256: of the method's prompt texts, "" without. parents: ids
    of runs. packs: knowledge pack → SHA-256, of those that the method reads. sources: gene space,
    as the options name it → SHA-256; part of the identity if there is one. calls: how the model's
    server is asked, as far as it can change an answer and is not as by default; likewise.
    without_effect: names of the options that change no answer, which the method reads, but the
    identity leaves out.
    """

    method: str
    version: int
    options: Options
    dataset: str
    dataset_sha256: str
    rows: tuple[str, ...]
    model: str = ""
    seed: int = 0
    repeat: int = 0
    prompts_sha256: str = ""
    view: LabelViewSpec = field(default_factory=LabelViewSpec)
    parents: tuple[str, ...] = ()
    packs: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, Any] = field(default_factory=dict)
    without_effect: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.rows:
            raise InputError(f"run of {self.method}: got no rows, expected one at least")
        if len(set(self.rows)) != len(self.rows):
            twice = next(row for i, row in enumerate(self.rows) if row in self.rows[:i])
            raise InputError(f"run of {self.method}: row {twice!r} comes twice, expected each once")

    @property
    def context(self) -> str:
        """The option `context`: a cell context's name or text; "" for methods without one."""
        return str(self.options.get("context", ""))

    @property
    def prompt_file(self) -> str:
        """The option `prompts`: the SHA-256 of the file whose prompts are asked; "" without."""
        return str(self.options.get("prompts", ""))

    def as_json(self) -> JsonObject:
        """Return plain data. `records.from_json` makes an equal record from it."""
        # NaN stays, to be refused
        values = to_json(self) | {"options": dict(self.options), "view": self.view.as_json()}
        # without any, runs keep the ids they always had
        for name in ("sources", "calls", "without_effect"):
            if not values[name]:
                del values[name]
        return values

    def summary(self) -> JsonObject:
        """Return `as_json` with the number and hash of rows instead of the rows, for the store."""
        rows = {"rows": len(self.rows), "rows_sha256": sha256_of("\n".join(self.rows))}
        return {name: value for name, value in self.as_json().items() if name != "method"} | rows

    @property
    def key(self) -> str:
        """The run's identity, 10 hexadecimal digits: equal for equal specifications, independent of
        the runs' names."""
        values = self.as_json()
        left_out = values.pop("without_effect", ())
        values["options"] = {
            name: value for name, value in values["options"].items() if name not in left_out
        }
        return sha256_of(json.dumps(values, sort_keys=True, allow_nan=False))[:KEY_DIGITS]


@dataclass(frozen=True, slots=True)
class ExecutionSettings:
    """How a run is carried out, which is not a part of its identity and holds no secret.

    servers: the address of the model server; several, joined by commas; the absolute path of a file
    that lists them and is read again while the run goes on; "" if none is needed. longest_outage_s:
    how long a run waits while none of several servers can be used, before it stops. concurrency:
    the number of simultaneous calls; rows_in_flight: of rows. token_budget: a
    call waits until its prompt and its limit fit into what is left of so many tokens, or it is the
    only one; none starts once they are spent; None for no limit. cached: whether answers of the
    response cache are used. unanswered_limit: the number of consecutive rows without an answer that
    stops the run. backend: where rows are predicted. ray_address: of the Ray cluster, HOST:PORT or
    "auto" for the one that runs on this machine; "" starts one here. calls: how a server is asked.
    The others are those of `Endpoint`.
    """

    servers: str = ""
    concurrency: Annotated[int, Ge(1), Le(MOST_CALLS)] = CONCURRENCY
    rows_in_flight: Annotated[int, Ge(1), Le(MOST_CALLS)] = CONCURRENCY
    token_budget: Annotated[int, Ge(1)] | None = None
    cached: bool = True
    unanswered_limit: Annotated[int, Ge(1)] = 16
    timeout_s: float = TIMEOUT_S
    retries: int = 5
    backoff_s: float = 0.5
    longest_backoff_s: float = 30.0
    longest_wait_s: float = 120.0
    max_answer_mb: float = MAX_ANSWER_MB
    longest_outage_s: float = 3600.0
    backend: BackendName = "local"
    ray_address: str = ""
    calls: CallSettings = field(default_factory=CallSettings)

    def __post_init__(self) -> None:
        check_backend(self.backend, self.ray_address)
        if self.has_several and not names_file(self.servers):
            read_addresses(self.servers)
        if self.servers:
            self.endpoint()

    def as_json(self) -> JsonObject:
        """Return plain data. `records.from_json` makes an equal record from it."""
        return to_json(self)

    @property
    def has_several(self) -> bool:
        """Whether there may be more than one model server."""
        return asks_several(self.servers)

    def endpoint(self, access: ServerAccess = NO_KEYS) -> Endpoint:
        """Return the model server with its key, which is never written to a file. If there may be
        several, return only the limits and the access, with an example address.
        """
        limits = (
            "timeout_s",
            "retries",
            "backoff_s",
            "longest_backoff_s",
            "longest_wait_s",
            "max_answer_mb",
            "calls",
        )
        return Endpoint(
            EXAMPLE if self.has_several else self.servers,
            access,
            **{name: getattr(self, name) for name in limits},
        )


def dataset_sha256(pairs: Iterable[Pair]) -> str:
    """Return the SHA-256 of a dataset's own rows, labels and splits, in any order."""
    return sha256_of(
        json.dumps(
            sorted(
                [p.pair_id, p.pert, p.gene, p.label or "", p.split]
                for p in pairs
                if p.split != ASKED
            )
        )
    )


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
        "Spend no more tokens: a call waits until its prompt and limit fit, the last are made one"
        " at a time.",
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
