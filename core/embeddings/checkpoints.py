"""Gene vectors inside published models: scGPT's and Geneformer's folders."""

from __future__ import annotations

import io
import pickle
import pickletools
import re
import zipfile
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError, UnknownFormat, UnsafeFile, require_package
from core.base.file_io import read_file
from core.base.file_limits import limit_memory
from core.base.records import parse
from core.base.texts import list_some
from core.embeddings.space import Space, first_line, make_space, tensor

MAX_VOCABULARY_BYTES = 1 << 26
VOCABULARY, CHECKPOINT, ARGUMENTS = "vocab.json", "best_model.pt", "args.json"
SCGPT_KEY = "encoder.embedding.weight"
GENEFORMER_KEY = "bert.embeddings.word_embeddings.weight"

# All known exceptions of pickle and PyTorch, and of methods that a damaged pickle calls wrongly
_DAMAGED = (
    *(pickle.UnpicklingError, RuntimeError, EOFError, ValueError, TypeError, AttributeError),
    *(LookupError, OverflowError, MemoryError, zipfile.BadZipFile),
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


def read_vocabulary(path: Path) -> list[tuple[str, int]]:
    """Return the genes and tokens of a scGPT checkpoint with their rows."""
    return list(parse(dict[str, int], read_file(path, MAX_VOCABULARY_BYTES), path.name).items())


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors of a scGPT checkpoint by name, SCGPT_KEY among them.

    Integer tensors keep their type; others become float32.
    """
    torch = require_package("torch", "reading a scGPT checkpoint")
    try:
        with limit_memory(path.name):
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
    try:
        # a tensor may claim any size over a storage of one number
        with limit_memory(path.name):
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


MAX_BYTES = 1 << 28  # Geneformer's dictionaries have less than 2 MB

_SPLIT_NAMES = {"train", "val", "test", "test_subgroup"}
_GLOBALS = {"GLOBAL", "INST", "STACK_GLOBAL"}
_ALLOWED = {
    *("PROTO", "FRAME", "STOP", "MARK", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"),
    *(
        "UNICODE",
        "BINUNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE8",
        "STRING",
        "BINSTRING",
        "SHORT_BINSTRING",
    ),
    *("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET"),
}
_LISTS = {
    *(
        "EMPTY_LIST",
        "LIST",
        "APPEND",
        "APPENDS",
        "EMPTY_TUPLE",
        "TUPLE",
        "TUPLE1",
        "TUPLE2",
        "TUPLE3",
        "FLOAT",
        "BINFLOAT",
    ),
}


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that finds no class and no function."""

    def __init__(self, content: bytes, source: str, expected: str) -> None:
        super().__init__(io.BytesIO(content))
        self._source = source
        self._expected = expected

    def find_class(self, module: str, name: str, /) -> Any:
        raise UnsafeFile(
            f"{self._source}: a pickle that asks for {module}.{name}, expected only"
            f" {self._expected}"
        )


def read_plain_pickle(path: Path) -> dict[str, str] | dict[str, int]:
    """Return a pickled dictionary of text to text or of text to whole numbers.

    Nothing named in the file is imported, called or built. Raise UnsafeFile, naming the import, and
    InputError for a damaged pickle or one with other content.
    """
    found: Any = _load(path, _ALLOWED, "dict, str and int")
    for kind in (str, int):
        if type(found) is dict and all(
            type(key) is str and type(value) is kind for key, value in found.items()
        ):
            return found
    raise InputError(
        f"{path.name}: a pickle of {_describe(found)}, expected a dictionary of str to str or"
        " to int"
    )


def _load(path: Path, allowed: Set[str], expected: str) -> object:
    content = read_file(path, MAX_BYTES)
    try:
        odd = ""  # other instructions; find_class refuses globals by name
        for count, (instruction, argument, _) in enumerate(pickletools.genops(content)):
            name = instruction.name
            if name in _GLOBALS:
                odd = ""
                break
            # memo slots that would fill the memory
            if "PUT" in name and isinstance(argument, int) and argument > count:
                raise UnsafeFile(
                    f"{path.name}: a pickle that keeps {argument:,} objects, expected at most"
                    f" {count:,}"
                )
            odd = odd or ("" if name in allowed else name)
        if odd:
            raise UnsafeFile(
                f"{path.name}: a pickle with the instruction {odd}, expected only {expected}"
            )
        return _PlainUnpickler(content, path.name, expected).load()
    except _DAMAGED as error:
        raise InputError(f"{path.name}: a damaged pickle ({first_line(error)})") from error


def read_pickled_vectors(path: Path) -> dict[str, Any]:
    """Return a pickled dictionary of texts to equally long lists or tuples of numbers, the format
    of GenePT.

    Raise the errors of `read_plain_pickle`.
    """
    found = _load(
        path,
        _ALLOWED | _LISTS,
        "dict, str, int, float and lists (array.tolist() makes a list of an array)",
    )
    vectors = dict(found) if type(found) is dict else {}
    if vectors and set(vectors) <= _SPLIT_NAMES:
        raise UnknownFormat(
            f"{path.name}: a pickle of a split of conditions, as saved by GEARS. Target ranking"
            " reads splits from JSON (targets train --split FILE)"
        )
    if not vectors or not all(
        type(key) is str
        and type(value) in (list, tuple)
        and value
        and all(type(number) in (int, float) for number in value)
        for key, value in vectors.items()
    ):
        raise UnknownFormat(
            f"{path.name}: a pickle of {_describe(found)}, expected str to lists of numbers"
            " (GenePT)"
        )
    lengths = {len(value) for value in vectors.values()}
    if len(lengths) > 1:
        raise InputError(
            f"{path.name}: lists of {min(lengths):,} to {max(lengths):,} numbers, expected one"
            " length"
        )
    return vectors


def _describe(value: object) -> str:
    if type(value) is not dict:
        return type(value).__name__
    kinds = sorted(
        {f"{type(key).__name__} to {type(item).__name__}" for key, item in value.items()}
    )
    return f"a dictionary of {' and '.join(kinds)}"
