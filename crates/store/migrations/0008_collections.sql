-- Resources: each a collection with grants by agent.
CREATE TABLE collection (
    id TEXT PRIMARY KEY NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('datastore', 'filestore', 'knowledge', 'vault')),
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    items BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    UNIQUE (kind, name)
);

CREATE TABLE collection_grant (
    collection TEXT NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    agent TEXT NOT NULL,
    level TEXT NOT NULL CHECK (level IN ('read', 'write', 'admin')),
    PRIMARY KEY (collection, agent)
);
CREATE INDEX collection_grant_agent ON collection_grant (agent);

CREATE TABLE datastore_row (
    collection TEXT NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    data TEXT NOT NULL,
    size BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    PRIMARY KEY (collection, id)
);

CREATE TABLE filestore_file (
    collection TEXT NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    size BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    blob TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    PRIMARY KEY (collection, path)
);

-- Values are in the vault; here is only where each may be sent.
CREATE TABLE vault_entry (
    collection TEXT NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hosts TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    PRIMARY KEY (collection, name)
);

CREATE TABLE knowledge_document (
    collection TEXT NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    source TEXT NOT NULL,
    size BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    PRIMARY KEY (collection, id)
);

-- Documents are kept in passages, which are what a search finds. The index over them is
-- SQLite's own; `number` is its row id.
CREATE TABLE knowledge_passage (
    number INTEGER PRIMARY KEY NOT NULL,
    collection TEXT NOT NULL,
    document TEXT NOT NULL,
    place BIGINT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    FOREIGN KEY (collection, document)
        REFERENCES knowledge_document (collection, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX knowledge_passage_place ON knowledge_passage (collection, document, place);

CREATE VIRTUAL TABLE knowledge_words USING fts5 (
    title, body,
    content = 'knowledge_passage', content_rowid = 'number',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER knowledge_passage_added AFTER INSERT ON knowledge_passage BEGIN
    INSERT INTO knowledge_words (rowid, title, body) VALUES (new.number, new.title, new.body);
END;
CREATE TRIGGER knowledge_passage_removed AFTER DELETE ON knowledge_passage BEGIN
    INSERT INTO knowledge_words (knowledge_words, rowid, title, body)
    VALUES ('delete', old.number, old.title, old.body);
END;
