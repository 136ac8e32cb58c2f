// Package file keeps a journal in the files of a folder, for one process at a time.
//
//	lock                            locked while a process has the folder open
//	journal-00000000000000000001    entries from that position on, each in a frame with a checksum
//	checkpoint-00000000000000000042 the last checkpoint
//
// An append writes one frame and syncs it (fdatasync; F_FULLFSYNC on macOS). A frame
// that was not synced when the machine failed is dropped. A damaged frame with another
// one behind it was synced once: that is an error with its position, and the store does not
// go on. Damage to the very last frame looks like a frame that was not synced, and
// cannot be told from it. After a failed sync the store takes no more entries: the kernel may
// have dropped what it could not write.
package file
