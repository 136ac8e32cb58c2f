package view_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/view"
	"github.com/cellsched/cellsched/resources"
)

// A program mounts the page beside its own paths. Scripts get the same as JSON.
func Example() {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "a", Capacity: resources.Vector{4}}, {Name: "b", Capacity: resources.Vector{8}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/cell/", view.Handler(view.Config{Cell: cell}))

	server := httptest.NewServer(mux)
	defer server.Close()
	answer, err := http.Get(server.URL + "/cell/machine?n=1")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", body)
	// Output:
	// {"number":1,"name":"b","condition":"ready","capacity":{"kind0":8},"free":{"kind0":8},"reserved":{},"allocations":0}
}
