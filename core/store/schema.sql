-- The tables of a store. docs/schema.md says what each row is.
--
-- A store keeps the SHA-256 of this file and is opened only by a PerturbDesk whose file has the
-- same (core/store/schema.py): any edit, also of a comment, is another schema.
--
-- Large tables have no primary key: a run's rows arrive in one piece and in order, so the least and
-- greatest value that DuckDB keeps for each block find a row faster than an index that every import
-- would pay for.

CREATE TABLE schema_hash (sha256 VARCHAR NOT NULL);

CREATE TABLE dataset (
    id VARCHAR PRIMARY KEY,
    name VARCHAR UNIQUE NOT NULL,
    organism VARCHAR,
    context VARCHAR,
    origin VARCHAR NOT NULL,
    headline VARCHAR NOT NULL DEFAULT 'mean',
    false_share DOUBLE,
    nominal_share DOUBLE,
    confounded INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE pair (
    dataset VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    pert VARCHAR NOT NULL,
    gene VARCHAR NOT NULL,
    label VARCHAR,
    split VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    import VARCHAR NOT NULL
);

CREATE TABLE gene (
    symbol VARCHAR PRIMARY KEY,
    naming VARCHAR NOT NULL,
    description VARCHAR
);

CREATE TABLE run (
    id VARCHAR PRIMARY KEY,
    dataset VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    method VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    track VARCHAR,
    model VARCHAR,
    spec VARCHAR NOT NULL,
    parents VARCHAR[] NOT NULL,
    status VARCHAR NOT NULL,
    total INTEGER NOT NULL,
    done INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    fallbacks INTEGER NOT NULL,
    collapsed INTEGER NOT NULL,
    tokens BIGINT,
    tokens_unknown INTEGER NOT NULL,
    created_at TIMESTAMP NOT NULL,
    code_version VARCHAR NOT NULL,
    public_score DOUBLE,
    note VARCHAR,
    folded_bytes BIGINT NOT NULL DEFAULT 0,
    cause VARCHAR NOT NULL DEFAULT '',
    spent_tokens BIGINT,
    expected_calls BIGINT,
    started_at TIMESTAMP,
    finished_at TIMESTAMP,
    evaluation VARCHAR
);

CREATE TABLE prediction (
    run VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    prediction_up DOUBLE,
    prediction_down DOUBLE,
    p_de DOUBLE,
    p_up_given_de DOUBLE,
    p_source VARCHAR,
    flags VARCHAR[] NOT NULL,
    error VARCHAR,
    tokens INTEGER,
    prompt_tokens INTEGER,
    tool_calls INTEGER
);

CREATE TABLE kept_result (
    name VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    basis VARCHAR NOT NULL,
    record VARCHAR NOT NULL,
    PRIMARY KEY (name, subject)
);

CREATE TABLE trace_event (
    run VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    seq SMALLINT NOT NULL,
    stage VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    content VARCHAR NOT NULL,
    tokens INTEGER,
    latency_ms DOUBLE,
    findings VARCHAR[] NOT NULL,
    meta VARCHAR NOT NULL
);

CREATE TABLE evidence (
    id VARCHAR PRIMARY KEY,
    tool VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    view VARCHAR NOT NULL,
    retrieved_at TIMESTAMP,
    source VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    body VARCHAR NOT NULL
);

CREATE TABLE row_evidence (
    run VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    seq SMALLINT NOT NULL,
    evidence VARCHAR NOT NULL
);

CREATE TABLE note (
    id VARCHAR PRIMARY KEY,
    run VARCHAR NOT NULL,
    pair_id VARCHAR,
    author VARCHAR NOT NULL,
    written_at TIMESTAMP NOT NULL,
    text VARCHAR NOT NULL,
    figure VARCHAR,
    address VARCHAR
);

CREATE TABLE import (
    id VARCHAR PRIMARY KEY,
    sha256 VARCHAR NOT NULL,
    file VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    dataset VARCHAR,
    run VARCHAR,
    rows INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    imported_at TIMESTAMP NOT NULL,
    author VARCHAR NOT NULL
);

CREATE TABLE rejected_row (
    import VARCHAR NOT NULL,
    line INTEGER NOT NULL,
    reason VARCHAR NOT NULL,
    detail VARCHAR NOT NULL
);

CREATE TABLE trail (
    position INTEGER NOT NULL,
    changed_at TIMESTAMP NOT NULL,
    author VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    detail VARCHAR NOT NULL
);

CREATE TABLE version (
    scope VARCHAR PRIMARY KEY,
    n BIGINT NOT NULL
);

CREATE TABLE space (
    id VARCHAR PRIMARY KEY,
    name VARCHAR UNIQUE NOT NULL,
    kind VARCHAR NOT NULL,
    spec VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    genes INTEGER NOT NULL,
    columns INTEGER NOT NULL,
    notes VARCHAR[] NOT NULL,
    built_from VARCHAR,
    import VARCHAR,
    author VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL
);

CREATE TABLE knowledge (
    name VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    entries INTEGER NOT NULL,
    source VARCHAR NOT NULL,
    import VARCHAR NOT NULL,
    organism VARCHAR NOT NULL,
    imported_at TIMESTAMP NOT NULL
);

CREATE TABLE preset (
    page VARCHAR,
    name VARCHAR,
    settings VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    written_at TIMESTAMP NOT NULL,
    PRIMARY KEY (page, name)
);

CREATE TABLE call (
    id VARCHAR PRIMARY KEY,
    key VARCHAR NOT NULL,
    request VARCHAR NOT NULL,
    reply VARCHAR NOT NULL
);

CREATE TABLE row_call (
    run VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    seq SMALLINT NOT NULL,
    call VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    cached BOOLEAN NOT NULL,
    attempts INTEGER NOT NULL,
    latency_ms DOUBLE NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    error VARCHAR NOT NULL
);

CREATE TABLE bundled_run (
    run VARCHAR PRIMARY KEY,
    origin VARCHAR NOT NULL,
    parent_names VARCHAR NOT NULL
);

CREATE TABLE kept_knowledge (
    sha256 VARCHAR PRIMARY KEY,
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    entries INTEGER NOT NULL,
    source VARCHAR NOT NULL,
    import VARCHAR NOT NULL,
    organism VARCHAR NOT NULL,
    imported_at TIMESTAMP NOT NULL
);

CREATE TABLE hypothesis (
    position INTEGER PRIMARY KEY,
    kind VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    hypothesis VARCHAR NOT NULL,
    prediction VARCHAR,
    dataset VARCHAR,
    metric VARCHAR,
    smallest_effect DOUBLE,
    run_a VARCHAR,
    run_b VARCHAR,
    name_a VARCHAR,
    name_b VARCHAR,
    experiment VARCHAR,
    measured_on VARCHAR,
    scored VARCHAR,
    score_a DOUBLE,
    score_b DOUBLE,
    score_se DOUBLE,
    estimate DOUBLE,
    low DOUBLE,
    high DOUBLE,
    se DOUBLE,
    df DOUBLE,
    z DOUBLE,
    n INTEGER,
    detectable DOUBLE,
    verdict VARCHAR,
    public DOUBLE,
    seen_before BOOLEAN,
    note VARCHAR,
    author VARCHAR NOT NULL,
    written_at TIMESTAMP NOT NULL,
    code_version VARCHAR NOT NULL
);

CREATE TABLE file_row (
    import VARCHAR NOT NULL,
    line INTEGER NOT NULL,
    pair_id VARCHAR NOT NULL,
    pert VARCHAR NOT NULL,
    gene VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    split VARCHAR NOT NULL
);

CREATE TABLE rubric (
    name VARCHAR PRIMARY KEY,
    sha256 VARCHAR NOT NULL,
    content VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    added_at TIMESTAMP NOT NULL
);

CREATE TABLE text_sample (
    id VARCHAR PRIMARY KEY,
    rubric VARCHAR NOT NULL,
    rubric_sha256 VARCHAR NOT NULL,
    run VARCHAR NOT NULL,
    design VARCHAR NOT NULL,
    reading VARCHAR NOT NULL,
    seed INTEGER NOT NULL,
    author VARCHAR NOT NULL,
    drawn_at TIMESTAMP NOT NULL
);

CREATE TABLE sampled_text (
    sample VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    pair_id VARCHAR NOT NULL,
    seq SMALLINT NOT NULL,
    role VARCHAR NOT NULL,
    probability DOUBLE NOT NULL
);

CREATE TABLE text_label (
    rubric VARCHAR NOT NULL,
    rubric_sha256 VARCHAR NOT NULL,
    run VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    seq SMALLINT NOT NULL,
    role VARCHAR NOT NULL,
    answer VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    sample VARCHAR,
    labelled_at TIMESTAMP NOT NULL
);

CREATE TABLE walk_stop (
    id VARCHAR PRIMARY KEY,
    dataset VARCHAR NOT NULL,
    walk VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    run VARCHAR,
    pair_id VARCHAR,
    title VARCHAR NOT NULL,
    sentence VARCHAR NOT NULL,
    address VARCHAR NOT NULL,
    figure VARCHAR,
    author VARCHAR NOT NULL,
    added_at TIMESTAMP NOT NULL
);

-- Only imports of pairs write this one: half a microsecond a row, and of a million pairs one is found
-- in a millisecond instead of fifteen.
CREATE INDEX pair_by_id ON pair (pair_id);

-- The same for predictions: half a millisecond instead of twelve, for 38 MB of a million rows.
CREATE INDEX prediction_by_pair ON prediction (pair_id);
