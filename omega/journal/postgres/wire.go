package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/puddle/v2"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega/journal"
)

const (
	int8OID  = pgtype.Int8OID
	byteaOID = pgtype.ByteaOID
)

const (
	// patience bounds the wait for a connection, and then for an answer. An append that got none is sent again,
	// with twice the patience, up to longest: each try may leave a statement in the server.
	patience = 3 * time.Second
	// longest is the same for a statement that writes or deletes much, and for each further row.
	longest = time.Minute
	// slowest is the least number of bytes a second at which an argument is sent.
	slowest = 1 << 20
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
func (s *Store) query(ctx context.Context, limit time.Duration, sql string, a args, row func([][]byte)) error {
	conn, err := s.acquire(ctx, limit)
	if err != nil {
		return err
	}
	defer conn.Release()
	return run(ctx, conn.Conn(), limit, sql, a, row)
}

func (s *Store) acquire(ctx context.Context, limit time.Duration) (*pgxpool.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := s.pool.Acquire(limited)
	return conn, lasting(err)
}

// run is query on a connection.
func run(ctx context.Context, conn *pgx.Conn, limit time.Duration, sql string, a args, row func([][]byte)) error {
	r := start(ctx, conn, limit, sql, a)
	for values, ok := r.next(); ok; values, ok = r.next() {
		if row != nil {
			row(values)
		}
	}
	return r.close()
}

// result reads the answer to a statement.
//
// It reads from the connection itself, not by pgx. When time is up, or ctx ends, it closes the connection.
// pgx also sends a request to cancel the statement. That must not be: a commit that waits for a synchronous standby
// ends its wait then, and its entry is visible, though a standby that takes over may lack it.
type result struct {
	ctx   context.Context //nolint:containedctx // of the call that it lives in
	conn  *pgx.Conn
	limit time.Duration // of the next message
	stop  func() bool   // ends the watch of ctx
	ended bool
	err   error
}

// start sends a statement. The first message of the answer must come within limit.
func start(ctx context.Context, conn *pgx.Conn, limit time.Duration, sql string, a args) *result {
	values, oids, formats := make([][]byte, len(a)), make([]uint32, len(a)), make([]int16, len(a))
	for i := range a {
		values[i], oids[i], formats[i] = a[i].value, a[i].oid, 1
		limit += time.Duration(len(a[i].value)) * time.Second / slowest
	}
	r := &result{ctx: ctx, conn: conn, limit: limit}
	wire, front := conn.PgConn().Conn(), conn.PgConn().Frontend()
	r.stop = context.AfterFunc(ctx, func() { _ = wire.SetDeadline(time.Unix(1, 0)) })
	front.SendParse(&pgproto3.Parse{Query: sql, ParameterOIDs: oids})
	front.SendBind(&pgproto3.Bind{ParameterFormatCodes: formats, Parameters: values, ResultFormatCodes: []int16{1}})
	front.SendExecute(&pgproto3.Execute{})
	front.SendSync(&pgproto3.Sync{})
	err := r.allow()
	if err == nil {
		err = front.Flush() // the server sends nothing before it has all
	}
	if err != nil {
		r.abandon(err)
	}
	return r
}

// allow sets the time by which the connection must have moved. If ctx ends later, its watch sets
// an earlier one; if it has ended before, allow fails.
func (r *result) allow() error {
	if err := r.conn.PgConn().Conn().SetDeadline(time.Now().Add(r.limit)); err != nil {
		return err
	}
	return context.Cause(r.ctx)
}

// next returns the next row, which is good until the next call.
func (r *result) next() (row [][]byte, ok bool) {
	for !r.ended {
		err := r.allow()
		var message pgproto3.BackendMessage
		if err == nil {
			message, err = r.conn.PgConn().Frontend().Receive()
		}
		if err != nil {
			r.abandon(fmt.Errorf("no answer: %w", err))
			break
		}
		switch message := message.(type) {
		case *pgproto3.DataRow:
			r.limit = longest
			return message.Values, true
		case *pgproto3.ErrorResponse:
			r.err = pgconn.ErrorResponseToPgError(message)
		case *pgproto3.ReadyForQuery:
			r.ended = true
			if !r.stop() || r.conn.PgConn().Conn().SetDeadline(time.Time{}) != nil {
				hangUp(r.conn) // the watch of ctx may set its deadline at any time
			}
		}
	}
	return nil, false
}

// abandon ends the statement with an error, unless the server has sent one.
func (r *result) abandon(err error) {
	r.ended = true
	r.stop()
	if r.err == nil {
		r.err = err
	}
	hangUp(r.conn)
}

// close reads what is left, and returns the error of the statement.
func (r *result) close() error {
	for ok := true; ok; {
		_, ok = r.next()
	}
	return lasting(r.err)
}

// hangUp closes a connection without waiting for it. Its pool drops it then.
func hangUp(conn *pgx.Conn) {
	_ = conn.PgConn().Conn().SetDeadline(time.Unix(1, 0))
	_ = conn.Close(context.Background()) // with another context pgx sets deadlines of its own
}

// exec runs statements in one transaction, without arguments.
func (s *Store) exec(ctx context.Context, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
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

// undefined reports whether a table or a function of the schema is absent.
func undefined(err error) bool { return is(err, "42P01") || is(err, "42883") }

// lockNotAvailable is the code of an error of a statement that did not get a lock in time.
const lockNotAvailable = "55P03"

// is reports whether an error of the server has a code.
func is(err error, code string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == code
}
