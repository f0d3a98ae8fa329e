"""Turns the request of a run into its specification: the only way to a run's identity."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from core.base.errors import InputError, SettingError, StateError
from core.base.fields.record import options_of, read_options, values_of
from core.base.fields.setting import Option, split_names
from core.base.hashes import sha256_of
from core.base.types import TRAIN, JsonObject, Options, Pair
from core.llm.call_settings import CallSettings
from core.methods.base import (
    AsksAgain,
    DerivedMethod,
    Method,
    packs_read,
    refuse_missing_sources,
)
from core.methods.coded_names import REWRITTEN
from core.methods.fusion_components import ComponentLoader
from core.runs.dependencies import ReadsTexts, load_pairs
from core.runs.request import RunRequest, choose_rows, parse_row_selection
from core.runs.spec import LabelViewSpec, RunSpec, ViewKind, dataset_sha256
from core.store import Store, predictions, runs, spaces
from core.store.runs import Run

_OF_ASKING = ("labels", "seed", "repeat")  # of model calls and labels
_OF_CALLS = tuple(option.name for option in options_of(CallSettings) if option.about.changes_result)
_OF_MODEL = ("model", "endpoint", "token_budget", "timeout_s", "max_answer_mb", "cached")


def resolve(
    store: Store,
    request: RunRequest,
    method: Method,
    components: ComponentLoader,
    packs: Mapping[str, str],
) -> RunSpec:
    """Return the specification of a request on the dataset of `components`.

    packs: knowledge pack → SHA-256, of the existing ones; those that the method reads belong to the
    specification.

    Requests that mean the same give equal specifications, whichever page or command they come from.
    Raise InputError for invalid options or rows, NotFound for a run or a space that does not exist.
    """
    options = _options_of(method, request)
    known = list(load_pairs(store, components.dataset_id).values())
    prompts = "" if isinstance(method, AsksAgain) else method.prompts(options)
    model = {
        "model": request.model or "",
        "seed": request.seed,
        "repeat": request.repeat,
        "calls": request.calls.identity,
    }
    if not method.needs_model:
        _refuse_without_effect(method, request, _OF_CALLS)
    if isinstance(method, DerivedMethod):
        _refuse_without_effect(method, request, _OF_ASKING)
        options = method.complete(options, components)
        default = () if request.rows else set(method.default_rows(options, components))
        rows = (
            choose_rows(known, request.rows)
            if request.rows
            else tuple(pair.pair_id for pair in known if pair.pair_id in default)
        )
        particulars: JsonObject = {"parents": method.parents(options)}
    elif isinstance(method, ReadsTexts):
        _refuse_without_effect(method, request, ("labels",))
        with store.read() as db:
            run = runs.find_predicting(db, method.parent(options))
            having = method.rows_with_texts(db, run, options)
        rows = choose_rows([pair for pair in known if pair.pair_id in having], request.rows)
        options = {**options, "run": run.id}
        particulars = {"parents": (run.id,), **model}
    elif isinstance(method, AsksAgain):
        _refuse_without_effect(method, request, _OF_ASKING)
        earlier, rows = _rows_asked_before(store, request, method, known, options)
        of_parent: JsonObject = {
            "seed": int(earlier.spec.get("seed", 0)),
            "repeat": int(earlier.spec.get("repeat", 0)),
        }
        of_parent |= {"calls": request.calls.over_run(earlier.spec).identity}
        options = method.complete(options, earlier.id, earlier.spec["options"], of_parent["seed"])
        prompts, view = method.prompts(options), LabelViewSpec(**earlier.spec["view"])
        particulars = {
            "parents": (earlier.id,),
            "model": earlier.model or "",
            "view": view,
            **of_parent,
        }
    else:
        rows = choose_rows(known, request.rows or default_rows(known))
        view = _label_view(request.labels, known, rows)
        read = packs_read(method, options)
        particulars = {
            "view": view,
            "packs": {name: packs[name] for name in packs if name in read},
            **model,
        }
    with store.read() as db:
        sources = {
            name: spaces.find(db, name).sha256 for name in split_names(options.get("spaces", ""))
        }
    return RunSpec(
        method=method.name,
        version=method.version,
        options=options,
        dataset=components.dataset_id,
        dataset_sha256=dataset_sha256(known),
        rows=rows,
        prompts_sha256=sha256_of(prompts) if prompts else "",
        sources=sources,
        without_effect=tuple(
            option.name for option in options_of(method.settings) if not option.about.changes_result
        ),
        **particulars,
    )


def _options_of(method: Method, request: RunRequest) -> JsonObject:
    """Return the options of a request.

    Raise InputError for invalid options, for missing sources, and for coded names with texts of
    public sources, because these contain names that no pack lists.
    """
    options = read_options(method.settings, request.options)
    refuse_missing_sources(method, options)
    if options.get("names") in REWRITTEN and options.get("sources", "packs") != "packs":
        raise InputError(
            f"names: {options['names']} needs sources = packs, got {options['sources']!r}"
        )
    added = {
        option.name: option.default for option in options_of(method.settings) if option.about.added
    }
    return {
        name: value for name, value in options.items() if name not in added or value != added[name]
    }


def check_typed(method: Method, request: RunRequest) -> None:
    """Raise InputError for options and rows that cannot be read, before a server or the store is
    asked for anything."""
    _options_of(method, request)
    if isinstance(request.rows, str):
        parse_row_selection(request.rows)


def model_settings_without_effect(method: Method, request: RunRequest) -> list[Option]:
    """Return the settings of a model's calls that were chosen for a method that calls none; a
    script may give them to all."""
    return [] if method.needs_model else list(_chosen(request, _OF_MODEL))


def _refuse_without_effect(method: Method, request: RunRequest, names: Collection[str]) -> None:
    """Raise SettingError for one of these settings of a request that has no effect on a method and
    is not at its default.

    A derived method calls no model and has its own protocol for labels; one that reads texts sees
    no labels; one that asks again asks as its parent did.
    """
    for option in _chosen(request, names):
        usual = "none" if option.default in (None, "", ()) else repr(option.default)
        got = f"got {values_of(request)[option.name]!r}"
        raise SettingError(
            option.name, f"{got}, which has no effect on {method.name}; expected {usual}"
        )


def _chosen(request: RunRequest, names: Collection[str]) -> Iterator[Option]:
    """Yield those of these settings of a request that are not at their default."""
    values = values_of(request)
    return (
        option
        for option in options_of(RunRequest)
        if option.name in names and values[option.name] != option.default
    )


def _rows_asked_before(
    store: Store,
    request: RunRequest,
    method: AsksAgain,
    known: Sequence[Pair],
    options: Options,
) -> tuple[Run, tuple[str, ...]]:
    """Return the run that is asked again, and the ids of the chosen ones of its rows, by default of
    all.

    Raise StateError for a run that was not made here by the method that is asked again.
    """
    with store.read() as db:
        run = runs.find_predicting(db, method.parent(options))
        answered = set(predictions.frame(db, run.id)["pair_id"])
    if run.method != method.asks_again or not isinstance(run.spec.get("options"), Mapping):
        raise StateError(
            f"run {run.name} ({run.method}, {run.origin}): cannot be asked again; expected a"
            f" {method.asks_again} that was made here, whose settings are known"
        )
    if run.spec["options"].get("names") in REWRITTEN:
        raise StateError(
            f"run {run.name}: its names were {run.spec['options']['names']}; expected a debate with"
            " names as they are"
        )
    return run, choose_rows([pair for pair in known if pair.pair_id in answered], request.rows)


def default_rows(known: Sequence[Pair]) -> str:
    """Return the default rows of a request: the test split if there is one, otherwise all."""
    return "split=test" if any(pair.split == "test" for pair in known) else ""


def _label_view(
    labels: str | LabelViewSpec, known: Sequence[Pair], rows: Sequence[str]
) -> LabelViewSpec:
    """Return the label view that a request asks for; "auto" means folds if a labelled training row
    is among them."""
    if isinstance(labels, LabelViewSpec):
        return labels
    chosen = set(rows)
    labelled = any(pair.label and pair.split == TRAIN for pair in known if pair.pair_id in chosen)
    kinds: dict[str, ViewKind] = {
        "all": "all",
        "blinded": "blinded",
        "folds": "folds",
        "auto": "folds" if labelled else "all",
    }
    if labels not in kinds:
        raise InputError(f"labels: got {labels!r}, expected {', '.join(kinds)}")
    return LabelViewSpec(kinds[labels])
