-- Tokens of browser sessions are marked: logging out revokes those and no others.
ALTER TABLE token ADD COLUMN browser BIGINT NOT NULL DEFAULT 0;

-- Until now a browser held its token as a cookie, and browsers send cookies to every port of a host: any
-- server on the same machine may have received it. These tokens are recognised by how they were made, and
-- are revoked as of their last use.
UPDATE token SET revoked = COALESCE(last_used, created)
WHERE revoked IS NULL
    AND role = 'owner'
    AND name LIKE 'page ____-__-__T__:__:__%'
    AND expires - created = 2592000000;
