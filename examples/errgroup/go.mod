module github.com/cellsched/cellsched/examples/errgroup

go 1.26.0

require (
	github.com/cellsched/cellsched v0.2.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/sync v0.24.0
)

require (
	github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/cellsched/cellsched => ../..
