"""Readers and writers of one store for about half a minute."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from core.store import changes
from soak.conftest import Record
from tests.store.test_connection import bumps, child, finished, store_at

OF_A_PROCESS, OF_A_THREAD = 600, 200  # writes


def test_one_writing_process_and_four_reading_ones(tmp_path: Path, record: Record) -> None:
    """Nobody sees half a transaction or is starved."""
    with store_at(tmp_path).read():
        pass
    reading = f"""
        last = reads = 0
        while not Path({str(tmp_path / "written")!r}).exists():
            with store.read() as db:
                seen = changes.versions(db)
            assert seen.get("runs", 0) == seen.get("datasets", 0), seen  # never half a transaction
            assert seen.get("runs", 0) >= last
            last = seen.get("runs", 0)
            reads += 1
            if reads == 1:
                print("reading", flush=True)
        print(reads)
    """
    writing = f"""
        for _ in range({OF_A_PROCESS}):
            with store.write() as db:  # waits for 30 s at most: the readers do not starve it
                changes.bump(db, "runs")
                changes.bump(db, "datasets")
    """
    readers = [child(reading, tmp_path) for _ in range(4)]
    for reader in readers:
        assert reader.stdout.readline() == "reading\n", finished(reader)
    try:
        finished(child(writing, tmp_path))
    finally:
        (tmp_path / "written").touch()  # which ends the readers
    reads = [int(finished(reader)) for reader in readers]
    with store_at(tmp_path).read() as db:
        assert bumps(db) == OF_A_PROCESS
    record(writes=OF_A_PROCESS, reads=sum(reads))


def test_twenty_threads_of_both_kinds(tmp_path: Path, record: Record) -> None:
    """Five threads write, fifteen read until all is written; no write is lost."""
    store = store_at(tmp_path)
    writers, readers = 5, 15
    written = threading.Event()

    def write():
        for _ in range(OF_A_THREAD):
            with store.write() as db:
                changes.bump(db, "runs")

    def read():
        for reads in itertools.count(1):
            with store.read() as db:
                bumps(db)
            if written.is_set():
                return reads
        raise AssertionError

    with ThreadPoolExecutor(writers + readers) as pool:
        reading, writing = (
            [pool.submit(read) for _ in range(readers)],
            [pool.submit(write) for _ in range(writers)],
        )
        wait(writing)
        written.set()
        for each in writing:
            each.result()  # raises what it raised: StoreBusy after 30 s without a turn
        reads = sum(each.result() for each in reading)
    with store.read() as db:
        assert bumps(db) == writers * OF_A_THREAD
    record(writes=writers * OF_A_THREAD, reads=reads)
