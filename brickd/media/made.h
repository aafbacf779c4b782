/* SPDX-License-Identifier: BSD-2-Clause */
/* What format has made of a path, and how it is taken back. */
#ifndef BRICKD_MEDIA_MADE_H
#define BRICKD_MEDIA_MADE_H

/**
 * enum brick_made - what opening a path for format has made
 * @BRICK_MADE_NOTHING: it was there, with what it holds
 * @BRICK_MADE_ROOM: the file was there and empty, and has its size now
 * @BRICK_MADE_FILE: the file itself
 */
enum brick_made {
	BRICK_MADE_NOTHING,
	BRICK_MADE_ROOM,
	BRICK_MADE_FILE,
};

/**
 * brick_unmake - leave a path as it was found
 * @path: of the file
 * @fd: open and locked, so that nobody else has made anything of it
 * @made: what is taken back
 *
 * Context: sleeps. Nothing reads what is mapped of the file any more.
 */
void brick_unmake(const char *path, int fd, enum brick_made made);

#endif
