"""The challenge's dataset, and whether rows are its own: told by their ids, in whatever form and
order they come."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from core.base.hashes import sha256_of

NAME: Final = "bmdm"
ORGANISM: Final = "mouse"
CONTEXT: Final = "bone-marrow-derived macrophages"
# SHA-256 of the sorted ids, a line each: of train.csv, of test.csv, and of both.
IDS: Final = frozenset(
    (
        "0e8017e1da1d0f8562610a89a4578b96dc0902be565222475a1fac3471482372",
        "6fb42dc4982640109cc45e44d55d951aa7b6c35a46c6a011cbfbb25b590de590",
        "b14ac383a9396260a2de604d234cb662e47f1334a0ff6fed780cf8a4724c384b",
    )
)


def digest_of(ids: Collection[str]) -> str:
    """Return the SHA-256 of ids, whatever their order."""
    return sha256_of("\n".join(sorted({*ids})))


def are_challenge(ids: Collection[str]) -> bool:
    """Return whether these are all ids of the challenge's train.csv, of its test.csv, or of
    both."""
    return digest_of(ids) in IDS
