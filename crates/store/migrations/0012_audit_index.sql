-- A call is found by its id, and the calls for an agent without reading those of others.
CREATE INDEX audit_call ON audit (call_id) WHERE call_id IS NOT NULL;
CREATE INDEX audit_agent ON audit (agent, seq);
-- How many calls ended on a day and how long they took is read from the index alone.
CREATE INDEX audit_ended ON audit (at, tool, status, duration_us) WHERE kind = 'finished';
