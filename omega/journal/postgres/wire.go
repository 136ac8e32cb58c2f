package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/puddle/v2"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/journal"
)

const (
	int8OID  = pgtype.Int8OID
	byteaOID = pgtype.ByteaOID
)

// arg is an argument of a statement, in binary form.
type arg struct {
	oid   uint32
	value []byte
}

type args []arg

func text(s string) arg { return arg{pgtype.TextOID, []byte(s)} }

// query runs one statement, and calls row with each row, in binary form, which is good until it
// returns. The statement has no name and nothing is kept on the connection, so it works
// where a pooler gives each transaction another server. The connection goes back to the pool before query
// returns.
func (s *Store) query(ctx context.Context, sql string, a args, row func([][]byte)) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return lasting(err)
	}
	defer conn.Release()
	return run(ctx, conn.Conn().PgConn(), sql, a, row)
}

// run is query on a connection.
func run(ctx context.Context, conn *pgconn.PgConn, sql string, a args, row func([][]byte)) error {
	result := start(ctx, conn, sql, a)
	for result.NextRow() {
		if row != nil {
			row(result.Values())
		}
	}
	_, err := result.Close()
	return lasting(err)
}

func start(ctx context.Context, conn *pgconn.PgConn, sql string, a args) *pgconn.ResultReader {
	values, oids, formats := make([][]byte, len(a)), make([]uint32, len(a)), make([]int16, len(a))
	for i := range a {
		values[i], oids[i], formats[i] = a[i].value, a[i].oid, 1
	}
	return conn.ExecParams(ctx, sql, values, oids, formats, []int16{1})
}

// exec runs statements in one transaction, without arguments.
func (s *Store) exec(ctx context.Context, sql string) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return lasting(err)
	}
	defer conn.Release()
	return lasting(conn.Conn().PgConn().Exec(ctx, sql).Close())
}

// lasting adds [journal.ErrFailed] to an error that a later try would have too: the pool is
// closed, or the tables are gone.
func lasting(err error) error {
	if errors.Is(err, puddle.ErrClosedPool) || undefined(err) {
		return fault.New("postgres", fault.Bare(journal.ErrFailed), err, journal.ErrFailed)
	}
	return err
}

// undefined reports whether a table of the schema is absent.
func undefined(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == "42P01"
}
