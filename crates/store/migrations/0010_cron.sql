-- Jobs with a schedule. Only a job that is switched on has a next run; while one runs, it is not
-- due again.
CREATE TABLE cron_job (
    id TEXT PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('job', 'heartbeat')),
    maker TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    enabled BIGINT NOT NULL,
    delete_after_run BIGINT NOT NULL,
    schedule TEXT NOT NULL,
    spec TEXT NOT NULL,
    missed TEXT NOT NULL CHECK (missed IN ('skip', 'once', 'all')),
    window_ms BIGINT NOT NULL,
    overlap TEXT NOT NULL CHECK (overlap IN ('skip', 'wait')),
    origin TEXT NOT NULL,
    next_run BIGINT,
    running TEXT,
    last_run BIGINT,
    last_duration BIGINT,
    last_status TEXT,
    last_error TEXT,
    failures BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL
);
CREATE INDEX cron_job_due ON cron_job (next_run, id) WHERE running IS NULL;
CREATE INDEX cron_job_list ON cron_job (kind, created, id);
CREATE INDEX cron_job_maker ON cron_job (maker, kind, created, id);

-- One row for each instant at which a job was due, whatever came of it. `amount` is more than one
-- where a row stands for several instants in a row that were passed over, the last being `until`.
CREATE TABLE cron_run (
    id TEXT PRIMARY KEY NOT NULL,
    job TEXT NOT NULL,
    maker TEXT NOT NULL,
    scheduled BIGINT NOT NULL,
    until BIGINT,
    amount BIGINT NOT NULL,
    forced BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'ok', 'error', 'skipped')),
    claimed BIGINT NOT NULL,
    ended BIGINT,
    error TEXT,
    summary TEXT,
    next_run BIGINT
);
CREATE UNIQUE INDEX cron_run_instant ON cron_run (job, scheduled);
CREATE INDEX cron_run_open ON cron_run (claimed, id) WHERE state = 'running';
CREATE INDEX cron_run_latest ON cron_run (claimed, id);

-- What the schedule was last made by, such as the user's zone.
CREATE TABLE cron_note (
    name TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
);
