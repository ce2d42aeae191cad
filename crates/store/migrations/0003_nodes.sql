-- The machines that lend their hands. What is connected now is not kept here.
CREATE TABLE node (
    id TEXT PRIMARY KEY NOT NULL,
    token TEXT,
    former TEXT NOT NULL,
    platform TEXT NOT NULL,
    version TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    tools TEXT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL
);

-- One-time codes by which a machine becomes a node. Only a hash is kept.
CREATE TABLE node_code (
    hash TEXT PRIMARY KEY NOT NULL,
    node TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    used BIGINT
);

-- News of programs in the background of nodes, once each.
CREATE TABLE node_news (
    node TEXT NOT NULL,
    event_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    event TEXT NOT NULL,
    caller TEXT,
    agent TEXT,
    payload TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (node, event_id)
);
CREATE INDEX node_news_session ON node_news (node, session_id);
CREATE INDEX node_news_at ON node_news (at);
