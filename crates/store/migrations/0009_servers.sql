-- What the tools of MCP servers said of themselves when the owner took them on, and what they
-- say now where that is held back.
CREATE TABLE server_tool (
    server TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT,
    definition TEXT,
    held_hash TEXT,
    held TEXT,
    place BIGINT NOT NULL,
    seen BIGINT NOT NULL,
    PRIMARY KEY (server, name)
);

-- Accounts of services. Their credentials are in the vault.
CREATE TABLE connection (
    id TEXT PRIMARY KEY NOT NULL,
    service TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    fields TEXT NOT NULL,
    agents TEXT NOT NULL,
    status TEXT NOT NULL,
    detail TEXT NOT NULL,
    created BIGINT NOT NULL,
    checked BIGINT
);
CREATE INDEX connection_service ON connection (service, created, id);
