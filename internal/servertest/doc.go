// Package servertest starts real servers for tests: PostgreSQL and Redis, from the
// packages of the system.
//
// A test that finds no server is skipped. With CI=true in the environment it fails.
package servertest
