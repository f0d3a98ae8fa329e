"""Readers and writers of one store for about half a minute; tests/store/test_connection.py has a few writes."""

from __future__ import annotations

from pathlib import Path

from soak.conftest import Record
from tests.store.test_connection import write_and_read_in_processes, write_and_read_in_threads

OF_A_PROCESS, OF_A_THREAD = 600, 200  # writes


def test_one_writing_process_and_four_reading_ones(tmp_path: Path, record: Record) -> None:
    record(**write_and_read_in_processes(tmp_path, OF_A_PROCESS)._asdict())


def test_twenty_threads_of_both_kinds(tmp_path: Path, record: Record) -> None:
    record(**write_and_read_in_threads(tmp_path, OF_A_THREAD)._asdict())
