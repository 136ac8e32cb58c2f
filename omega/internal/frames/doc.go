// Package frames writes and reads the bytes of a saved cell: numbers, texts and vectors, in
// frames with checksums.
//
// A saved cell is a header and then frames. The header is the magic, the version of the
// format and a checksum; a frame is its length, that many bytes of content, and a
// checksum. A frame of length 0 is the last. Integers are little-endian, 4 bytes each.
// Every checksum is the CRC-32C of all bytes before it, checksums left out, so a frame
// that is missing or out of place is found too. Content is looked at only once its checksum
// is right, so damage is found before anything is made of it.
package frames
