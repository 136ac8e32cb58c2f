// Package file keeps a journal in the files of a folder, for one process at a time.
//
//	lock                            locked while a process has the folder open
//	journal-00000000000000000001    entries from that position on, each in a frame with a checksum
//	checkpoint-00000000000000000042 the last checkpoint
//
// An append writes one frame and syncs it (fdatasync; F_FULLFSYNC on macOS). So at most one
// frame is not synced when the machine fails. [Open] drops a frame at the end that is short, or
// of which a sector of 512 bytes is zero. Other bytes that are no frame were synced once:
// that is an error with its position, and the store does not go on. Damage that leaves a
// part of a frame at the end, or zeros, cannot be told from a frame that was not synced.
// After a failed sync the store takes no more entries: the kernel may have dropped what it
// could not write.
package file
