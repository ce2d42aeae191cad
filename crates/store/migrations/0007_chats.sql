-- A chat is a bucket of artifacts. It belongs to the agent that made it, and to the one it
-- was made for; other callers do not find it.
CREATE TABLE chat (
    id TEXT PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    maker TEXT NOT NULL,
    caller TEXT NOT NULL,
    created BIGINT NOT NULL
);

ALTER TABLE artifact ADD COLUMN chat TEXT;
-- Under which id the bytes lie: equal bytes are kept once.
ALTER TABLE artifact ADD COLUMN blob TEXT;
UPDATE artifact SET blob = id;
CREATE INDEX artifact_chat ON artifact (chat, created, id);
CREATE INDEX artifact_bytes ON artifact (sha256, size);
CREATE INDEX artifact_blob ON artifact (blob);
CREATE INDEX artifact_agent ON artifact (agent, size);
