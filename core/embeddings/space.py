"""A gene space: one vector for each symbol, with its identity, its source and its first two
principal components."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from core.base.errors import InputError
from core.base.file_io import replace_file
from core.base.texts import is_encodable, list_some


@dataclass(frozen=True, eq=False)
class Space:
    """The vectors of genes, all finite and none zero.

    symbols: distinct, spelled as in the source. vectors: of shape (n_symbols, n_columns),
    read-only. source: the file, or how the space was built. sha256: of symbols and vectors, so that
    a space has the same identity in every format. notes: on merged, dropped or omitted rows and
    columns. built_from_labels: the dataset and label view of a space built from labels.
    """

    name: str
    symbols: tuple[str, ...]
    vectors: NDArray[np.float32]
    source: str
    sha256: str
    notes: tuple[str, ...] = ()
    built_from_labels: str | None = None

    @property
    def columns(self) -> int:
        return int(self.vectors.shape[1])


def make_space(
    name: str,
    symbols: Iterable[str],
    vectors: NDArray[Any],
    source: str,
    *,
    notes: Iterable[str] = (),
    built_from_labels: str | None = None,
) -> Space:
    """Return a space from raw rows. Rows of one symbol are averaged and zero vectors dropped; notes
    record both.

    vectors: real numbers, of shape (n_symbols, n_columns). Symbols keep the order of their first
    rows. Raise InputError for another shape, a symbol that is no line of Unicode text, a value that
    is not finite in float32, and if no vector remains.
    """
    names = [*map(str.strip, symbols)]
    values = _check_vectors(names, vectors, source)
    all_notes = list(notes)
    names, values = _average_repeated_symbols(names, values, all_notes)
    nonzero = values.any(axis=1)
    if not nonzero.all():
        dropped = [names[i] for i in np.flatnonzero(~nonzero)]
        all_notes.append(f"{len(dropped):,} zero vectors dropped: {list_some(dropped)}")
        names, values = [names[i] for i in np.flatnonzero(nonzero)], values[nonzero]
    if not names:
        raise InputError(f"{source}: no gene with a vector other than zero, expected at least one")
    values = np.ascontiguousarray(values)
    values.setflags(write=False)
    return Space(
        name,
        tuple(names),
        values,
        source,
        _identity(names, values),
        tuple(all_notes),
        built_from_labels,
    )


def save_space(space: Space, path: Path) -> None:
    """Write a space as safetensors for `load_space`. The file appears only when it is complete.
    Raise OSError."""
    metadata = {
        "symbols": "\n".join(space.symbols),
        "source": space.source,
        "notes": json.dumps(space.notes),
    }
    if space.built_from_labels is not None:
        metadata["built_from_labels"] = space.built_from_labels
    replace_file(path, save({"embedding": space.vectors}, metadata=metadata))


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message, or its type's name if the message is
    empty."""
    return next(iter(str(error).splitlines()), type(error).__name__)


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


def _check_vectors(names: list[str], vectors: NDArray[Any], source: str) -> NDArray[np.float32]:
    if vectors.ndim != 2 or vectors.shape[0] != len(names) or vectors.shape[1] == 0:
        raise InputError(
            f"{source}: vectors of shape {vectors.shape} for {len(names):,} symbols, expected a row"
            " for each"
        )
    if vectors.dtype.kind not in "fiu":
        raise InputError(f"{source}: vectors of type {vectors.dtype}, expected real numbers")
    for row, name in enumerate(names, 1):
        if not name or len(name.splitlines()) > 1 or not is_encodable(name):
            raise InputError(
                f"{source}: row {row} has the symbol {name!r}, expected one line of text in Unicode"
            )
    with np.errstate(over="ignore"):  # overflow is detected as not finite
        values = np.array(vectors, dtype=np.float32)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise InputError(
            f"{source}: the vector of {names[row]!r} (row {row + 1}) is not finite, expected finite"
            " numbers"
        )
    return values


def _average_repeated_symbols(
    names: list[str], values: NDArray[np.float32], notes: list[str]
) -> tuple[list[str], NDArray[np.float32]]:
    import pandas as pd
    from scipy.sparse import csr_array

    distinct = list(dict.fromkeys(names))
    if len(distinct) == len(names):
        return names, values
    row = pd.Index(distinct).get_indexer(pd.Index(names))
    counts = np.bincount(row)
    repeated = [distinct[i] for i in np.flatnonzero(counts > 1)]
    notes.append(f"{len(repeated):,} symbols with several rows, averaged: {list_some(repeated)}")
    averaging = csr_array(
        (1.0 / counts[row], (row, np.arange(len(row)))), shape=(len(distinct), len(names))
    )
    return distinct, (averaging @ values.astype(np.float64)).astype(np.float32)


def _identity(names: list[str], values: NDArray[np.float32]) -> str:
    digest = hashlib.sha256(f"{values.shape}\n".encode())
    digest.update("\n".join(names).encode("utf-8", "surrogatepass"))
    digest.update(np.ascontiguousarray(values, dtype="<f4").data)
    return digest.hexdigest()


SAME = 1e-9  # rounding makes components of equal directions differ by less than this


def project_to_two_axes(
    vectors: NDArray[np.float64],
) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Return the first two principal components of the vectors, which are scaled to length 1 first,
    and their shares of the variance.

    vectors: of shape (n, columns), a row of NaN for a missing vector; the result is of shape (n,
    2), NaN for missing vectors. Without variance the components are 0 and the shares NaN.
    """
    # imported here because few pages need it and it takes 60 MB
    from sklearn.decomposition import PCA

    present = np.isfinite(vectors).all(axis=1)
    length = np.linalg.norm(vectors, axis=1)
    present &= length > 0
    projected = np.full((len(vectors), 2), np.nan)
    known = vectors[present] / length[present, None]
    n_components = min(2, *known.shape)
    if n_components == 0 or np.ptp(known, axis=0).max() <= SAME:
        projected[present] = 0.0
        return projected, (float("nan"), float("nan"))
    fitted = PCA(n_components, random_state=0)
    projected[present] = 0.0
    projected[present, :n_components] = fitted.fit_transform(known)
    shares = [*fitted.explained_variance_ratio_.tolist(), 0.0]
    return projected, (shares[0], shares[1])
