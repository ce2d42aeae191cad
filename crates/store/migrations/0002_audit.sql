CREATE TABLE audit (
    seq BIGINT PRIMARY KEY NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    call_id TEXT,
    caller TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    effects TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    summary TEXT NOT NULL,
    status TEXT NOT NULL,
    code TEXT NOT NULL,
    duration_us BIGINT,
    hash TEXT NOT NULL
);
CREATE INDEX audit_caller ON audit (caller, seq);
CREATE INDEX audit_tool ON audit (tool, seq);
CREATE INDEX audit_errors ON audit (seq) WHERE status = 'error';
-- Budgets count the calls of a caller that ended since some instant.
CREATE INDEX audit_finished ON audit (caller, at) WHERE kind = 'finished';

-- The end of the chain, signed with a key of the vault.
CREATE TABLE audit_head (
    id BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL,
    mac TEXT NOT NULL
);

-- Calls that started and have no end yet. Derived from the audit, so that
-- finding what a crash cut off does not read all of it.
CREATE TABLE audit_open (
    call_id TEXT PRIMARY KEY NOT NULL,
    seq BIGINT NOT NULL
);
