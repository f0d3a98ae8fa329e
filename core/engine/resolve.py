"""From what a person asks for to what a run is: the only way to a run's identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.engine.dependencies import pairs_of
from core.engine.request import RunRequest, parse_row_selection, select_rows
from core.engine.spec import LabelViewSpec, RunSpec, ViewKind, dataset_sha256, sha256_of
from core.errors import InputError
from core.methods.base import DerivedMethod, Method, read_options, split_names
from core.methods.components import ComponentLoader
from core.store import Store, spaces
from core.types import Pair


def resolve(store: Store, request: RunRequest, method: Method, components: ComponentLoader, packs: Mapping[str, str]) -> RunSpec:
    """Returns the specification of a request on the dataset of `components`; packs: knowledge pack → SHA-256.

    Requests that mean the same give equal specifications, whichever page or command they come from. Raises InputError for
    options or rows that cannot be, NotFound for a run or a space that is not there.
    """
    options = read_options(method.options, request.options)
    known = list(pairs_of(store, components.dataset_id).values())
    prompts = method.prompts(options)
    common: dict[str, Any] = {
        "method": method.name,
        "version": method.version,
        "dataset": components.dataset_id,
        "dataset_sha256": dataset_sha256(known),
        "prompts_sha256": sha256_of(prompts) if prompts else "",
    }
    if isinstance(method, DerivedMethod):
        return _resolve_derived(store, request, method, components, known, options, common)
    rows = select_rows(known, parse_row_selection(request.rows or default_rows(known)))
    return RunSpec(
        **common,
        options=options,
        rows=rows,
        model=request.model or "",
        seed=request.seed,
        repeat=request.repeat,
        view=_label_view(request.labels, known, rows),
        packs=packs,
        sources=_space_hashes(store, options),
    )


def _resolve_derived(
    store: Store,
    request: RunRequest,
    method: DerivedMethod,
    components: ComponentLoader,
    known: Sequence[Pair],
    options: Mapping[str, Any],
    common: Mapping[str, Any],
) -> RunSpec:
    """A derived method asks no model, reads no pack, and keeps labels away by its own protocol."""
    for name, given, default in (
        ("labels", request.labels, "auto"),
        ("seed", request.seed, 0),
        ("repeat", request.repeat, 0),
    ):
        if given != default:
            raise InputError(f"{name}: got {given!r}, which has no effect on {method.name}; expected {default!r}, or its options")
    complete = method.complete(options, components)
    if request.rows:
        rows = select_rows(known, parse_row_selection(request.rows))
    else:
        wanted = set(method.default_rows(complete, components))
        rows = tuple(pair.pair_id for pair in known if pair.pair_id in wanted)
    parents = method.parents(complete)
    return RunSpec(**common, options=complete, rows=rows, parents=parents, sources=_space_hashes(store, complete))


def default_rows(known: Sequence[Pair]) -> str:
    """Returns the rows that are predicted where a request chooses none: the test split where there is one, else all."""
    return "split=test" if any(pair.split == "test" for pair in known) else ""


def _label_view(labels: str | LabelViewSpec, known: Sequence[Pair], rows: Sequence[str]) -> LabelViewSpec:
    if isinstance(labels, LabelViewSpec):
        return labels
    chosen = set(rows)
    labelled = any(pair.label for pair in known if pair.pair_id in chosen)
    kinds: dict[str, ViewKind] = {"all": "all", "blinded": "blinded", "folds": "folds", "auto": "folds" if labelled else "all"}
    if labels not in kinds:
        raise InputError(f"labels: got {labels!r}, expected {', '.join(kinds)}")
    return LabelViewSpec(kinds[labels])


def _space_hashes(store: Store, options: Mapping[str, Any]) -> dict[str, str]:
    """Returns gene space → SHA-256 of its symbols and vectors, of the spaces that the option `spaces` names."""
    with store.read() as db:
        return {name: spaces.find(db, name).sha256 for name in split_names(options.get("spaces", ""))}
