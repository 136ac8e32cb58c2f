package file

// SyncData is the sync of an append.
var SyncData = syncData
