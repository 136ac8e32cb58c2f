package postgres

// Schema creates the tables that [Open] needs, unless they are there. A program that may
// not create tables has it run beforehand, by a role that may. The tables serve all journals of a
// database, and stand in the first schema of the search path.
const Schema = `
CREATE TABLE IF NOT EXISTS cellsched_journal (
	id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text   NOT NULL UNIQUE,
	n    bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

CREATE TABLE IF NOT EXISTS cellsched_entry (
	journal bigint      NOT NULL,
	n       bigint      NOT NULL,
	tag     bigint      NOT NULL,
	made    timestamptz NOT NULL DEFAULT now(),
	data    bytea       NOT NULL,
	PRIMARY KEY (journal, n)
);
ALTER TABLE cellsched_entry ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE IF NOT EXISTS cellsched_checkpoint (
	journal bigint  NOT NULL,
	n       bigint  NOT NULL,
	part    integer NOT NULL,
	data    bytea   NOT NULL,
	PRIMARY KEY (journal, n, part)
);
ALTER TABLE cellsched_checkpoint ALTER COLUMN data SET STORAGE EXTERNAL;
`
