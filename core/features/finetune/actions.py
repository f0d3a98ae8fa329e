"""Fine-tunes of this workspace: plan, start, watch, stop, resume. Each runs in its own process, in
data/finetune/KEY."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_in
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError, NotFound, StateError
from core.base.fields.record import read_options
from core.base.hashes import sha256_of
from core.base.types import Label, Pair
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.features.finetune import job_folder
from core.features.finetune.job_folder import (
    BASE,
    MANIFEST,
    FinetuneFolder,
    FinetuneRequest,
    FinetuneSettings,
    FinetuneSpec,
    default_python,
    list_folders,
    read_base,
    refuse_missing_packages,
    refuse_occupied,
    short_name,
)
from core.features.finetune.local_model import METHOD
from core.llm.logprobs import LETTERS
from core.methods.base import Context
from core.methods.prompt_only import prompt_for
from core.methods.prompts import C_PARAMETERS_B
from core.runs.component_loader import default_dataset
from core.runs.dependencies import load_pairs
from core.runs.jobs.state import read_ending
from core.runs.workspace import Workspace
from core.transfer.protocols import EvaluationProtocol, parts_of
from core.transfer.row_index import RowIndex


@dataclass(frozen=True, slots=True)
class FinetunePlan:
    """What a request comes to. train, validation: the files of examples."""

    spec: FinetuneSpec
    train: bytes
    validation: bytes


def plan(workspace: Workspace, request: FinetuneRequest) -> FinetunePlan:
    """Return the plan of a request, without writing anything.

    Raise InputError for settings, a base or labelled rows that are wrong.
    """
    base = read_base(request.base or BASE)
    settings = read_options(FinetuneSettings, request.options)
    dataset = default_dataset(workspace, request.dataset)
    pairs = [
        pair for pair in load_pairs(workspace.store, dataset.id).values() if pair.split == "train"
    ]
    split = cut(pairs, settings["parts"], settings["seed"])
    train, validation = as_lines(split.train, settings), as_lines(split.validation, settings)
    spec = FinetuneSpec(
        base=base,
        dataset=dataset.id,
        dataset_name=dataset.name,
        data_sha256=sha256_of((train + b"\n" + validation).decode()),
        train=len(split.train),
        validation=len(split.validation),
        left_out=split.left_out,
        settings=settings,
        out="",
        most_parameters_b=C_PARAMETERS_B,
    )
    out = request.out or _folder(workspace) / spec.key / f"{short_name(base)}-finetuned"
    return FinetunePlan(replace_in(spec, out=str(out.expanduser().absolute())), train, validation)


def start(workspace: Workspace, request: FinetuneRequest) -> FinetuneFolder:
    """Start a fine-tune in a separate process; return an existing finished one with the same
    settings.

    One whose merged model is gone is made again. Raise MissingPackage without what
    requirements-train.txt pins, StateError if the same is unfinished, or if something lies at the
    request's `out`.
    """
    workspace.refuse_if_read_only("finetune", request.base or BASE)
    made = plan(workspace, request)
    python = default_python()
    refuse_missing_packages(python)
    folder = FinetuneFolder(_folder(workspace) / made.spec.key)
    if folder.exists:
        status = folder.status()
        if status.state != "done":
            raise StateError(
                f"fine-tune {folder.key}: the same fine-tune is {status.state} after "
                f"{status.said.get('step', 0):,} steps, expected --resume to continue it"
            )
        if (Path(folder.spec().out) / MANIFEST).is_file():
            return folder
    refuse_occupied(Path(made.spec.out))
    with workspace.change("finetune", made.spec.name) as (_, detail):
        detail |= {
            "finetune": folder.key,
            "rows": made.spec.train,
            "base": short_name(made.spec.base),
        }
        folder.remove()
        folder.create(made.spec, made.train, made.validation)
    job_folder.start_training(folder, workspace.settings, python)
    return folder


def resume(workspace: Workspace, key: str | None = None) -> FinetuneFolder:
    """Resume an unfinished fine-tune, by default the latest started, from its last complete
    checkpoint.

    A running or finished one is returned unchanged.
    """
    workspace.refuse_if_read_only("resume fine-tune", key or "")
    folder = find(workspace, key)
    status = folder.status()
    if status.is_live or status.state == "done":
        return folder
    python = default_python()
    refuse_missing_packages(python)
    with workspace.change("resume fine-tune", folder.spec().name) as (_, detail):
        detail |= {"finetune": folder.key}
    job_folder.start_training(folder, workspace.settings, python)
    return folder


def list_all(workspace: Workspace) -> Sequence[FinetuneFolder]:
    """Return every fine-tune of the workspace, the latest started first."""
    return list_folders(_folder(workspace))


def find(workspace: Workspace, key: str | None = None) -> FinetuneFolder:
    """Return the fine-tune of a key; without a key, the latest unfinished one, else the latest.
    Raise NotFound."""
    known = list_all(workspace)
    chosen = [folder for folder in known if key in (None, folder.key)]
    if not chosen:
        keys = ", ".join(folder.key for folder in known) or "none"
        raise NotFound(f"fine-tune {key or ''}: not in this workspace, which has {keys}")
    unfinished = (folder for folder in chosen if folder.status().state != "done")
    return next(unfinished, chosen[0])


def result_of(folder: FinetuneFolder) -> dict[str, Any]:
    """Return path, steps, loss and manifest of a fine-tune that is done. Raise StateError, with the
    cause, for any other."""
    status, out = folder.status(), Path(folder.spec().out)
    if status.state != "done":
        cause = f": {status.cause}" if status.cause else ""
        raise StateError(f"fine-tune {folder.key}: {status.state}{cause}; --resume continues it")
    if not (out / MANIFEST).is_file():
        raise InputError(
            f"{out}: has lost its {MANIFEST}; remove the folder and start the fine-tune again"
        )
    ending = read_ending(folder) or {}
    return {
        "path": str(out),
        "steps": ending["steps"],
        "loss": ending["loss"],
        "manifest": str(out / MANIFEST),
    }


def _folder(workspace: Workspace) -> Path:
    return workspace.settings.data / "finetune"


LETTER_OF = dict(zip((Label.UP, Label.DOWN, Label.NONE), LETTERS, strict=True))


class Split(NamedTuple):
    """Labelled rows: no validation row shares a perturbation or a gene with a training row.
    left_out: those that share one with either."""

    train: tuple[Pair, ...]
    validation: tuple[Pair, ...]
    left_out: int


def cut(pairs: Sequence[Pair], parts: int, seed: int) -> Split:
    """Return the cut of labelled rows by the folds of a kNN's evaluation: the first part of both
    axes validates.

    Raise InputError if there are no rows to train on or none to validate.
    """
    labelled = [pair for pair in pairs if pair.label in LETTER_OF]
    columns = zip(
        *((pair.pair_id, pair.pert, pair.gene, pair.label) for pair in labelled), strict=True
    )
    index = RowIndex.build(*columns) if labelled else None
    of = None if index is None else parts_of(EvaluationProtocol("folds", parts, seed), index.rows)
    if index is None or of is None:
        raise InputError(
            "fine-tune: got no rows labelled up, down or none, expected some in the split train"
        )
    pert, gene = of.pert[index.rows.pert] == 0, of.gene[index.rows.gene] == 0
    train, validation = np.flatnonzero(~pert & ~gene), np.flatnonzero(pert & gene)
    if not len(train) or not len(validation):
        raise InputError(
            f"fine-tune: {parts} parts leave {len(train):,} rows to train on and"
            f" {len(validation):,} to validate, expected some of both. Choose other parts or"
            " another seed"
        )
    left_out = len(labelled) - len(train) - len(validation)
    return Split(
        tuple(labelled[i] for i in train), tuple(labelled[i] for i in validation), left_out
    )


def as_lines(pairs: Sequence[Pair], settings: Mapping[str, Any]) -> bytes:
    """Return one line of JSON per row: id, prompt, answer.

    The prompt is the one that `local_model` sends by default, in the context of the settings; the
    answer is its letter.
    """
    options = read_options(METHOD.settings, {"context": settings["context"]})
    context = Context((), options, lambda _: LabelView(()), Packs())
    lines = []
    for pair in pairs:
        if pair.label not in LETTER_OF:
            raise InputError(
                f"{pair.pair_id}: got the label {pair.label}, expected up, down or none"
            )
        example = {
            "id": pair.pair_id,
            "prompt": prompt_for(pair, context),
            "answer": f"<answer>{LETTER_OF[pair.label]}</answer>",
        }
        lines.append(json.dumps(example, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines).encode()
