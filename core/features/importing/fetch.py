"""The public files that can be fetched, pinned to a revision and, where known, to their SHA-256,
and how they are fetched.

What was fetched is checked by its hash, and written only when it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.base.errors import InputError, Unreachable, WrongContent
from core.base.file_io import replace_file
from core.base.hashes import sha256_of, sha256_of_file
from core.base.net.addresses import is_local
from core.base.records import parse

if TYPE_CHECKING:
    from httpx2 import Client


GITHUB = "https://raw.githubusercontent.com"
MAX_BYTES = 1 << 28
RECORD = "sha256.json"  # hashes at the first download of files without a pinned hash

Progress = Callable[[str, int, int], None]

_CHALLENGE = "genentech/BioReasoningChallenge/c5a4dd982f8af1b05bd1ce387218829e2a65f8cf/data"
_PUBLISHED = "Jiawei-Xing/PerturbAgent/13997de049295f2b46b41716cb33af11b1f273ab/outputs"
_PERTURBQA = "Genentech/PerturbQA/13531e834f4aa4084472bccf7c11c02984e146f2/perturbqa/datasets"
_LINES = ("k562", "rpe1", "hepg2", "jurkat", "k562_set")


@dataclass(frozen=True, slots=True)
class PublicFile:
    """One file: its address below the base, the name it gets here, and its expected content.

    sha256: None if it was not published. public_score: of a published run, on the leaderboard.
    """

    path: str
    file: str
    sha256: str | None = None
    public_score: float | None = None


def _challenge(file: str, sha256: str) -> PublicFile:
    return PublicFile(f"{_CHALLENGE}/{file}", file, sha256)


def _published(
    path: str, name: str, sha256: str | None = None, public_score: float | None = None
) -> PublicFile:
    return PublicFile(f"{_PUBLISHED}/{path}", f"{name}.zip", sha256, public_score)


SOURCES: dict[str, tuple[PublicFile, ...]] = {
    "challenge": (
        _challenge("train.csv", "34b44beb724f8b4be259d012433a8d3580e673874db845adb11e8eb7edbfcf41"),
        _challenge("test.csv", "d8675d049e6affb45b19cb53376a6e548a682b8047ed68db3badedb322cb6d0f"),
        _challenge(
            "sample_submission_track_a.csv",
            "2eb7f53f5fde4d183e9fe992203c5cd69243de55827b7069a47a7813fabcd7c5",
        ),
        _challenge(
            "sample_submission_track_b.csv",
            "06773b7a532a83e8327b6f5f7bcc3468d200aa5f6c0ffe5f78ebefdc9d72ac35",
        ),
        _challenge(
            "sample_submission_track_c.csv",
            "637cf6dd3da7d590eaf398c06504b6ee320d7de3e7473f811dc8c2b5df6ce859",
        ),
    ),
    "published": (
        _published(
            "track_b_adversarial_sharp/submission_track_b.zip",
            "track_b_sharp",
            "ccddaaa6609d54663b04c630443c045cf10fb1415b0d3c711248ff6dbf965885",
            0.569,
        ),
        _published(
            "track_b_adversarial_knn_fusion/submission.zip",
            "track_b_knn_fusion",
            "e08f6fa55ec7a9ead7dfbfefe7fce253559b11a00b775ee798e60f207f29d318",
            0.606,
        ),
        _published(
            "track_b_scgpt_fusion/submission.zip",
            "track_b_scgpt_fusion",
            "c4481924b86a79ab0edaa56a42e033ece27cd25b288b167a2d41bcff322bbef8",
            0.619,
        ),
        _published(
            "track_b_scgpt_fusion_wdir07/submission.zip",
            "track_b_scgpt_fusion_wdir07",
            "8621b7d2ff2e3d98a448be717225c7f084cce6e2623fce5b021efaf2303426f8",
            0.624,
        ),
        _published(
            "track_b_scgpt_fusion_gf316/submission.zip",
            "track_b_scgpt_fusion_gf316",
            "015a9207e2aa9604bc946cae0a4b66c62358003166d290e306c282398a486707",
            0.621,
        ),
        _published(
            "track_b_scgpt_fusion_sa/submission.zip",
            "track_b_scgpt_fusion_sa",
            "44f24dc53177df6ed4d5ac190bb9774b2eabe9cb3e7212efa48cc2a5a83ce380",
            0.622,
        ),
        _published(
            "track_b_state_fusion/submission.zip",
            "track_b_state_fusion",
            "65c0bb799cdb0d96bcb1bd4932a186712274f2c2c6b04834d88e5a7313996c68",
            0.623,
        ),
        _published(
            "track_b_adversarial_blend/submission.zip",
            "track_b_adversarial_blend",
            "39ddbc0c4d131185a627fa54ba79dca65a03d31849ba29000ab179eb7c87ade9",
            0.558,
        ),
        _published(
            "track_b_cross_fusion/submission.zip",
            "track_b_cross_fusion",
            "2ebf5d265e71a558ff1696301639aeffd85adba676d984f61997ce1ac1d7c887",
            0.583,
        ),
        _published(
            "track_b_adversarial_ens3/submission_track_b.zip",
            "track_b_adversarial_ens3",
            "2bbf6eaaa588e307d924f727d9196b61860cd9965007acbf559be66d483fffd3",
            0.551,
        ),
        _published(
            "wdir_tune_logprobs/submission_track_a.zip",
            "track_a_logprobs_train2499",
            "4456578aa46ded8a90f1a6deb99795d79435fbdd903ce0f9a11256b9afbdcf47",
        ),
        _published("track_a_logprobs_bench/submission_track_a.zip", "track_a_logprobs_train499"),
    ),
    "perturbqa": tuple(
        PublicFile(f"{_PERTURBQA}/{line}-{task}.csv", f"{line}-{task}.csv")
        for line in _LINES
        for task in ("de", "dir")
    ),
}


def fetch(
    group: str,
    folder: Path,
    *,
    base: str = GITHUB,
    progress: Progress | None = None,
    timeout_s: float = 30.0,
) -> list[Path]:
    """Download the files of a group of SOURCES to `folder`, except those that are complete already.

    `progress` gets a file's name, the bytes so far and all bytes (0 if unknown). Redirects are not
    followed. Raise Unreachable (a server or network failed), WrongContent (other bytes than pinned,
    or than at the first fetch) or InputError (no such group, a folder that cannot be written).
    """
    import httpx2

    if group not in SOURCES:
        raise InputError(f"no public files called {group!r}, expected one of {', '.join(SOURCES)}")
    report = progress or (lambda _name, _done, _total: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # no proxy stands between this machine and itself
        with httpx2.Client(timeout=timeout_s, trust_env=not is_local(base)) as client:
            return [
                _fetch_file(client, file, folder, f"{base.rstrip('/')}/{file.path}", report)
                for file in SOURCES[group]
            ]
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error})") from error


def _fetch_file(
    client: Client, file: PublicFile, folder: Path, url: str, progress: Progress
) -> Path:
    import httpx2

    target = folder / file.file
    recorded = _read_record(folder)
    expected = file.sha256 or recorded.get(file.file)
    if expected and target.is_file() and sha256_of_file(target) == expected:
        size = target.stat().st_size
        progress(file.file, size, size)
        return target
    try:
        content = _download(client, url, file, progress)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Unreachable(
            f"{url}: {str(error) or type(error).__name__}; try again, or fetch it elsewhere, copy"
            " it here by hand and `import` it"
        ) from error
    found = sha256_of(content)
    if expected and found != expected:
        raise WrongContent(f"{url}: SHA-256 {found}, expected {expected}; nothing was kept")
    if not file.sha256:
        record = json.dumps(recorded | {file.file: found}, indent=1, sort_keys=True)
        replace_file(folder / RECORD, f"{record}\n".encode())
    replace_file(target, content)
    return target


def _download(client: Client, url: str, file: PublicFile, progress: Progress) -> bytes:
    """Return the bytes at an address. Raise WrongContent for more than expected, and what httpx
    raises."""
    import httpx2

    content = bytearray()
    # identity, so that bytes on the wire are bytes of the file
    with client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as response:
        if response.status_code != 200:
            raise httpx2.HTTPError(f"HTTP {response.status_code}, expected 200")
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else 0
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > MAX_BYTES:
                raise WrongContent(f"{url}: more than {MAX_BYTES:,} bytes; nothing was kept")
            progress(file.file, len(content), total)
    return bytes(content)


def _read_record(folder: Path) -> dict[str, str]:
    """Return file → SHA-256 of what was fetched without a pinned hash."""
    path = folder / RECORD
    if not path.exists():
        return {}
    try:
        return parse(dict[str, str], path.read_bytes(), str(path))
    except InputError as error:
        raise InputError(f"{error}; delete it and fetch again") from error
