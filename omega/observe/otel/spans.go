package otel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// Acquire is [pool.Pool.Acquire] in a span "cellsched.acquire", which lasts as long as the
// request waits. It has the attributes "cellsched.tenant" and "cellsched.need".
func Acquire(ctx context.Context, tracer trace.Tracer, p *pool.Pool, tenant string, need resources.Vector) (pool.Lease, error) {
	ctx, span := start(ctx, tracer, "cellsched.acquire", trace.WithAttributes(
		text("tenant", tenant), text("need", p.Space().Format(need)),
	))
	defer span.End()
	lease, err := p.Acquire(ctx, tenant, need)
	fail(span, err)
	return lease, err
}

// Commit is [omega.Scheduler.CommitContext] in a span "cellsched.commit". It has the attributes
// "cellsched.scheduler", "cellsched.items" and "cellsched.granted", and "cellsched.refused" with
// the reason of the first claim that was refused, if any.
func Commit(ctx context.Context, tracer trace.Tracer, s *omega.Scheduler, tx *omega.Txn) (granted int, err error) {
	ctx, span := start(ctx, tracer, "cellsched.commit", trace.WithAttributes(
		text("scheduler", s.Name()), attribute.Int("cellsched.items", tx.Len()),
	))
	defer span.End()
	granted, err = s.CommitContext(ctx, tx)
	if fail(span, err) {
		return granted, err
	}
	span.SetAttributes(attribute.Int("cellsched.granted", granted))
	for i := 0; span.IsRecording() && i < tx.Len(); i++ {
		if refused := tx.Err(i); refused != nil {
			span.SetAttributes(text("refused", refused.Error()))
			break
		}
	}
	return granted, nil
}

// start begins a span, which records nothing without a tracer.
func start(ctx context.Context, tracer trace.Tracer, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if tracer == nil {
		return ctx, noop.Span{}
	}
	return tracer.Start(ctx, name, options...)
}

// text returns an attribute. Exporters refuse invalid UTF-8.
func text(key, value string) attribute.KeyValue {
	return attribute.String("cellsched."+key, strings.ToValidUTF8(value, "\uFFFD"))
}

// Stepper is a loop, as loop.Loop is.
type Stepper interface {
	Step(ctx context.Context, now time.Time) (next time.Time, ok bool, err error)
}

// Step is the Step of a loop in a span "cellsched.step". It has the attribute "cellsched.next":
// the time until the loop has something to do again, if there is such a time. Without a loop
// its error is [resources.ErrNil].
func Step(ctx context.Context, tracer trace.Tracer, l Stepper, now time.Time) (next time.Time, ok bool, err error) {
	ctx, span := start(ctx, tracer, "cellsched.step")
	defer span.End()
	if l == nil {
		err = fault.New("otel", "loop", resources.ErrNil)
		fail(span, err)
		return time.Time{}, false, err
	}
	next, ok, err = l.Step(ctx, now)
	if !fail(span, err) && ok {
		span.SetAttributes(attribute.String("cellsched.next", next.Sub(now).String()))
	}
	return next, ok, err
}

// fail gives an error to a span, and reports whether there is one.
func fail(span trace.Span, err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	span.AddEvent("exception", trace.WithAttributes(
		attribute.String("exception.type", fmt.Sprintf("%T", err)), attribute.String("exception.message", text),
	)) // as RecordError does, but for invalid UTF-8
	span.SetStatus(codes.Error, text)
	return true
}
