-- Where untrusted text had an influence: files, spawned agents. Jobs and turns carry it in their own records.
CREATE TABLE provenance (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    author TEXT NOT NULL,
    source TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (kind, id)
);

-- The untrusted text that a conversation has seen first; a reset clears it.
ALTER TABLE session ADD COLUMN taint TEXT;

-- The agents that a token may act for.
ALTER TABLE token ADD COLUMN agents TEXT NOT NULL DEFAULT '["main"]';

-- An approval may hold for the conversation, or become the rule that was shown with it.
ALTER TABLE approval ADD COLUMN proposal TEXT;
ALTER TABLE approval ADD COLUMN taint TEXT;
ALTER TABLE approval ADD COLUMN scope TEXT NOT NULL DEFAULT 'once';
ALTER TABLE approval ADD COLUMN message TEXT;
CREATE INDEX approval_conversation ON approval (session, caller) WHERE scope = 'conversation';
