module github.com/cellsched/cellsched/examples/replicas

go 1.26.0

require (
	github.com/cellsched/cellsched v0.2.0
	github.com/cellsched/cellsched/omega/journal/postgres v0.2.0
	github.com/jackc/pgx/v5 v5.12.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/puzpuzpuz/xsync/v3 v3.5.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace (
	github.com/cellsched/cellsched => ../..
	github.com/cellsched/cellsched/omega/journal/postgres => ../../omega/journal/postgres
)
