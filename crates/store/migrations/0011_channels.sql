-- What platforms told us: each event once, however often it is told. `lane` is the chat; within it
-- events are worked on in the order of `seq`.
CREATE TABLE inbox (
    id TEXT PRIMARY KEY NOT NULL,
    seq BIGINT NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    event TEXT NOT NULL,
    lane TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('new', 'done', 'ignored', 'failed')),
    attempts BIGINT NOT NULL,
    why TEXT,
    received BIGINT NOT NULL,
    ended BIGINT
);
CREATE UNIQUE INDEX inbox_event ON inbox (channel, account, event);
CREATE INDEX inbox_open ON inbox (lane, seq) WHERE state = 'new';
CREATE INDEX inbox_failed ON inbox (seq) WHERE state = 'failed';
CREATE INDEX inbox_ended ON inbox (ended) WHERE ended IS NOT NULL;

-- What is to be said, in order within each chat. `key` is what makes saying it twice saying it once.
CREATE TABLE outbox (
    id TEXT PRIMARY KEY NOT NULL,
    key TEXT NOT NULL UNIQUE,
    seq BIGINT NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    lane TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'unknown', 'dropped')),
    attempts BIGINT NOT NULL,
    due BIGINT NOT NULL,
    why TEXT,
    message TEXT,
    session_key TEXT,
    created BIGINT NOT NULL,
    ended BIGINT
);
CREATE INDEX outbox_open ON outbox (lane, seq) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_lost ON outbox (seq) WHERE state IN ('failed', 'unknown');
CREATE INDEX outbox_message ON outbox (channel, account, message) WHERE message IS NOT NULL;
CREATE INDEX outbox_ended ON outbox (ended) WHERE ended IS NOT NULL;

-- Answers that a chat is owed: when the turn of a run ends, what it said goes there.
CREATE TABLE promise (
    session_key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    place TEXT NOT NULL,
    ticket TEXT,
    draft TEXT,
    created BIGINT NOT NULL,
    PRIMARY KEY (session_key, run_id)
);

-- People who write, and whether the owner knows them.
CREATE TABLE sender (
    channel TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT,
    handle TEXT,
    state TEXT NOT NULL CHECK (state IN ('asking', 'approved', 'rejected')),
    owner BIGINT NOT NULL,
    code TEXT,
    said TEXT,
    place TEXT NOT NULL,
    asked BIGINT NOT NULL,
    decided BIGINT,
    PRIMARY KEY (channel, id)
);
CREATE INDEX sender_asking ON sender (asked) WHERE state = 'asking';

-- Chats in which something was said.
CREATE TABLE channel_chat (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT,
    last BIGINT NOT NULL,
    PRIMARY KEY (channel, account, chat)
);

-- What an account has to remember.
CREATE TABLE channel_note (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (channel, account, name)
);
