module github.com/cellsched/cellsched/bench/peers

go 1.26.0

require golang.org/x/sync v0.24.0

replace github.com/cellsched/cellsched => ../..
