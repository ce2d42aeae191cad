-- Archives of conversations that were deleted and are still to be removed from the blobs. A row goes
-- when its folder is empty.
CREATE TABLE session_gone (
    folder TEXT PRIMARY KEY NOT NULL
);
