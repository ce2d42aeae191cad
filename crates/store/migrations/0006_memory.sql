-- What can be looked up again: messages of conversations, and paragraphs of memory files.
-- `digest` is of what was said and in which turn, so that the same words kept twice (a
-- conversation that was shortened, an archive) are one piece.
CREATE TABLE memory_piece (
    id INTEGER PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('session', 'file')),
    place TEXT NOT NULL,
    session_id TEXT,
    seq BIGINT NOT NULL,
    role TEXT NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE UNIQUE INDEX memory_piece_once ON memory_piece (agent, place, digest);
CREATE INDEX memory_piece_age ON memory_piece (agent, at);

-- How far the pieces are taken: of a session the number of the next entry, of a file its version.
CREATE TABLE memory_mark (
    what TEXT PRIMARY KEY NOT NULL,
    next_seq BIGINT NOT NULL,
    version TEXT NOT NULL
);

-- The words of the pieces. This is SQLite's own full text index. On PostgreSQL the same place is
-- taken by a column `words TSVECTOR` of memory_piece with a GIN index, asked with
-- `websearch_to_tsquery` and ordered by `ts_rank`; the rest of the schema stays as it is.
CREATE VIRTUAL TABLE memory_words USING fts5 (
    who, words, content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER memory_piece_gone AFTER DELETE ON memory_piece BEGIN
    DELETE FROM memory_words WHERE rowid = old.id;
END;
