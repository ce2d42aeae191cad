-- Accepted by SQLite and PostgreSQL alike: BIGINT and TEXT only, times in
-- milliseconds since the Unix epoch, bytes as hex or base64.

CREATE TABLE token (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    tools TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    created BIGINT NOT NULL,
    expires BIGINT,
    revoked BIGINT,
    last_used BIGINT
);

CREATE TABLE approval (
    id TEXT PRIMARY KEY NOT NULL,
    caller TEXT NOT NULL,
    caller_name TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    effects TEXT NOT NULL,
    rule TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used', 'expired')),
    decided_by TEXT,
    decided_at BIGINT,
    used_by_call TEXT
);
-- One question per call: a second asker finds the first one's row.
CREATE UNIQUE INDEX approval_live ON approval (fingerprint)
    WHERE state IN ('pending', 'approved', 'denied');
CREATE INDEX approval_state ON approval (state, expires);

CREATE TABLE artifact (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    mime TEXT NOT NULL,
    size BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    agent TEXT NOT NULL,
    call_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT
);
CREATE INDEX artifact_created ON artifact (created, id);
CREATE INDEX artifact_expires ON artifact (expires) WHERE expires IS NOT NULL;

CREATE TABLE secret (
    name TEXT PRIMARY KEY NOT NULL,
    nonce TEXT NOT NULL,
    ciphertext TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL
);
