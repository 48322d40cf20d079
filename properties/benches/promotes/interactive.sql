-- A stage and a promote as the interactive transactions that most stores are written as:
-- lock the session, look, write, commit. The client computes nothing in between.
\if :shared
\set s random(1, 16)
\else
\set s 2 * :client_id + random(1, 2)
\endif
\set n random(1, 9000000000000000)
BEGIN;
SELECT last_step FROM sessions WHERE session = :s FOR UPDATE;
INSERT INTO staged (session, step, call, at, changes)
    VALUES (:s, :n, 'c', 1, '[{"Set":{"key":"k","value":1}}]')
    ON CONFLICT (session, step, call) DO UPDATE SET at = excluded.at, changes = excluded.changes;
COMMIT;
BEGIN;
SELECT version, last_step, state FROM sessions WHERE session = :s FOR UPDATE;
SELECT at, call, changes FROM staged WHERE session = :s AND step = :n;
SELECT id, body FROM messages WHERE session = :s AND id = :n;
SELECT coalesce(max(position) + 1, 0) AS next FROM messages WHERE session = :s \gset
UPDATE sessions SET version = version + 1, last_step = :n, state = '{"k":1}' WHERE session = :s;
DELETE FROM staged WHERE session = :s AND step = :n;
INSERT INTO messages (session, position, id, body) VALUES (:s, :next, :n, '1');
COMMIT;
