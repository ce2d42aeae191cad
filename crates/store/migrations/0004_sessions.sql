-- Conversations. `floor` is the first entry that a model is still shown; what stands before
-- it is in an archive too.
CREATE TABLE session (
    key TEXT PRIMARY KEY NOT NULL,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    label TEXT,
    settings TEXT NOT NULL,
    previous TEXT NOT NULL,
    peer TEXT,
    floor BIGINT NOT NULL,
    next_seq BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    last_active BIGINT NOT NULL,
    last_reset BIGINT
);
CREATE INDEX session_active ON session (last_active, key);
CREATE INDEX session_agent ON session (agent, last_active);

CREATE TABLE session_entry (
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    turn TEXT,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (session_id, seq)
);

-- One input and what came of it. `run_id` is the asker's own, so that asking twice is asking once.
CREATE TABLE turn (
    id TEXT PRIMARY KEY NOT NULL,
    session_key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    place BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'done', 'failed', 'stopped', 'merged')),
    input TEXT NOT NULL,
    origin TEXT NOT NULL,
    work TEXT NOT NULL,
    outcome TEXT,
    created BIGINT NOT NULL,
    started BIGINT,
    ended BIGINT
);
CREATE UNIQUE INDEX turn_run ON turn (session_key, run_id);
CREATE UNIQUE INDEX turn_place ON turn (session_key, place);
CREATE INDEX turn_open ON turn (session_key, place) WHERE state IN ('queued', 'running', 'waiting');

-- The tools that a model's reply asked for. One that was started and has no outcome after a
-- crash is of unknown outcome, and never run again by itself.
CREATE TABLE turn_call (
    turn TEXT NOT NULL,
    step BIGINT NOT NULL,
    place BIGINT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('asked', 'started', 'done')),
    outcome TEXT,
    PRIMARY KEY (turn, step, place)
);

-- What models used up, by day.
CREATE TABLE model_usage (
    day TEXT NOT NULL,
    agent TEXT NOT NULL,
    session_key TEXT NOT NULL,
    model TEXT NOT NULL,
    calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cache_read_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    PRIMARY KEY (day, agent, session_key, model)
);

-- Messages between agents that wait to be read.
CREATE TABLE agent_message (
    id TEXT PRIMARY KEY NOT NULL,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL,
    read_at BIGINT
);
CREATE INDEX agent_message_waiting ON agent_message (recipient, at) WHERE read_at IS NULL;
CREATE INDEX agent_message_pair ON agent_message (sender, recipient, at);
