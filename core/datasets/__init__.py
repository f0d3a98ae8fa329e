"""Files in, records out: challenge files, PerturbQA, submissions with their traces, and the public files themselves."""

from core.datasets.external_scores import ScoreTable
from core.datasets.fetch import SOURCES, PublicFile, fetch
from core.datasets.pairs import PairTable
from core.datasets.reader import read, read_path
from core.datasets.submissions import SubmissionTable

__all__ = ["SOURCES", "PairTable", "PublicFile", "ScoreTable", "SubmissionTable", "fetch", "read", "read_path"]
