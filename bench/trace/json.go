package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds of the memory that JSON may take.
const (
	maxToken = 1 << 20 // bytes between two tokens, and of one
	maxDepth = 64
)

// tokens walks JSON token by token and knows in which line it is.
type tokens struct {
	file  string
	dec   *json.Decoder
	lines lines
	most  int // tasks that a stage may have
}

func newTokens(file string, r io.Reader) *tokens {
	t := &tokens{file: file, most: maxGroups}
	t.lines.r = r
	t.dec = json.NewDecoder(&t.lines)
	t.dec.UseNumber()
	return t
}

// lines notes where lines begin in the input that is read through it, and stops at a
// token that does not end.
type lines struct {
	r        io.Reader
	read     int64   // bytes
	line     int     // that passed begins in, from 0
	begin    int64   // of that line
	ahead    []int64 // where the lines begin that were read beyond it
	position int64   // up to where it was understood
}

var errToken = fmt.Errorf("a value of more than %d bytes", maxToken)

func (l *lines) Read(p []byte) (int, error) {
	if l.read-l.position > maxToken {
		return 0, errToken
	}
	n, err := l.r.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			l.ahead = append(l.ahead, l.read+int64(i)+1)
		}
	}
	l.read += int64(n)
	return n, err
}

// pass moves on to a position.
func (l *lines) pass(position int64) {
	l.position = position
	n := 0
	for n < len(l.ahead) && l.ahead[n] <= position {
		l.begin = l.ahead[n]
		n++
	}
	l.line += n
	l.ahead = append(l.ahead[:0], l.ahead[n:]...)
}

// next returns a token, of which there is to be one.
func (t *tokens) next(what string) (json.Token, error) {
	token, err := t.dec.Token()
	t.lines.pass(t.dec.InputOffset())
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return token, nil
	case errors.Is(err, errToken):
		return nil, t.fail(ErrLong, "%v", errToken)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, t.fail(ErrCut, "the end, want %s", what)
	case errors.As(err, &syntax):
		return nil, t.fail(ErrSyntax, "%v, want %s", syntax, what)
	}
	return nil, t.fail(err, "reading %s", what)
}

// end makes sure that nothing follows.
func (t *tokens) end() error {
	token, err := t.dec.Token()
	t.lines.pass(t.dec.InputOffset())
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return t.fail(ErrSyntax, "%v, want an object or the end", token)
	case errors.Is(err, errToken):
		return t.fail(ErrLong, "%v", errToken)
	case errors.As(err, &syntax):
		return t.fail(ErrSyntax, "%v, want an object or the end", syntax)
	}
	return t.fail(err, "reading")
}

// position returns where the last token ends.
func (t *tokens) position() Position {
	return Position{Line: t.lines.line + 1, Column: int(t.lines.position-t.lines.begin) + 1}
}

// fail returns an error at the end of the last token. The text that it cites is clipped.
func (t *tokens) fail(reason error, format string, args ...any) error {
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			args[i] = clip(v)
		case json.Number:
			args[i] = clip(v.String())
		case []string:
			short := make([]string, len(v))
			for k := range v {
				short[k] = clip(v[k])
			}
			args[i] = short
		}
	}
	at := t.position()
	return &Error{File: t.file, Line: at.Line, Column: at.Column, Detail: fmt.Sprintf(format, args...), Reason: reason}
}

// object walks the members of an object, after its brace: member reads the value
// of each.
func (t *tokens) object(what string, member func(name string) error) error {
	for {
		token, err := t.next(what)
		if err != nil {
			return err
		}
		if token == json.Delim('}') {
			return nil
		}
		name, ok := token.(string)
		if !ok {
			return t.fail(ErrSyntax, "%v, want the name of a member of %s", token, what)
		}
		if err := member(name); err != nil {
			return err
		}
	}
}

// array walks the objects of an array, or of null, which is as none: element
// walks each, after its brace.
func (t *tokens) array(what string, element func() error) error {
	token, err := t.next(what)
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') {
		return t.fail(ErrSyntax, "%v, want an array: %s", token, what)
	}
	for {
		token, err := t.next(what)
		if err != nil {
			return err
		}
		switch token {
		case json.Delim(']'):
			return nil
		case json.Delim('{'):
			if err := element(); err != nil {
				return err
			}
		default:
			return t.fail(ErrSyntax, "%v, want an object: one of %s", token, what)
		}
	}
}

// text reads a string, or null, which is "".
func (t *tokens) text(what string) (string, error) {
	token, err := t.next(what)
	if err != nil {
		return "", err
	}
	switch v := token.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", t.fail(ErrValue, "%s is %v, want a string", what, token)
}

// integer reads a whole number from low to high.
func (t *tokens) integer(what string, low, high int64) (int64, error) {
	token, err := t.next(what)
	if err != nil {
		return 0, err
	}
	if number, ok := token.(json.Number); ok {
		if n, ok := parseInteger(number.String()); ok && n >= low && n <= high {
			return n, nil
		}
	}
	return 0, t.fail(ErrValue, "%s is %v, want a whole number from %d to %d", what, token, low, high)
}

// skip reads over a value.
func (t *tokens) skip(what string) error {
	for depth := 0; ; {
		token, err := t.next(what)
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return t.fail(ErrLong, "%s is more than %d deep", what, maxDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
