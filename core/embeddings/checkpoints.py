"""Gene vectors inside published models: scGPT's and Geneformer's folders."""

from __future__ import annotations

import pickle
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from core.base.errors import InputError, UnsafeFile, require_package
from core.base.file_io import read_file
from core.base.file_limits import refuse_bomb
from core.base.records import parse
from core.base.texts import list_some
from core.embeddings.plain_pickle import read_plain_pickle
from core.embeddings.space import Space, first_line, make_space

MAX_VOCABULARY_BYTES = 1 << 26
VOCABULARY, CHECKPOINT, ARGUMENTS = "vocab.json", "best_model.pt", "args.json"
SCGPT_KEY = "encoder.embedding.weight"
GENEFORMER_KEY = "bert.embeddings.word_embeddings.weight"

_DAMAGED = (
    *(
        RuntimeError,
        EOFError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        MemoryError,
        OverflowError,
    ),
    *(NotImplementedError, zipfile.BadZipFile),
)
_REFUSED_GLOBAL = re.compile(r"GLOBAL ([\w.]+)")


def read_scgpt(folder: Path, name: str) -> Space:
    """Return the gene embedding of a scGPT checkpoint: `vocab.json` gives each gene's row of
    `encoder.embedding.weight`.

    Tokens such as <pad> are left out. Raise UnsafeFile for a checkpoint with anything but tensors,
    MissingPackage if torch is not installed, and InputError for files that do not match.
    """
    rows = read_vocabulary(folder / VOCABULARY)
    weights = read_tensors(folder / CHECKPOINT)[SCGPT_KEY]
    return _space_of_rows(name, rows, weights, f"scGPT, {folder.name}/{CHECKPOINT}")


def read_geneformer(folder: Path, name: str) -> Space:
    """Return the token embedding of a Geneformer checkpoint, with gene names instead of Ensembl
    ids.

    The folder contains the weights (*.safetensors) and the pickled token and name dictionaries.
    Raise UnsafeFile for a pickle with anything but str, int and dict, and InputError for files that
    do not match.
    """
    files = sorted(folder.glob("*.safetensors"))
    if len(files) != 1:
        raise InputError(f"{folder.name}: {len(files)} × safetensors file, expected one")
    weights_file = files[0]
    # The token and the name dictionary are recognised by their values; of more than two, file names
    # decide
    pickles = sorted([*folder.glob("*.pkl"), *folder.glob("*.pickle")])
    if len(pickles) != 2:
        pickles = [
            file
            for file in pickles
            if "token_dictionary" in file.name or "gene_name_id" in file.name
        ]
    if len(pickles) != 2:
        raise InputError(
            f"{folder.name}: {len(pickles)} dictionaries (*.pkl), expected Geneformer's token and"
            " name dictionaries"
        )
    by_kind = {
        type(next(iter(found.values()), None)): found for found in map(read_plain_pickle, pickles)
    }
    if set(by_kind) != {int, str}:
        raise InputError(
            f"{folder.name}: {pickles[0].name} and {pickles[1].name}, expected one of id to token,"
            " one of name to id"
        )
    tokens, names = cast("dict[str, int]", by_kind[int]), cast("dict[str, str]", by_kind[str])
    if sum(value in tokens for value in names.values()) < sum(key in tokens for key in names):
        named = [(symbol, identifier) for identifier, symbol in names.items()]
    else:
        named = list(names.items())
    rows = [(symbol, tokens[identifier]) for symbol, identifier in named if identifier in tokens]
    if not rows:
        raise InputError(
            f"{folder.name}: no name leads to a token, expected name → Ensembl id → token"
        )
    unnamed = len(set(tokens.values()) - {row for _, row in rows})
    notes = (
        [f"{unnamed:,} of {len(tokens):,} tokens have no gene name and are left out"]
        if unnamed
        else []
    )
    weights = tensor(weights_file, GENEFORMER_KEY)
    return _space_of_rows(
        name, rows, weights, f"Geneformer, {folder.name}/{weights_file.name}", notes
    )


def tensor(path: Path, key: str) -> NDArray[Any]:
    """Return one tensor of a safetensors file. Raise InputError if it is missing or has a type
    unknown to NumPy."""
    try:
        with safe_open(path, framework="np") as file:
            if key not in file.keys():  # noqa: SIM118 (safe_open does not return a mapping)
                raise InputError(
                    f"{path.name}: tensors {list_some(sorted(file.keys()))}, expected {key}"
                )
            return cast("NDArray[Any]", file.get_tensor(key))
    except (SafetensorError, TypeError) as error:  # TypeError for bfloat16 and smaller types
        raise InputError(
            f"{path.name}: cannot be read as safetensors of F16, F32 or F64 ({first_line(error)})"
        ) from error


def read_vocabulary(path: Path) -> list[tuple[str, int]]:
    """Return the genes and tokens of a scGPT checkpoint with their rows."""
    return list(parse(dict[str, int], read_file(path, MAX_VOCABULARY_BYTES), path.name).items())


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors of a scGPT checkpoint by name, SCGPT_KEY among them.

    Integer tensors keep their type; others become float32.
    """
    torch = require_package("torch", "reading a scGPT checkpoint")
    try:
        # Raises UnsafeFile for a checkpoint that unpacks to a much larger size; PyTorch's are not
        # compressed
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                refuse_bomb(
                    path.name,
                    path.stat().st_size,
                    sum(member.file_size for member in archive.infolist()),
                )
        state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        asked = _REFUSED_GLOBAL.search(str(error))
        if asked is None:
            raise InputError(f"{path.name}: a damaged checkpoint ({first_line(error)})") from error
        raise UnsafeFile(
            f"{path.name}: a checkpoint that asks for {asked[1]}, expected only tensors"
        ) from error
    except _DAMAGED as error:
        raise InputError(f"{path.name}: a damaged checkpoint ({first_line(error)})") from error
    if not isinstance(state, Mapping) or not isinstance(state.get(SCGPT_KEY), torch.Tensor):
        keys = (
            list_some(sorted(map(str, state)))
            if isinstance(state, Mapping)
            else type(state).__name__
        )
        raise InputError(f"{path.name}: holds {keys}, expected the tensor {SCGPT_KEY}")
    tensors = {
        str(key): value.detach() for key, value in state.items() if isinstance(value, torch.Tensor)
    }
    # A tensor may claim any size over a storage of one number.
    refuse_bomb(
        path.name, path.stat().st_size, sum(4 * value.numel() for value in tensors.values())
    )
    try:
        return {
            key: (value.float() if value.is_floating_point() else value).numpy()
            for key, value in tensors.items()
        }
    except _DAMAGED as error:  # sparse and quantised ones
        raise InputError(
            f"{path.name}: tensors that are not plain arrays ({first_line(error)})"
        ) from error


def _space_of_rows(
    name: str,
    rows: list[tuple[str, int]],
    weights: NDArray[Any],
    source: str,
    notes: list[str] | None = None,
) -> Space:
    genes = [
        (symbol, row)
        for symbol, row in rows
        if not (symbol.startswith("<") and symbol.endswith(">"))
    ]
    height = weights.shape[0] if weights.ndim == 2 else 0
    outside = next(((symbol, row) for symbol, row in genes if not 0 <= row < height), None)
    if outside is not None:
        raise InputError(
            f"{source}: {outside[0]!r} is row {outside[1]}, expected one of {height:,} rows"
        )
    picked = weights[np.array([row for _, row in genes], dtype=np.int64)]
    return make_space(name, [symbol for symbol, _ in genes], picked, source, notes=notes or [])
