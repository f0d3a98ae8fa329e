"""The merged model with its tokenizer in a folder that a server reads, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import StateError
from core.file_io import part_of, sync_folder
from core.finetune.manifest import NAME, write_manifest
from core.finetune.spec import FinetuneSpec
from core.finetune.tokenizer_files import make_readable


def refuse_occupied(out: Path, *, replaces: bool) -> None:
    """Raise StateError if something is in the way at `out`: anything but an empty folder or, if it `replaces` one, an older
    fine-tune."""
    if out.is_dir() and not any(out.iterdir()):
        return
    if (replaces and (out / NAME).is_file()) or not (out.exists() or out.is_symlink()):
        return
    what = "holds other files" if out.is_dir() else "is a file"
    older = f"{'' if replaces else ', or --replace for an older fine-tune'}"
    raise StateError(f"{out}: {what}, expected no such folder or an empty one{older}")


def write_merged(adapted: Any, tokenizer: Any, spec: FinetuneSpec, made: Mapping[str, Any]) -> Path:
    """Merge the adapter into its model and write both with the tokenizer; return the folder.

    Everything is written beside the folder and then renamed, so that the folder exists only when it is complete. Raises
    StateError if something else lies there by now.
    """
    out = Path(spec.out)
    refuse_occupied(out, replaces=spec.replaces)
    with part_of(out, is_folder=True) as unfinished:
        adapted.merge_and_unload().save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        make_readable(unfinished)
        write_manifest(unfinished, spec, made)
        refuse_occupied(out, replaces=spec.replaces)
        if out.exists():
            shutil.rmtree(out)
        unfinished.rename(out)
    sync_folder(out.parent)
    return out
