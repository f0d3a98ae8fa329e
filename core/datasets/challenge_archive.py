"""Archives of predicted cells, as cell-eval prepares them for the Virtual Cell Challenge (.vcc): a tar of one packed .h5ad."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from core.compressed import DAMAGE, unpacked
from core.errors import InputError
from core.file_io import temporary_folder

PREDICTIONS: Final = "pred.h5ad.zst"
SUFFIX: Final = ".vcc"


@contextmanager
def predictions_in(path: Path) -> Iterator[Path]:
    """Give the .h5ad of predicted cells that an archive holds, in a folder that goes when the block ends.

    Only that member is read. Raise InputError for an archive that is damaged or has no such member, and UnsafeFile for one that
    unpacks to too much.
    """
    with temporary_folder("vcc") as folder:
        cells = folder / f"{path.stem}.h5ad"
        try:
            with tarfile.open(path, "r:") as archive:
                packed = archive.extractfile(PREDICTIONS)
                plain = None if packed is None else unpacked(packed, f"{path.name}/{PREDICTIONS}")
                if plain is None:
                    raise InputError(f"{path.name}: {PREDICTIONS} is not packed, expected what cell-eval writes")
                with cells.open("wb") as out:
                    shutil.copyfileobj(plain, out, 1 << 20)
        except (tarfile.TarError, KeyError, *DAMAGE) as error:
            raise InputError(f"{path.name}: cannot be read as .vcc ({error}), expected a tar with {PREDICTIONS}") from error
        yield cells
