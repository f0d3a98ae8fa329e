"""Bundles that the last commit of version 0.2 wrote: their runs cost money, so that they import."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from core.features.importing import bundle_actions
from core.features.importing.actions import import_upload
from core.runs.workspace import Workspace
from core.store import runs
from core.store.pairs import pairs_sha256
from core.transfer.knn_settings import read_knn_settings
from tests import cases
from tests.bundled import stored

# Columns as that version wrote them: name, type, and "?" where a value may be missing.
PARTS = {
    "prediction": "pair_id string, pert string, gene string, prediction_up double?, prediction_down double?, p_de double?, "
    "p_up_given_de double?, p_source string?, flags string, error string?, tokens int32?, prompt_tokens int32?, "
    "tool_calls int32?",
    "trace_event": "pair_id string, seq int16, stage string, role string, kind string, content string, tokens int32?, "
    "latency_ms double?, findings string, meta string",
    "evidence": "id string, tool string, key string, view string, retrieved_at timestamp[us]?, source string, status string, "
    "body string",
    "row_evidence": "pair_id string, seq int16, evidence string",
    "call": "id string, key string, request string, reply string",
    "row_call": "pair_id string, seq int16, call string, stage string, role string, cached bool, attempts int32, "
    "latency_ms double, prompt_tokens int64, completion_tokens int64, reasoning_tokens int64, error string",
    "note": "id string, pair_id string?, author string, written_at timestamp[us], text string",
}
RUN = {
    **{
        "id": "0123456789",
        "name": "argued",
        "method": "debate",
        "origin": "run here",
        "code_version": "0.2.0+06cf39f68c",
    },
    **{
        "track": "A",
        "model": "m",
        "parents": [],
        "status": "done",
        "cause": "",
        "evaluation": None,
        "public_score": None,
    },
    **{
        "total": 2,
        "done": 2,
        "failed": 0,
        "fallbacks": 0,
        "collapsed": 0,
        "tokens": 70,
        "tokens_unknown": 0,
    },
    **{
        "spent_tokens": 70,
        "expected_calls": 14,
        "note": None,
        "created_at": "2026-11-29T11:37:48.750299",
    },
    **{"started_at": "2026-11-29T11:37:49.481139", "finished_at": "2026-11-29T11:37:52.691913"},
    "spec": {"method": "debate", "version": 2, "options": {"rounds": 1}, "seed": 0, "model": "m"},
}


def table(part: str, rows: list[dict[str, Any]]) -> bytes:
    """The file of a part."""
    fields = []
    for column in PARTS[part].split(", "):
        name, kind = column.removesuffix("?").split(" ", 1)
        arrow = pa.timestamp("us") if kind.startswith("timestamp") else pa.type_for_alias(kind)
        fields.append(pa.field(name, arrow, nullable=column.endswith("?")))
    file = io.BytesIO()
    made = pa.Table.from_pylist(rows, pa.schema(fields))
    parquet.write_table(made, file, compression="none", use_dictionary=False)
    return file.getvalue()


Pairs = list[tuple[str, str, str]]  # id, perturbation, gene


def bundle_of_0_2(run: dict[str, Any], pairs: Pairs) -> bytes:
    """The bundle of a run with two rows, the first of them argued about."""
    names = [dict(zip(("pair_id", "pert", "gene"), pair, strict=True)) for pair in pairs]
    numbers = {
        "prediction_up": 0.3,
        "prediction_down": 0.2,
        "p_de": 0.5,
        "p_up_given_de": 0.6,
        "p_source": "trace",
    }
    rows = {part: [] for part in PARTS}
    rows["prediction"] = [
        {**pair, **numbers, "flags": "", "tokens": 35, "prompt_tokens": 30, "tool_calls": 0}
        for pair in names[:2]
    ]
    event = {
        "stage": "de",
        "role": "EFFECT",
        "content": "Pa moves Ga.",
        "tokens": 5,
        "findings": "genes",
        "meta": "{}",
    }
    rows["trace_event"] = [{"pair_id": names[0]["pair_id"], "seq": 0, "kind": "brief", **event}]
    rows["note"] = [
        {"id": "0123456789ab", "pair_id": None, "author": "Ada", "written_at": 0, "text": "keep"}
    ]
    files = {part: table(part, rows[part]) for part in PARTS}
    manifest = {
        "perturbdesk_bundle": 1,
        "written_by": "0.2.0",
        "run": run,
        "dataset": {
            **{
                "name": "bmdm",
                "kind": "ternary",
                "organism": "mouse",
                "context": "bone-marrow-derived macrophages",
            },
            **{"rows": len(pairs), "sha256": pairs_sha256(pairs)},
        },
        "parts": {
            part: {"sha256": hashlib.sha256(content).hexdigest(), "rows": len(rows[part])}
            for part, content in files.items()
        },
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("manifest.json", json.dumps(manifest))
        for part, content in files.items():
            packed.writestr(f"{part}.parquet", content)
    return file.getvalue()


@pytest.fixture
def pairs(workspace: Workspace) -> Pairs:
    assert import_upload(workspace, cases.TRAIN, "train.csv").kind != "failed"
    with workspace.store.read() as db:
        return db.execute("SELECT pair_id, pert, gene FROM pair ORDER BY position").fetchall()


def test_a_run_of_0_2_imports_with_its_texts_and_notes(workspace: Workspace, pairs: Pairs) -> None:
    outcome = import_upload(workspace, bundle_of_0_2(RUN, pairs), "sent.zip")
    assert (outcome.kind, outcome.name, outcome.rows, outcome.message) == (
        "bundle",
        "argued",
        2,
        "",
    )
    with workspace.store.read() as db:
        run = runs.find(db, "argued")
    assert (run.id, run.tokens, run.spec, run.code_version) == (
        "0123456789",
        70,
        RUN["spec"],
        RUN["code_version"],
    )
    parts = stored(workspace, "argued")
    assert "Pa moves Ga." in str(parts)
    assert "keep" in str(parts)
    assert (
        import_upload(
            workspace, bundle_actions.build_bundle(workspace, "argued").content, "again.zip"
        ).new
        is False
    )


def test_a_knn_of_0_2_wrote_0_for_all_genes_and_for_the_same_power(
    workspace: Workspace, pairs: Pairs
) -> None:
    options = {
        "spaces": "near",
        "protocol": "loo",
        "power": 2.0,
        "de_power": 0.0,
        "k": 0,
        "axis": "gene",
    }
    knn = RUN | {
        "method": "knn",
        "name": "near",
        "spec": {"method": "knn", "version": 2, "options": options},
    }
    assert import_upload(workspace, bundle_of_0_2(knn, pairs), "sent.zip").kind == "bundle"
    with workspace.store.read() as db:
        weighting = read_knn_settings(runs.find(db, "near").spec).similarity.weighting
    assert (weighting.k, weighting.de_power) == (None, None)
