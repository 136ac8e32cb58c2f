// Package viewtest tests the page of package view in a headless Chromium. It is a module
// of its own, so that the driver of the browser stays out of the core.
package viewtest
