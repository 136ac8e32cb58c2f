package resources

// MemoryIn lets tests outside the package show it made-up trees of files.
var MemoryIn = memoryIn
