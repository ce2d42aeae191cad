-- How people arrange conversations, which session started a sub-agent's and with which of its calls, and how many
-- tokens the last request of a session had.
ALTER TABLE session ADD COLUMN title TEXT;
ALTER TABLE session ADD COLUMN pinned BIGINT NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN archived BIGINT NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN folder TEXT;
ALTER TABLE session ADD COLUMN parent TEXT;
ALTER TABLE session ADD COLUMN parent_call TEXT;
ALTER TABLE session ADD COLUMN context_tokens BIGINT;
CREATE INDEX session_listed ON session (archived, pinned DESC, last_active DESC, key);
CREATE INDEX session_parent ON session (parent) WHERE parent IS NOT NULL;

-- Notes of stopped and failed turns are numbered like messages and are none; counting messages leaves them out.
CREATE INDEX session_entry_note ON session_entry (session_id, seq) WHERE kind = 'note';
