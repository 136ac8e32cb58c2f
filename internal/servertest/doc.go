// Package servertest is shared by the tests of the pool's middlewares. It starts real
// servers of PostgreSQL and Redis, from the packages of the system. It also starts
// processes that a test kills, and makes pools of slots.
//
// A test that finds no server is skipped. With CI=true in the environment it fails.
package servertest
