package postgres

// Schema creates the tables and functions that [Open] needs, unless they are there. A program that may
// not create tables has it run beforehand, by a role that may. The tables serve all journals of a
// database, and stand in the first schema of the search path.
//
// The functions need PL/pgSQL, which each database has unless it was dropped. A server keeps their
// plans, also where each transaction of a pooler has another connection: parsing and planning the
// same statements each time would take more than half of its time.
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

-- Adds an entry. Returns the entries behind a position, if that is given, up to the new one, which is the last and
-- comes without its data: a walk needs no statement of its own then. Returns nothing if the journal is not there,
-- or an entry that the caller knows. A plan is kept for long, so none may be made for tables that were small once.
CREATE OR REPLACE FUNCTION cellsched_append(
	of_journal bigint, new_tag bigint, new_data bytea, patience text, known_n bigint, known_tag bigint, after_n bigint
) RETURNS TABLE (entry_n bigint, entry_tag bigint, entry_data bytea) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	new_n bigint;
BEGIN
	PERFORM set_config('lock_timeout', patience, true);
	UPDATE cellsched_journal SET n = n + 1
		WHERE id = of_journal AND (known_n = 0 OR EXISTS (SELECT FROM cellsched_entry e WHERE e.journal = of_journal AND e.n = known_n AND e.tag = known_tag))
		RETURNING n INTO new_n;
	IF FOUND THEN
		INSERT INTO cellsched_entry (journal, n, tag, data) VALUES (of_journal, new_n, new_tag, new_data);
		IF after_n >= new_n - 16 AND after_n < new_n - 1 THEN
			RETURN QUERY SELECT n, tag, data FROM cellsched_entry WHERE journal = of_journal AND n > after_n AND n < new_n ORDER BY n;
		END IF;
		entry_n := new_n;
		entry_tag := new_tag;
		RETURN NEXT;
	END IF;
END $$;

-- Returns the entries from a position on, the first one without its data.
CREATE OR REPLACE FUNCTION cellsched_read(of_journal bigint, from_n bigint, most bigint)
RETURNS TABLE (entry_n bigint, entry_tag bigint, entry_data bytea) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
	RETURN QUERY SELECT n, tag, CASE WHEN n > from_n THEN data END FROM cellsched_entry
		WHERE journal = of_journal AND n >= from_n ORDER BY n LIMIT most;
END $$;
`
