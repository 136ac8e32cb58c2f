// Package niltest calls the methods of nil pointers and zero values, for tests that
// no such call panics.
package niltest

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"
)

// T is the part of a test that [Methods] needs.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Methods calls each exported method of v with the zero value of each parameter, and
// without variadic arguments. It reports these outcomes to t:
//
//   - a panic;
//   - an error that does not wrap absent, or with a text that does not begin with the
//     package of v;
//   - a walk that yields;
//   - any other result that is not zero.
//
// An entry of want replaces the expectation for the method of that name. An error is to
// be wrapped instead of absent. Any other value is to be returned without an error; nil
// stands for zero results.
func Methods(t T, v any, absent error, want map[string]any) {
	t.Helper()
	of := reflect.ValueOf(v)
	unknown := make(map[string]bool, len(want))
	for name := range want {
		unknown[name] = true
	}
	for i := range of.NumMethod() {
		m := of.Type().Method(i)
		delete(unknown, m.Name)
		other, replaced := want[m.Name]
		c := call{name: fmt.Sprintf("%T.%s", v, m.Name), pkg: packageOf(of.Type()), absent: absent, replaced: replaced, want: other}
		for _, fault := range c.faults(of.Method(i)) {
			t.Errorf("%s", fault)
		}
	}
	for name := range unknown {
		t.Errorf("%T has no method %s", v, name)
	}
}

// packageOf returns the name of a type's package, without the folders around it.
func packageOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return path.Base(t.PkgPath())
}

// call is one call of a method, and the results that it is to have.
type call struct {
	name, pkg string
	absent    error
	replaced  bool
	want      any
}

func (c *call) faults(method reflect.Value) (found []string) {
	defer func() {
		if p := recover(); p != nil {
			found = append(found, fmt.Sprintf("%s panics: %v", c.name, p))
		}
	}()
	var in []reflect.Value
	for i := range method.Type().NumIn() {
		if !method.Type().IsVariadic() || i < method.Type().NumIn()-1 {
			in = append(in, reflect.Zero(method.Type().In(i)))
		}
	}
	for _, out := range method.Call(in) {
		if fault := c.fault(out); fault != "" {
			found = append(found, c.name+" "+fault)
		}
	}
	return found
}

var errorType = reflect.TypeFor[error]()

// fault returns the difference of a result from the wanted one, "" if there is none.
func (c *call) fault(out reflect.Value) string {
	wanted, isError := c.want.(error)
	switch {
	case out.Type() == errorType:
		err, _ := out.Interface().(error)
		switch {
		case c.replaced && !isError:
			if err != nil {
				return fmt.Sprintf("fails: %v", err)
			}
			return ""
		case !isError:
			wanted = c.absent
		}
		if !errors.Is(err, wanted) {
			return fmt.Sprintf("returns error %v, want %v", err, wanted)
		}
		if !strings.HasPrefix(err.Error(), c.pkg+": ") || strings.Count(err.Error(), c.pkg+": ") > 1 {
			return fmt.Sprintf("returns error %q, want %q in front, once", err, c.pkg+": ")
		}
	case out.Kind() == reflect.Func:
		if n := yields(out); n > 0 {
			return fmt.Sprintf("yields %d times", n)
		}
	case c.replaced && !isError && c.want != nil:
		if got := out.Interface(); !reflect.DeepEqual(got, c.want) {
			return fmt.Sprintf("returns %v, want %v", got, c.want)
		}
	case !out.IsZero():
		return fmt.Sprintf("returns %v", out)
	}
	return ""
}

// yields returns the number of times that a walk calls its body.
func yields(walk reflect.Value) (n int) {
	walk.Call([]reflect.Value{reflect.MakeFunc(walk.Type().In(0), func([]reflect.Value) []reflect.Value {
		n++
		return []reflect.Value{reflect.ValueOf(false)}
	})})
	return n
}
