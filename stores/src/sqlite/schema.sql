-- Schema version 1. Each table leads with the session, so all that hangs on a session is
-- one range of each, and goes with its row in `sessions`. Ids compare as bytes (BINARY,
-- SQLite's default). Values, states and changes are JSON text, which SQLite never parses.
-- Columns that may be long come last, so that reading the others does not walk past them.

CREATE TABLE sessions (
    session    TEXT    NOT NULL PRIMARY KEY,
    version    INTEGER NOT NULL,
    status     TEXT    NOT NULL,
    interrupt  INTEGER NOT NULL CHECK (interrupt IN (0, 1)),
    expires_at INTEGER,
    last_step  TEXT,
    state      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL;

-- Positions are dense from 0, so the count is the last position + 1: one seek, and no
-- second place that could disagree.
CREATE TABLE messages (
    session  TEXT    NOT NULL REFERENCES sessions ON DELETE CASCADE,
    position INTEGER NOT NULL,
    id       TEXT    NOT NULL,
    body     TEXT    NOT NULL,
    PRIMARY KEY (session, position),
    UNIQUE (session, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE staged (
    session TEXT    NOT NULL REFERENCES sessions ON DELETE CASCADE,
    step    TEXT    NOT NULL,
    call    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    changes TEXT    NOT NULL,
    PRIMARY KEY (session, step, call)
) STRICT, WITHOUT ROWID;

CREATE TABLE calls (
    session  TEXT    NOT NULL REFERENCES sessions ON DELETE CASCADE,
    call     TEXT    NOT NULL,
    run      TEXT    NOT NULL,
    deadline INTEGER NOT NULL,
    state    TEXT    NOT NULL CHECK (state IN ('pending', 'submitted', 'expired')),
    result   TEXT    CHECK ((result IS NOT NULL) = (state = 'submitted')),
    PRIMARY KEY (session, call)
) STRICT, WITHOUT ROWID;

CREATE INDEX pending_calls_by_deadline ON calls (deadline) WHERE state = 'pending';

CREATE TABLE runs (
    session TEXT    NOT NULL REFERENCES sessions ON DELETE CASCADE,
    turn    INTEGER NOT NULL,
    run     TEXT    NOT NULL,
    PRIMARY KEY (session, turn),
    UNIQUE (session, run)
) STRICT, WITHOUT ROWID;
