"""Hostile files, names, places and settings: each a command that has to end with exit status 1 and one line."""

from __future__ import annotations

import io
import json
import os
import pickle
import socket
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
from pyarrow import parquet

from tests import cases
from tests.features.cells import hostile_hdf5

OTHER_TRAIN = cases.TRAIN.replace(b"up", b"down")
BIDI, ZERO_WIDTH, ESCAPE = "\u202e", "\u200b", "\x1b[31m"


Make = Callable[[Path], list[str]]  # writes into a folder; returns the command


Write = Callable[[Path], object]


@dataclass(frozen=True)
class Attack:
    """A command on a small workspace. make: prepares a folder of its own and returns the arguments.

    environment: what is set for it. spoils: changes the workspace first, which is then a copy. words: a part of what is said.
    rejects: whether a line follows for a row that could not be read.
    """

    name: str
    make: Make
    words: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    spoils: Write | None = None
    rejects: bool = False


def _import_of(name: str, write: Write) -> Make:
    def make(folder: Path) -> list[str]:
        write(folder / name)
        return ["import", str(folder / name)]

    return make


def _bytes(content: bytes | Callable[[], bytes]) -> Write:
    return lambda path: path.write_bytes(content() if callable(content) else content)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # its address may be no longer than 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


BUNDLE = b'{"perturbdesk_bundle": 1}'  # the manifest of a bundle with everything else to come


def _zip_of_link(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            link = zipfile.ZipInfo(name)
            link.external_attr = 0o120777 << 16
            archive.writestr(link, "/etc/passwd")
    return out.getvalue()


def _log(sample: str, content: bytes) -> bytes:
    """A log of Inspect AI with one sample."""
    head = b'{"version": 2, "status": "success", "eval": {"model": "m"}}'
    return cases.zip_of({"header.json": head, f"samples/{sample}_epoch_1.json": content})


def _encrypted() -> bytes:
    content = bytearray(cases.zip_of({"submission.csv": cases.DEBATES}))
    content[6] |= 1
    entry = content.index(b"PK\x01\x02")
    content[entry + 8] |= 1
    return bytes(content)


def _of_method(method: int) -> bytes:
    content = bytearray(cases.zip_of({"submission.csv": cases.DEBATES}))
    entry = content.index(b"PK\x01\x02")
    content[8:10] = content[entry + 10 : entry + 12] = struct.pack("<H", method)
    return bytes(content)


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("submission.csv")
        info.size = len(cases.DEBATES)
        archive.addfile(info, io.BytesIO(cases.DEBATES))
    return out.getvalue()


def _npy_header(shape: tuple[int, ...]) -> bytes:
    header = (
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode()
        + b"\n"
    )
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def _objects(path: Path) -> None:
    with path.open("wb") as out:
        np.savez(out, genes=np.array(["A"], dtype=object), vectors=np.ones((1, 2)))


def _parquet_bomb(path: Path) -> None:
    many = pa.array(np.zeros(20_000_000))
    parquet.write_table(
        pa.table({"symbol": pa.array(["A"] * 20_000_000).dictionary_encode(), "x": many}), path
    )


def _parquet_page(path: Path) -> None:
    """One text of 70 MB, which zstd packs to nothing."""
    table = pa.table({"symbol": ["x" * 70_000_000], "x": [1.0]})
    parquet.write_table(
        table, path, compression="zstd", use_dictionary=False, write_statistics=False
    )


def _workbook_bomb(path: Path) -> None:
    """One text in 2,200 cells, which is stored once: 72 MB."""
    book = openpyxl.Workbook()
    for _ in range(220):
        book.active.append(["x" * 32_767] * 10)
    book.save(path)


class _Hostile:
    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch /tmp/perturbdesk-was-here",)


def _wide(columns: int, named: Callable[[int], str] = lambda i: f"c{i}", end: str = "\n") -> bytes:
    return (",".join(map(named, range(columns))) + end).encode()


def _chain(folder: Path) -> None:
    """A link to a link …, 60 of them, which is more than the system follows."""
    (folder.parent / "end").write_bytes(cases.TRAIN)
    previous = Path("end")
    for i in range(60):
        (folder.parent / f"link{i}").symlink_to(previous)
        previous = Path(f"link{i}")
    folder.symlink_to(previous)


SPECIAL = {
    "fifo": (os.mkfifo, "a named pipe"),
    "socket": (_socket, "a socket"),
    "link-to-itself": (lambda path: path.symlink_to(path.name), "no such file or folder"),
    "link-to-nothing": (lambda path: path.symlink_to("gone"), "no such file or folder"),
    "link-to-zero": (lambda path: path.symlink_to("/dev/zero"), "a device"),
    "link-to-fifo": (
        lambda path: (os.mkfifo(path.parent / "pipe"), path.symlink_to("pipe")),
        "a named pipe",
    ),
    "sixty-links": (_chain, ""),
}
PLACES = {
    "dev-zero": ("/dev/zero", "a device"),
    "dev-null": ("/dev/null", "a device"),
    "dev-urandom": ("/dev/urandom", "a device"),
    "dev-full": ("/dev/full", "a device"),
    "proc-memory": ("/proc/self/mem", "cannot be read"),
    "proc-environ": ("/proc/self/environ", "more than its 0 bytes"),
    "proc-status": ("/proc/self/status", ""),
    "proc-kcore": ("/proc/kcore", ""),
    "proc-pagemap": ("/proc/self/pagemap", ""),
    "gone": ("/gone/train.csv", "no such file or folder"),
    "below-a-file": ("/etc/hostname/train.csv", "no such file or folder"),
    "long-name": (f"/{'n' * 300}.csv", ""),
    "long-path": ("/" + "n/" * 3000, ""),
    "program": ("/bin/true", ""),
}
CONTENTS = {
    "empty.csv": ("x.csv", b"", "empty"),
    "empty.zip": ("x.zip", b"", ""),
    "empty.json": ("x.json", b"", ""),
    "only-a-mark": ("x.csv", b"\xef\xbb\xbf", ""),
    "only-line-ends": ("x.csv", b"\n" * 1_000_000, ""),
    "only-zeros": ("x.csv", bytes(1_000_000), ""),
    "utf-16-without-a-mark": ("x.csv", cases.TRAIN.decode().encode("utf-16-le"), "UTF-16"),
    "half-utf-16": ("x.csv", cases.TRAIN.decode().encode("utf-16")[:-1], "truncated data"),
    "utf-32": ("x.csv", cases.TRAIN.decode().encode("utf-32"), ""),
    "not-utf-8": ("x.csv", b"id,pert,g\xe4ne,label\n", ""),
    "prose": ("x.csv", b"Dear colleague, here are the results.\n", ""),
    "other-table": ("x.csv", b"a,b\n1,2\n", ""),
    "column-twice": ("x.csv", b"id,pert,gene,label,label\n", "more than once"),
    "no-row": ("x.csv", b"id,pert,gene,label\n", "no row could be imported"),
    "open-quote": (
        "x.csv",
        b'id,pert,gene,label\n"a_b,a,b,up\n' + b"c_d,c,d,up\n" * 1000,
        "never closed",
    ),
    "open-quote-header": ("x.csv", b'"id,pert,gene,label\n' + b"c_d,c,d,up\n" * 1000, ""),
    "million-columns": ("x.csv", lambda: _wide(1_000_000), "1,000,000 columns, expected at most"),
    "million-columns-no-end": (
        "x.csv",
        lambda: _wide(1_000_000, end=""),
        "1,000,000 columns, expected at most",
    ),
    "million-equal-columns": (
        "x.csv",
        lambda: _wide(1_000_000, lambda _: "c"),
        "1,000,000 columns, expected at most",
    ),
    "million-empty-columns": ("x.csv", b"," * 1_000_000 + b"\n", ""),
    "million-tabs": ("x.tsv", b"\t" * 1_000_000 + b"\n", ""),
    "million-cells": (
        "x.csv",
        b"id,pert,gene,label\n" + b"," * 1_000_000 + b"\n",
        "no row could be imported",
    ),
    "million-quotes": ("x.csv", b'"' * 1_000_001, ""),
    "long-line": ("x.csv", b"x" * 20_000_000, "a name of 20,000,000 characters"),
    "deep-json": ("x.json", b"[" * 1_000_000, ""),
    "deep-objects": ("x.json", b'{"a":' * 100_000, ""),
    "huge-number": (
        "x.json",
        b'{"meta": {"source": "x"}, "pairs": {"a|b": ' + b"9" * 1_000_000 + b"}}",
        "",
    ),
    "nan-json": ("x.json", b'{"a": NaN}', "NaN"),
    "key-twice": ("x.json", b'{"a": "B", "a": "C"}', "stands there twice"),
    "half-json": ("x.json", b'{"a": "B", ', ""),
    "million-lists": ("x.json", b"[" + b"[]," * 1_000_000 + b"[]]", ""),
    "half-a-pair": ("x.json", b'{"A": "first \\ud800 words", "B": "second words"}', ""),
    "million-genes": (
        "x.json",
        lambda: json.dumps({f"g{i}": i for i in range(300_000)}).encode(),
        "",
    ),
    "half-zip": ("x.zip", cases.zip_of({"submission.csv": cases.DEBATES})[:200], "damaged zip"),
    "zip-of-nothing": ("x.zip", cases.zip_of({}), "0 CSV files"),
    "zip-of-folders": ("x.zip", cases.zip_of({"a/": b"", "b/": b""}), "0 CSV files"),
    "zip-of-two": ("x.zip", cases.zip_of({"a.csv": b"", "b.csv": b""}), "2 CSV files"),
    "zip-in-zip": (
        "x.zip",
        cases.zip_of({"inner.zip": cases.zip_of({"submission.csv": cases.DEBATES})}),
        "0 CSV files",
    ),
    "zip-called-csv-in-zip": (
        "x.zip",
        cases.zip_of({"submission.csv": cases.zip_of({"submission.csv": cases.DEBATES})}),
        "",
    ),
    "zip-parent": (
        "x.zip",
        cases.zip_of({"../submission.csv": cases.DEBATES}),
        "leaves the archive",
    ),
    "zip-absolute": (
        "x.zip",
        cases.zip_of({"/submission.csv": cases.DEBATES}),
        "leaves the archive",
    ),
    "zip-drive": (
        "x.zip",
        cases.zip_of({"C:\\submission.csv": cases.DEBATES}),
        "leaves the archive",
    ),
    "zip-link": ("x.zip", _zip_of_link("submission.csv"), "a link"),
    "zip-control": (
        "x.zip",
        cases.zip_of({"sub\x07mission.csv": cases.DEBATES}),
        "control characters",
    ),
    "zip-bomb": (
        "x.zip",
        lambda: cases.zip_of({"submission.csv": bytes(100_000_000)}),
        "that unpack to",
    ),
    "zip-encrypted": ("x.zip", _encrypted(), "encrypted"),
    "zip-method-99": ("x.zip", _of_method(99), ""),
    "zip-of-60000": (
        "x.zip",
        lambda: cases.zip_of({f"{i}.txt": b"" for i in range(60_000)}),
        "",
    ),
    "bundle-of-nothing": ("x.zip", cases.zip_of({"manifest.json": b"{}"}), ""),
    "bundle-parent": (
        "x.zip",
        cases.zip_of({"manifest.json": BUNDLE, "../../note.parquet": b"x"}),
        "leaves the archive",
    ),
    "bundle-link": (
        "x.zip",
        _zip_of_link("manifest.json", "prediction.parquet"),
        "a link",
    ),
    "bundle-bomb": (
        "x.zip",
        lambda: cases.zip_of({"manifest.json": BUNDLE, "note.parquet": bytes(100_000_000)}),
        "that unpack to",
    ),
    "bundle-more": ("x.zip", cases.zip_of({"manifest.json": BUNDLE, "run.py": b"x"}), "expected"),
    "bundle-deep": ("x.zip", cases.zip_of({"manifest.json": b"[" * 2_000}), "manifest.json"),
    "bundle-not-finite": (
        "x.zip",
        cases.zip_of({"manifest.json": BUNDLE.replace(b"1", b"Infinity")}),
        "manifest.json",
    ),
    "bundle-digits": (
        "x.zip",
        cases.zip_of({"manifest.json": BUNDLE.replace(b"1", b"12345" * 1_000)}),
        "manifest.json",
    ),
    "log-parent": ("x.eval", _log("../../a", b"{}"), "leaves the archive"),
    "log-bomb": ("x.eval", lambda: _log("a", b" " * 100_000_000), "that unpack to"),
    "log-deep": ("x.eval", _log("a", b'{"a":' * 2_000), "a_epoch_1.json"),
    "log-digits": ("x.eval", _log("a", b'{"id": ' + b"12345" * 1_000 + b"}"), ""),
    "log-of-a-list": ("x.eval", _log("a", b"[1]"), "expected a JSON object"),
    "gzip": ("x.csv.gz", _tar(), ""),
    "npz-of-no-memory": (
        "x.npz",
        cases.zip_of({"v.npy": _npy_header((10**12,)), "g.npy": _npy_header((10**12,))}),
        "",
    ),
    "npz-half": ("x.npz", cases.zip_of({"v.npy": b"\x93NUMPY"}), ""),
    "pickle": ("x.pkl", pickle.dumps(_Hostile()), "system"),
    "pickle-nested": ("x.pkl", b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".", ""),
    "parquet-half": ("x.parquet", b"PAR1" + bytes(100) + b"PAR1", ""),
    "safetensors-huge-header": ("x.safetensors", struct.pack("<Q", 1 << 60) + b"{}", ""),
    "safetensors-lying": ("x.safetensors", struct.pack("<Q", 2) + b"{}" + bytes(100), ""),
    "word2vec-of-too-many": ("x.txt", b"999999999 300\nA 1 2\n", ""),
    "word2vec-infinite": ("x.txt", b"1 2\nA inf nan\n", ""),
    "space-of-text": ("x.csv", b"symbol,x\nA,one\n", ""),
    "sqlite": ("x.db", b"SQLite format 3\0" + bytes(4000), ""),
    "picture": ("x.png", b"\x89PNG\r\n\x1a\n" + bytes(1000), ""),
}
NAMES = {
    "line-end": "new\nname",
    "escape": f"{ESCAPE}red",
    "backspace": "a\bb",
    "delete": "a\x7f",
    "c1": "a\x9bb",
    "bidi": f"ab{BIDI}vsc",
    "isolate": "a\u2066b",
    "zero-width": f"de{ZERO_WIDTH}bate",
    "joiner": "de\u200dbate",
    "mark": "\ufeffdebate",
    "line-separator": "a\u2028b",
    "only-blanks": " \t ",
    "only-no-break": "\u00a0\u00a0",
    "nothing": "",
    "long": "n" * 5000,
}
SETTINGS = {
    "PERTURBDESK_READ_ONLY": "perhaps",
    "PERTURBDESK_BUSY_TIMEOUT_S": "-1",
    "PERTURBDESK_STORE_MEMORY_MB": "2GB",
    "PERTURBDESK_MIRROR": "file:///etc",
    "PERTURBDESK_ENDPOINT": "http://me:secret@host/v1",
    "PERTURBDESK_PRICE_PROMPT": "cheap",
    "PERTURBDESK_PRICE_COMPLETION": "nan",
    "PERTURBDESK_CONTACT": "\u202eme",
    "PERTURBDESK_API_KEY": "two\nlines",
    "PERTURBDESK_AUTHOR": "\udcff",
}


def _replace_store(make: Write) -> Callable[[Path], None]:
    def spoil(workspace: Path) -> None:
        (workspace / "data" / "desk.duckdb").unlink()
        make(workspace / "data" / "desk.duckdb")

    return spoil


def _replace(name: str, make: Write) -> Callable[[Path], None]:
    def spoil(workspace: Path) -> None:
        place = workspace / name
        if place.is_dir():
            place.rename(workspace / "aside")
        else:
            place.unlink(missing_ok=True)
        make(place)

    return spoil


SPOILT = {
    "store-is-a-folder": (_replace_store(Path.mkdir), "a folder lies where a file is expected"),
    "store-is-a-fifo": (_replace_store(os.mkfifo), "a named pipe"),
    "store-is-a-device": (_replace_store(lambda path: path.symlink_to("/dev/zero")), "a device"),
    "store-is-a-loop": (_replace_store(lambda path: path.symlink_to(path.name)), ""),
    "store-is-empty": (_replace_store(Path.touch), "not a DuckDB file"),
    "store-is-text": (_replace_store(_bytes(b"hello" * 100)), "not a DuckDB file"),
    "data-is-a-file": (_replace("data", Path.touch), "a file lies where a folder is expected"),
    "data-is-a-fifo": (_replace("data", os.mkfifo), "a file lies where a folder is expected"),
    "lock-is-a-folder": (_replace("data/desk.duckdb.lock", Path.mkdir), ""),
}


def _outs(folder: Path) -> dict[str, Path]:
    (folder / "file").write_bytes(b"mine")
    os.mkfifo(folder / "pipe")
    return {
        "folder": folder,
        "missing-folder": folder / "no" / "x",
        "below-a-file": folder / "file" / "x",
        "existing-file": folder / "file",
        "pipe": folder / "pipe",
        "device": Path("/dev/null"),
        "full": Path("/dev/full"),
        "proc": Path("/proc/x"),
        "long-name": folder / ("n" * 300),
    }


OUTS = (
    "folder",
    "missing-folder",
    "below-a-file",
    "existing-file",
    "pipe",
    "device",
    "full",
    "proc",
    "long-name",
)
WRITERS = {
    "export": ["export", "debate", "--out"],
    "bundle": ["export", "debate", "--format", "bundle", "--out"],
    "package": ["package", "debate", "--track", "B", "--rows", "split=none", "--out"],
}


def _writes(command: str, place: str) -> Make:
    return lambda folder: [*WRITERS[command], str(_outs(folder)[place])]


def _reads_fifo(*arguments: str) -> Make:
    def make(folder: Path) -> list[str]:
        os.mkfifo(folder / "pipe")
        return [argument.replace("PIPE", str(folder / "pipe")) for argument in arguments]

    return make


def _table(name: str) -> Make:
    return _import_of(name, _bytes(cases.DEBATES.replace(b"0.333", b"0.334")))


def _predictions(spoil: hostile_hdf5.Spoil) -> Make:
    def make(folder: Path) -> list[str]:
        return [
            "cells",
            "predictions",
            str(hostile_hdf5.write_spoilt(folder, spoil)),
            "--dataset",
            "bmdm",
        ]

    return make


def _labels(spoil: hostile_hdf5.Spoil) -> Make:
    return lambda folder: [
        "cells",
        "labels",
        str(hostile_hdf5.write_spoilt(folder, spoil)),
        "--name",
        "x",
    ]


def _deep_toml(*command: str) -> Make:
    def make(folder: Path) -> list[str]:
        (folder / "deep.toml").write_bytes(b"a = " + b"[" * 10_000 + b"]" * 10_000)
        return [*command, str(folder / "deep.toml")]

    return make


DEEP_TOML = {"experiment": ("experiment", "plan")}

ATTACKS = [
    *(
        Attack(f"special-{name}", _import_of("x.csv", make), words)
        for name, (make, words) in SPECIAL.items()
    ),
    *(
        Attack(f"place-{name}", lambda _, place=place: ["import", place], words)
        for name, (place, words) in PLACES.items()
    ),
    *(
        Attack(
            f"content-{name}",
            _import_of(file, _bytes(content)),
            words,
            rejects=name in ("open-quote", "million-cells"),
        )
        for name, (file, content, words) in CONTENTS.items()
    ),
    Attack("content-npz-of-objects", _import_of("x.npz", _objects), "pickled array"),
    Attack("content-parquet-bomb", _import_of("x.parquet", _parquet_bomb)),
    Attack("content-workbook-bomb", _import_of("x.xlsx", _workbook_bomb), "that unpack to"),
    Attack("content-the-store", lambda _: ["import", "WORKSPACE/data/desk.duckdb"]),
    *(
        Attack(f"rename-{name}", lambda _, text=text: ["runs", "rename", "debate", text])
        for name, text in NAMES.items()
    ),
    *(
        Attack(f"file-called-{name}", _table(f"{NAMES[name]}.csv"))
        for name in ("escape", "bidi", "zero-width", "line-end")
    ),
    Attack("file-called-blank", _table("\u3000.csv")),
    Attack(
        "argument-undecodable",
        lambda folder: ["import", f"{folder}/\udcff.csv"],
        "byte 0xFF is not UTF-8",
    ),
    Attack(
        "rename-undecodable",
        lambda _: ["runs", "rename", "debate", "a\udce4b"],
        "byte 0xE4 is not UTF-8",
    ),
    Attack("import-name", lambda folder: [*_table("x.csv")(folder), "--name", f"x{BIDI}"]),
    Attack(
        "import-dataset",
        lambda folder: [
            *_import_of("x.csv", _bytes(OTHER_TRAIN))(folder),
            "--dataset",
            f"x{ZERO_WIDTH}",
        ],
    ),
    Attack("run-name", lambda _: ["run", "evidence_rules", "--name", f"x{BIDI}"]),
    Attack("space-name", lambda folder: [*_space(folder), "--name", f"x{ZERO_WIDTH}"]),
    *(
        Attack(f"cells-{name}", _predictions(spoil), words)
        for name, (spoil, words) in hostile_hdf5.COMMANDS.items()
    ),
    Attack(
        "labels-virtual", _labels(hostile_hdf5.LEAVES_THE_FILE["virtual"][0]), "a virtual dataset"
    ),
    *(
        Attack(f"{name}-of-deep-toml", _deep_toml(*words), "nested too deeply")
        for name, words in DEEP_TOML.items()
    ),
    Attack("content-parquet-page", _import_of("x.parquet", _parquet_page)),
    *(
        Attack(f"{command}-{place}", _writes(command, place))
        for command in ("export", "bundle")
        for place in OUTS
    ),
    Attack("check-fifo", _reads_fifo("check", "PIPE", "--track", "B"), "a named pipe"),
    Attack("check-zero", lambda _: ["check", "/dev/zero", "--track", "B"], "a device"),
    Attack("check-folder", lambda folder: ["check", str(folder), "--track", "B"]),
    Attack("ids-fifo", _reads_fifo("run", "evidence_rules", "--rows", "ids=PIPE"), "a named pipe"),
    Attack("ids-zero", lambda _: ["run", "evidence_rules", "--rows", "ids=/dev/zero"], "a device"),
    Attack("space-fifo", _reads_fifo("embed", "load", "PIPE", "--name", "x"), "a named pipe"),
    *(
        Attack(f"setting-{name[12:].lower()}", lambda _: ["runs"], name, {name: text})
        for name, text in SETTINGS.items()
    ),
    *(
        Attack(f"spoilt-{name}", lambda _: ["runs"], words, spoils=spoil)
        for name, (spoil, words) in SPOILT.items()
    ),
]


def _space(folder: Path) -> list[str]:
    (folder / "s.csv").write_bytes(b"symbol,x\nA,1\n")
    return ["embed", "load", str(folder / "s.csv")]
