-- A question belongs to the conversation it was asked in, and is withdrawn when that goes on
-- without it.
CREATE TABLE approval_asked (
    id TEXT PRIMARY KEY NOT NULL,
    caller TEXT NOT NULL,
    caller_name TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    effects TEXT NOT NULL,
    rule TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used', 'expired', 'withdrawn')),
    decided_by TEXT,
    decided_at BIGINT,
    used_by_call TEXT
);
INSERT INTO approval_asked (id, caller, caller_name, agent, tool, arguments, fingerprint, effects,
    rule, created, expires, state, decided_by, decided_at, used_by_call)
SELECT id, caller, caller_name, agent, tool, arguments, fingerprint, effects,
    rule, created, expires, state, decided_by, decided_at, used_by_call
FROM approval;
DROP TABLE approval;
ALTER TABLE approval_asked RENAME TO approval;
-- One question per call: a second asker finds the first one's row.
CREATE UNIQUE INDEX approval_live ON approval (fingerprint)
    WHERE state IN ('pending', 'approved', 'denied');
CREATE INDEX approval_state ON approval (state, expires);
