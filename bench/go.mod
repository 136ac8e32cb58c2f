module github.com/cellsched/cellsched/bench

go 1.26.0

require (
	github.com/cellsched/cellsched v0.2.0
	github.com/stretchr/testify v1.12.1
	pgregory.net/rapid v1.3.0
)

require (
	github.com/google/btree v1.1.3 // indirect
	github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/cellsched/cellsched => ..
