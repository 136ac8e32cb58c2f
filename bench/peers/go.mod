module github.com/cellsched/cellsched/bench/peers

go 1.26.0

require (
	github.com/cellsched/cellsched v0.0.0-00010101000000-000000000000
	golang.org/x/sync v0.24.0
)

require github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect

replace github.com/cellsched/cellsched => ../..
