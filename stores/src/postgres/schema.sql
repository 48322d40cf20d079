-- Version 2. Each table leads with the session, so all that hangs on a session is one range
-- of each, and goes with its row in `sessions`. Ids compare as bytes (COLLATE "C"). Values,
-- states and changes are JSON text, which PostgreSQL never parses.

-- Where the revisions of a session begin: 2^32 apart, so that a session created again after
-- its deletion shares no revision with the one before.
CREATE SEQUENCE births AS bigint INCREMENT BY 4294967296 MINVALUE 0;

CREATE TABLE sessions (
    session     text    COLLATE "C" PRIMARY KEY,
    -- Moved by every write of what guarded operations read, but for stages.
    revision    bigint  NOT NULL DEFAULT nextval('births'),
    -- How many stages there were, and the latest one's step.
    stagings    bigint  NOT NULL DEFAULT 0,
    staged_step text    COLLATE "C",
    version     bigint  NOT NULL,
    expires_at  bigint,
    interrupt   boolean NOT NULL,
    status      text    NOT NULL,
    last_step   text    COLLATE "C",
    state       text    NOT NULL
    -- Every write of a session leaves a dead row; with room on the page, the next write
    -- takes its place, and no index is touched.
) WITH (fillfactor = 50);

CREATE INDEX sessions_by_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL;

-- Positions are dense from 0, so the count is the last position + 1: one seek, and no
-- second place that could disagree.
CREATE TABLE messages (
    session  text   COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
    position bigint NOT NULL,
    id       text   COLLATE "C" NOT NULL,
    body     text   NOT NULL,
    PRIMARY KEY (session, position),
    UNIQUE (session, id)
);

CREATE TABLE staged (
    session text   COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
    step    text   COLLATE "C" NOT NULL,
    call    text   COLLATE "C" NOT NULL,
    at      bigint NOT NULL,
    changes text   NOT NULL,
    PRIMARY KEY (session, step, call)
);

CREATE TABLE calls (
    session  text   COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
    call     text   COLLATE "C" NOT NULL,
    run      text   COLLATE "C" NOT NULL,
    deadline bigint NOT NULL,
    state    text   NOT NULL CHECK (state IN ('pending', 'submitted', 'expired')),
    result   text   CHECK ((result IS NOT NULL) = (state = 'submitted')),
    PRIMARY KEY (session, call)
);

CREATE INDEX pending_calls_by_deadline ON calls (deadline) WHERE state = 'pending';

CREATE TABLE runs (
    session text   COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
    turn    bigint NOT NULL,
    run     text   COLLATE "C" NOT NULL,
    PRIMARY KEY (session, turn),
    UNIQUE (session, run)
);
