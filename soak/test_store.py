"""Half a minute of readers and writers of one store; tests/store/test_connection.py has four seconds."""

from __future__ import annotations

from pathlib import Path

from soak.conftest import Record
from tests.store.test_connection import write_and_read_in_processes, write_and_read_in_threads

SECONDS = 30


def test_one_writing_process_and_four_reading_ones(tmp_path: Path, record: Record) -> None:
    record(**write_and_read_in_processes(tmp_path, SECONDS)._asdict())


def test_twenty_threads_of_both_kinds(tmp_path: Path, record: Record) -> None:
    record(**write_and_read_in_threads(tmp_path, SECONDS)._asdict())
