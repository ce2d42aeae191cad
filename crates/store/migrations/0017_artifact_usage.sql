-- What is kept as artifacts, by agent, by caller and in all (with an empty name): changed in the
-- transaction that changes the artifacts.
CREATE TABLE artifact_usage (
    scope TEXT NOT NULL CHECK (scope IN ('agent', 'caller', 'all')),
    name TEXT NOT NULL,
    files BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (scope, name)
);
INSERT INTO artifact_usage (scope, name, files, bytes)
    SELECT 'agent', agent, COUNT(*), SUM(size) FROM artifact GROUP BY agent;
INSERT INTO artifact_usage (scope, name, files, bytes)
    SELECT 'caller', caller, COUNT(*), SUM(size) FROM artifact GROUP BY caller;
INSERT INTO artifact_usage (scope, name, files, bytes)
    SELECT 'all', '', COUNT(*), SUM(size) FROM artifact HAVING COUNT(*) > 0;
CREATE INDEX artifact_usage_empty ON artifact_usage (scope) WHERE files <= 0;
