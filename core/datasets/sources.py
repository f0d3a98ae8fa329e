"""The public files that can be fetched, pinned to a revision and, where known, to their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

_CHALLENGE = "genentech/BioReasoningChallenge/c5a4dd982f8af1b05bd1ce387218829e2a65f8cf/data"
_PUBLISHED = "Jiawei-Xing/PerturbAgent/13997de049295f2b46b41716cb33af11b1f273ab/outputs"
_PERTURBQA = "Genentech/PerturbQA/13531e834f4aa4084472bccf7c11c02984e146f2/perturbqa/datasets"
_LINES = ("k562", "rpe1", "hepg2", "jurkat", "k562_set")


@dataclass(frozen=True, slots=True)
class PublicFile:
    """One file: its address below the base, the name it gets here, and its expected content.

    bytes and sha256: None if they were not published. public_score: of a published run, on the leaderboard.
    """

    path: str
    file: str
    bytes: int | None = None
    sha256: str | None = None
    public_score: float | None = None

    @property
    def name(self) -> str:
        """What the data set or run is called here."""
        return PurePosixPath(self.file).stem


def _challenge(file: str, size: int, sha256: str) -> PublicFile:
    return PublicFile(f"{_CHALLENGE}/{file}", file, size, sha256)


def _published_file(path: str, name: str, size: int, sha256: str, public_score: float | None = None) -> PublicFile:
    return PublicFile(f"{_PUBLISHED}/{path}", f"{name}.zip", size, sha256, public_score)


SOURCES: dict[str, tuple[PublicFile, ...]] = {
    "challenge": (
        _challenge("train.csv", 223_222, "34b44beb724f8b4be259d012433a8d3580e673874db845adb11e8eb7edbfcf41"),
        _challenge("test.csv", 45_625, "d8675d049e6affb45b19cb53376a6e548a682b8047ed68db3badedb322cb6d0f"),
        _challenge(
            "sample_submission_track_a.csv",
            153_613,
            "2eb7f53f5fde4d183e9fe992203c5cd69243de55827b7069a47a7813fabcd7c5",
        ),
        _challenge("sample_submission_track_b.csv", 77_316, "06773b7a532a83e8327b6f5f7bcc3468d200aa5f6c0ffe5f78ebefdc9d72ac35"),
        _challenge("sample_submission_track_c.csv", 66_390, "637cf6dd3da7d590eaf398c06504b6ee320d7de3e7473f811dc8c2b5df6ce859"),
    ),
    "published": (
        _published_file(
            "track_b_adversarial_sharp/submission_track_b.zip",
            "track_b_sharp",
            577_119,
            "ccddaaa6609d54663b04c630443c045cf10fb1415b0d3c711248ff6dbf965885",
            0.569,
        ),
        _published_file(
            "track_b_adversarial_knn_fusion/submission.zip",
            "track_b_knn_fusion",
            569_798,
            "e08f6fa55ec7a9ead7dfbfefe7fce253559b11a00b775ee798e60f207f29d318",
            0.606,
        ),
        _published_file(
            "track_b_scgpt_fusion/submission.zip",
            "track_b_scgpt_fusion",
            569_758,
            "c4481924b86a79ab0edaa56a42e033ece27cd25b288b167a2d41bcff322bbef8",
            0.619,
        ),
        _published_file(
            "track_b_scgpt_fusion_wdir07/submission.zip",
            "track_b_scgpt_fusion_wdir07",
            569_876,
            "8621b7d2ff2e3d98a448be717225c7f084cce6e2623fce5b021efaf2303426f8",
            0.624,
        ),
        _published_file(
            "wdir_tune_logprobs/submission_track_a.zip",
            "track_a_logprobs_train2499",
            1_832_230,
            "4456578aa46ded8a90f1a6deb99795d79435fbdd903ce0f9a11256b9afbdcf47",
        ),
    ),
    "perturbqa": tuple(
        PublicFile(f"{_PERTURBQA}/{line}-{task}.csv", f"{line}-{task}.csv") for line in _LINES for task in ("de", "dir")
    ),
}
