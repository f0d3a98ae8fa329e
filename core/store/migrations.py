"""The schema, as numbered steps. Each step and its record share one transaction.

An older file is upgraded when it is opened, a newer one refused. Steps are never edited once released, and run no code that is
(tests/store/test_frozen.py): SQL, the standard library, and files of core/store/frozen. Add one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from core.errors import StoreDamaged, StoreTooNew
from core.store.frozen import brief_findings_6, hash_chain_1

Step = Callable[[duckdb.DuckDBPyConnection], None]
STEPS: list[Step] = []


def step(function: Step) -> Step:
    """Register the next migration; its number is its place in the file."""
    STEPS.append(function)
    return function


def version_of(cursor: duckdb.DuckDBPyConnection, file: Path) -> int:
    """The schema version of an attached store; 0 for an empty one. Raise StoreDamaged on someone else's database."""
    tables = {
        name for (name,) in cursor.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'desk'").fetchall()
    }
    if not tables:
        return 0
    if "schema_version" not in tables:
        raise StoreDamaged(
            f"{file}: a DuckDB database, but not a PerturbDesk store (tables {', '.join(sorted(tables)[:5])}); left as it is"
        )
    [(version,)] = cursor.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchall()
    return int(version)


def is_behind(cursor: duckdb.DuckDBPyConnection, file: Path) -> bool:
    """Whether steps are missing. Raise StoreTooNew when the file knows steps that this version does not."""
    version = version_of(cursor, file)
    if version > len(STEPS):
        raise StoreTooNew(f"{file}: schema {version}, this version knows up to {len(STEPS)}; update PerturbDesk to open it")
    return version < len(STEPS)


def upgrade(cursor: duckdb.DuckDBPyConnection, file: Path, to: int | None = None) -> None:
    """Run the missing steps, each in a transaction with its record. to: the version to stop at, by default the newest."""
    if not is_behind(cursor, file):
        return
    version = version_of(cursor, file)
    for number, run_step in enumerate(STEPS[version:to], start=version + 1):
        cursor.begin()
        try:
            cursor.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER, name VARCHAR, applied_at TIMESTAMP)")
            run_step(cursor)
            cursor.execute("INSERT INTO schema_version VALUES (?, ?, now()::TIMESTAMP)", [number, run_step.__name__])
            cursor.commit()
        except BaseException:
            with suppress(duckdb.Error):  # a commit that failed has ended the transaction
                cursor.rollback()
            raise


@step
def first_schema(cursor: duckdb.DuckDBPyConnection) -> None:
    """Datasets, runs with their traces and evidence, and what people did to them.

    Large tables carry no primary key: rows of a run arrive in one piece and in order, so that the minimum and maximum
    that DuckDB keeps per block find a row faster than an index, which every import would pay for.
    """
    for statement in (
        """CREATE TABLE dataset (id VARCHAR PRIMARY KEY, name VARCHAR UNIQUE NOT NULL, kind VARCHAR NOT NULL,
           organism VARCHAR, context VARCHAR, origin VARCHAR NOT NULL, created_at TIMESTAMP NOT NULL)""",
        """CREATE TABLE pair (dataset VARCHAR NOT NULL, pair_id VARCHAR NOT NULL, pert VARCHAR NOT NULL, gene VARCHAR NOT NULL,
           label VARCHAR, split VARCHAR NOT NULL, position INTEGER NOT NULL, import VARCHAR NOT NULL)""",
        "CREATE TABLE gene (symbol VARCHAR PRIMARY KEY, naming VARCHAR NOT NULL, description VARCHAR)",
        """CREATE TABLE run (id VARCHAR PRIMARY KEY, dataset VARCHAR NOT NULL, name VARCHAR NOT NULL, method VARCHAR NOT NULL,
           origin VARCHAR NOT NULL, track VARCHAR, model VARCHAR, spec VARCHAR NOT NULL, parents VARCHAR[] NOT NULL,
           status VARCHAR NOT NULL, total INTEGER NOT NULL, done INTEGER NOT NULL, failed INTEGER NOT NULL,
           fallbacks INTEGER NOT NULL, collapsed INTEGER NOT NULL, tokens BIGINT, tokens_unknown INTEGER NOT NULL,
           created_at TIMESTAMP NOT NULL, code_version VARCHAR NOT NULL, public_score DOUBLE, note VARCHAR)""",
        """CREATE TABLE prediction (run VARCHAR NOT NULL, pair_id VARCHAR NOT NULL, prediction_up DOUBLE, prediction_down DOUBLE,
           p_de DOUBLE, p_up_given_de DOUBLE, p_source VARCHAR, flags VARCHAR[] NOT NULL, error VARCHAR,
           tokens INTEGER, prompt_tokens INTEGER, tool_calls INTEGER)""",
        """CREATE TABLE trace_event (run VARCHAR NOT NULL, pair_id VARCHAR NOT NULL, seq SMALLINT NOT NULL,
           stage VARCHAR NOT NULL, role VARCHAR NOT NULL, kind VARCHAR NOT NULL, content VARCHAR NOT NULL,
           tokens INTEGER, latency_ms DOUBLE, findings VARCHAR[] NOT NULL, meta VARCHAR NOT NULL)""",
        """CREATE TABLE evidence (id VARCHAR PRIMARY KEY, tool VARCHAR NOT NULL, key VARCHAR NOT NULL, view VARCHAR NOT NULL,
           retrieved_at TIMESTAMP, source VARCHAR NOT NULL, status VARCHAR NOT NULL, body VARCHAR NOT NULL)""",
        """CREATE TABLE row_evidence (run VARCHAR NOT NULL, pair_id VARCHAR NOT NULL, seq SMALLINT NOT NULL,
           evidence VARCHAR NOT NULL)""",
        """CREATE TABLE note (id VARCHAR PRIMARY KEY, run VARCHAR NOT NULL, pair_id VARCHAR, author VARCHAR NOT NULL,
           written_at TIMESTAMP NOT NULL, text VARCHAR NOT NULL)""",
        """CREATE TABLE import (id VARCHAR PRIMARY KEY, sha256 VARCHAR NOT NULL, file VARCHAR NOT NULL, kind VARCHAR NOT NULL,
           dataset VARCHAR NOT NULL, run VARCHAR, rows INTEGER NOT NULL, rejected INTEGER NOT NULL,
           imported_at TIMESTAMP NOT NULL, author VARCHAR NOT NULL)""",
        """CREATE TABLE rejected_row (import VARCHAR NOT NULL, line INTEGER NOT NULL, reason VARCHAR NOT NULL,
           detail VARCHAR NOT NULL)""",
        """CREATE TABLE trail (changed_at TIMESTAMP NOT NULL, author VARCHAR NOT NULL, action VARCHAR NOT NULL,
           subject VARCHAR NOT NULL, detail VARCHAR NOT NULL)""",
        "CREATE TABLE version (scope VARCHAR PRIMARY KEY, n BIGINT NOT NULL)",
    ):
        cursor.execute(statement)


@step
def spaces_packs_presets(cursor: duckdb.DuckDBPyConnection) -> None:
    """Gene spaces, knowledge packs and named settings; a file of either belongs to no dataset."""
    for statement in (
        "ALTER TABLE import ALTER COLUMN dataset DROP NOT NULL",
        """CREATE TABLE space (id VARCHAR PRIMARY KEY, name VARCHAR UNIQUE NOT NULL, kind VARCHAR NOT NULL, spec VARCHAR NOT NULL,
           source VARCHAR NOT NULL, sha256 VARCHAR NOT NULL, genes INTEGER NOT NULL, columns INTEGER NOT NULL,
           notes VARCHAR[] NOT NULL, built_from VARCHAR, import VARCHAR, author VARCHAR NOT NULL,
           created_at TIMESTAMP NOT NULL)""",
        """CREATE TABLE knowledge (name VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, sha256 VARCHAR NOT NULL,
           entries INTEGER NOT NULL, source VARCHAR NOT NULL, import VARCHAR NOT NULL, imported_at TIMESTAMP NOT NULL)""",
        """CREATE TABLE preset (page VARCHAR NOT NULL, name VARCHAR NOT NULL, settings VARCHAR NOT NULL,
           author VARCHAR NOT NULL, written_at TIMESTAMP NOT NULL, PRIMARY KEY (page, name))""",
    ):
        cursor.execute(statement)


@step
def calls_and_folding(cursor: duckdb.DuckDBPyConnection) -> None:
    """Runs that are under way: how far their journal is in the store, what they spent, and the calls behind each row."""
    for column in (
        "folded_bytes BIGINT DEFAULT 0",
        "cause VARCHAR",
        "spent_tokens BIGINT",
        "expected_calls BIGINT",
        "started_at TIMESTAMP",
        "finished_at TIMESTAMP",
    ):
        cursor.execute(f"ALTER TABLE run ADD COLUMN {column}")
    for statement in (
        "CREATE TABLE call (id VARCHAR PRIMARY KEY, key VARCHAR NOT NULL, request VARCHAR NOT NULL, reply VARCHAR NOT NULL)",
        """CREATE TABLE row_call (run VARCHAR NOT NULL, pair_id VARCHAR NOT NULL, seq SMALLINT NOT NULL, call VARCHAR NOT NULL,
           stage VARCHAR NOT NULL, role VARCHAR NOT NULL, cached BOOLEAN NOT NULL, attempts INTEGER NOT NULL,
           latency_ms DOUBLE NOT NULL, prompt_tokens BIGINT NOT NULL, completion_tokens BIGINT NOT NULL,
           reasoning_tokens BIGINT NOT NULL, error VARCHAR NOT NULL)""",
    ):
        cursor.execute(statement)


@step
def bundled_runs(cursor: duckdb.DuckDBPyConnection) -> None:
    """What a bundle says of the run that came in it: how it was made at home, and the names of its parents."""
    cursor.execute("CREATE TABLE bundled_run (run VARCHAR PRIMARY KEY, origin VARCHAR NOT NULL, parent_names VARCHAR NOT NULL)")


@step
def evaluations(cursor: duckdb.DuckDBPyConnection) -> None:
    """How labels were kept away from runs that are made from them, and what other cuts of the folds would score."""
    cursor.execute("ALTER TABLE run ADD COLUMN evaluation VARCHAR")


@step
def wider_findings(cursor: duckdb.DuckDBPyConnection) -> None:
    """Briefs are searched anew: what answers the multiple-choice question is more than an option's letter and a bracket."""
    for (run,) in cursor.execute("SELECT DISTINCT run FROM trace_event WHERE kind = 'brief' ORDER BY run").fetchall():
        brief_findings_6.update(cursor, run)


@step
def packs_of_runs(cursor: duckdb.DuckDBPyConnection) -> None:
    """The organism of each knowledge pack, and packs that went while an unfinished run was planned with them."""
    cursor.execute("ALTER TABLE knowledge ADD COLUMN organism VARCHAR")
    cursor.execute(
        """CREATE TABLE kept_knowledge (sha256 VARCHAR PRIMARY KEY, name VARCHAR NOT NULL, kind VARCHAR NOT NULL,
           entries INTEGER NOT NULL, source VARCHAR NOT NULL, import VARCHAR NOT NULL, imported_at TIMESTAMP, organism VARCHAR)"""
    )


@step
def notes_on_figures(cursor: duckdb.DuckDBPyConnection) -> None:
    """Notes may be about a figure of a run: its title, and the address of the view that has it."""
    for column in ("figure VARCHAR", "address VARCHAR"):
        cursor.execute(f"ALTER TABLE note ADD COLUMN {column}")


@step
def ledger_of_hypotheses(cursor: duckdb.DuckDBPyConnection) -> None:
    """The ledger of hypotheses: what was claimed and what came out. Rows are only ever added."""
    cursor.execute(
        """CREATE TABLE hypothesis (id VARCHAR PRIMARY KEY, first VARCHAR NOT NULL, position INTEGER UNIQUE NOT NULL,
           kind VARCHAR NOT NULL, source VARCHAR NOT NULL, name VARCHAR NOT NULL, hypothesis VARCHAR NOT NULL, prediction VARCHAR,
           dataset VARCHAR, metric VARCHAR, level VARCHAR, unit VARCHAR, smallest_effect DOUBLE, run_a VARCHAR, run_b VARCHAR,
           name_a VARCHAR, name_b VARCHAR, benchmark VARCHAR, measured_on VARCHAR, scored VARCHAR, score_a DOUBLE, score_b DOUBLE,
           score_se DOUBLE, estimate DOUBLE, low DOUBLE, high DOUBLE, se DOUBLE, df DOUBLE, z DOUBLE, n INTEGER,
           detectable_low DOUBLE, detectable DOUBLE, verdict VARCHAR, reason VARCHAR, public_a DOUBLE, public_b DOUBLE,
           seen_before BOOLEAN, note VARCHAR, author VARCHAR NOT NULL, written_at TIMESTAMP NOT NULL,
           code_version VARCHAR NOT NULL)"""
    )


@step
def cell_lines_and_headlines(cursor: duckdb.DuckDBPyConnection) -> None:
    """What the files of a cell line say, each by itself, and the number that a dataset is judged by."""
    cursor.execute(
        """CREATE TABLE file_row (import VARCHAR NOT NULL, line INTEGER NOT NULL, pair_id VARCHAR NOT NULL, pert VARCHAR NOT NULL,
           gene VARCHAR NOT NULL, label VARCHAR NOT NULL, split VARCHAR NOT NULL)"""
    )
    cursor.execute("ALTER TABLE dataset ADD COLUMN headline VARCHAR DEFAULT 'mean'")
    cursor.execute("UPDATE dataset SET headline = 'macro' WHERE kind <> 'ternary'")


@step
def cell_evaluations(cursor: duckdb.DuckDBPyConnection) -> None:
    """cell-eval's tables for the files that runs of predicted expression were made from."""
    cursor.execute(
        """CREATE TABLE cell_evaluation (run VARCHAR PRIMARY KEY, predicted_sha256 VARCHAR NOT NULL, real_file VARCHAR NOT NULL,
           real_sha256 VARCHAR NOT NULL, content VARCHAR NOT NULL, author VARCHAR NOT NULL, measured_at TIMESTAMP NOT NULL)"""
    )


@step
def rubrics_and_labels(cursor: duckdb.DuckDBPyConnection) -> None:
    """Questions about the texts of runs, the samples of texts that people read for them, and what they answered."""
    for statement in (
        """CREATE TABLE rubric (name VARCHAR PRIMARY KEY, sha256 VARCHAR NOT NULL, content VARCHAR NOT NULL,
           author VARCHAR NOT NULL, added_at TIMESTAMP NOT NULL)""",
        """CREATE TABLE text_sample (id VARCHAR PRIMARY KEY, rubric VARCHAR NOT NULL, rubric_sha256 VARCHAR NOT NULL,
           run VARCHAR NOT NULL, design VARCHAR NOT NULL, reading VARCHAR NOT NULL, seed INTEGER NOT NULL,
           author VARCHAR NOT NULL, drawn_at TIMESTAMP NOT NULL)""",
        """CREATE TABLE sampled_text (sample VARCHAR NOT NULL, position INTEGER NOT NULL, pair_id VARCHAR NOT NULL,
           seq SMALLINT NOT NULL, role VARCHAR NOT NULL, probability DOUBLE NOT NULL)""",
        """CREATE TABLE text_label (rubric VARCHAR NOT NULL, rubric_sha256 VARCHAR NOT NULL, run VARCHAR NOT NULL,
           pair_id VARCHAR NOT NULL, seq SMALLINT NOT NULL, role VARCHAR NOT NULL, answer VARCHAR NOT NULL,
           given_by VARCHAR NOT NULL, author VARCHAR NOT NULL, sample VARCHAR, labelled_at TIMESTAMP NOT NULL)""",
        "ALTER TABLE hypothesis ADD COLUMN rubric VARCHAR",
        "ALTER TABLE hypothesis ADD COLUMN rubric_sha256 VARCHAR",
    ):
        cursor.execute(statement)


@step
def pairs_by_id(cursor: duckdb.DuckDBPyConnection) -> None:
    """An index of pairs by their id: of a million pairs one is found in a millisecond instead of fifteen. Only imports of pairs
    write it, half a microsecond a row."""
    cursor.execute("CREATE INDEX pair_by_id ON pair (pair_id)")


@step
def predictions_by_pair(cursor: duckdb.DuckDBPyConnection) -> None:
    """The same of predictions: of a million one is found in half a millisecond instead of twelve, for 38 MB of the store."""
    cursor.execute("CREATE INDEX prediction_by_pair ON prediction (pair_id)")


@step
def hash_chains(cursor: duckdb.DuckDBPyConnection) -> None:
    """The audit log and the ledger become a hash chain each; what is in them is chained now, and says so.

    A last line of the audit log, written in the chain, seals both as they were found.
    """
    now = datetime.now(UTC).replace(tzinfo=None)
    cursor.execute("ALTER TABLE trail ADD COLUMN position INTEGER")
    heads = [_chain_rows(cursor, *table, now) for table in (("hypothesis", "position"), ("trail", "rowid"))]
    if any(entries for entries, _ in heads):
        (entries, head), (lines, previous) = heads
        [(local,)] = cursor.execute("SELECT now()::TIMESTAMP").fetchall()
        line = {"changed_at": local, "author": "PerturbDesk", "action": "upgrade", "subject": "hash chains"}
        line |= {"detail": f'{{"audit_log": {lines}, "ledger": {entries}}}', "position": lines + 1, "form": 1}
        line |= {"previous": previous, "chained": "when written", "chained_at": now}
        line |= {"other_entries": entries, "other_head": head}
        line["hash"] = hash_chain_1.chain_hash(previous, line)
        cursor.execute(f"INSERT INTO trail ({', '.join(line)}) VALUES ({', '.join('?' * len(line))})", list(line.values()))


def _chain_rows(cursor: duckdb.DuckDBPyConnection, table: str, order: str, now: datetime) -> tuple[int, str]:
    """Chain the rows of a table; return how many there are, and the hash of the last."""
    for column in (
        *("form INTEGER", "previous VARCHAR", "chained VARCHAR", "chained_at TIMESTAMP"),
        *("other_entries INTEGER", "other_head VARCHAR", "hash VARCHAR"),
    ):
        cursor.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    found = cursor.execute(f"SELECT rowid, * FROM {table} ORDER BY {order}")
    names = [column[0] for column in found.description or ()]
    head, chained = hash_chain_1.GENESIS, []
    for position, values in enumerate(found.fetchall(), start=1):
        row = dict(zip(names, values, strict=True))
        place = row.pop("rowid")
        row |= {"position": position, "form": 1, "previous": head, "chained": "at upgrade", "chained_at": now}
        previous, head = head, hash_chain_1.chain_hash(head, row)
        chained.append((place, position, previous, head))
    columns = [list(column) for column in zip(*chained, strict=True)] or [[], [], [], []]
    cursor.execute(
        f"""UPDATE {table} t SET position = c.position, form = 1, previous = c.previous, chained = 'at upgrade', chained_at = ?,
              hash = c.hash FROM (SELECT unnest(?::BIGINT[]) AS place, unnest(?::INTEGER[]) AS position,
              unnest(?::VARCHAR[]) AS previous, unnest(?::VARCHAR[]) AS hash) c WHERE t.rowid = c.place""",
        [now, *columns],
    )
    return len(chained), head


@step
def walk_throughs(cursor: duckdb.DuckDBPyConnection) -> None:
    """Walk-throughs of a dataset: what people kept while they read, in order, with a sentence each."""
    cursor.execute(
        """CREATE TABLE walk_stop (id VARCHAR PRIMARY KEY, dataset VARCHAR NOT NULL, walk VARCHAR NOT NULL,
           position INTEGER NOT NULL, kind VARCHAR NOT NULL, run VARCHAR, pair_id VARCHAR, title VARCHAR NOT NULL,
           sentence VARCHAR NOT NULL, address VARCHAR NOT NULL, figure VARCHAR, author VARCHAR NOT NULL,
           added_at TIMESTAMP NOT NULL)"""
    )


@step
def marks_of_labels(cursor: duckdb.DuckDBPyConnection) -> None:
    """How far labels that were made of cells can be trusted; of the datasets that are here, the audit log has it."""
    for column in ("false_share DOUBLE", "nominal_share DOUBLE", "confounded INTEGER DEFAULT 0"):
        cursor.execute(f"ALTER TABLE dataset ADD COLUMN {column}")
    found = cursor.execute("SELECT detail FROM trail WHERE action = 'label cells' ORDER BY position").fetchall()
    for (detail,) in found:
        record = json.loads(detail)
        calibration = record.get("calibration") or {}
        confounded = (record.get("left_out") or {}).get("confounded perturbations") or []
        cursor.execute(
            """UPDATE dataset SET false_share = ?, nominal_share = ?, confounded = ?
               WHERE name = ? AND id IN (SELECT dataset FROM import WHERE kind = 'cells')""",
            [calibration.get("false_share"), calibration.get("nominal"), len(confounded), record.get("name")],
        )
