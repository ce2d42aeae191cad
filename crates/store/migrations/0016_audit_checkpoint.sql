-- How much the entries of the audit take, for its retention, and the sealed end of what retention
-- has removed: the last entry that is gone, its hash, and the entry that announced the removal.
ALTER TABLE audit_head ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE audit_head SET bytes = (SELECT COALESCE(SUM(
    LENGTH(caller) + LENGTH(agent) + LENGTH(tool) + LENGTH(arguments_digest) + LENGTH(summary)
    + LENGTH(code) + 400), 0) FROM audit);
CREATE TABLE audit_checkpoint (
    id BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL,
    entry BIGINT NOT NULL,
    mac TEXT NOT NULL
);
