-- What an agent did in a request that ended with calls its client has to run: replies, its own calls and their
-- results, which the client never sees. They are joined with the results that the client sends.
CREATE TABLE continuation (
    id TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    created BIGINT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX continuation_by_age ON continuation (created);
CREATE INDEX continuation_by_caller ON continuation (caller, created);
