module github.com/cellsched/cellsched/examples/ants

go 1.26.0

require (
	github.com/cellsched/cellsched v0.2.0
	github.com/panjf2000/ants/v2 v2.12.1
	github.com/stretchr/testify v1.12.1
	golang.org/x/sync v0.11.0
)

require (
	github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/cellsched/cellsched => ../..
