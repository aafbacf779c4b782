// SPDX-License-Identifier: BSD-2-Clause
/* The loss table: see cell.h and docs/durability.md. */
#include "cell.h"
#include "proto/kfb_wire.h"

#define READBACK     KFB_FLUSH_READBACK
#define MESSAGE	     KFB_FLUSH_MESSAGE
#define NEVER	     CELL_NONE_LOSES, CELL_NONE_LOSES
#define ALWAYS	     CELL_ALL_LOSE, CELL_ALL_LOSE
#define MOSTLY	     CELL_ALL_LOSE, CELL_SOME_LOSE
#define NOW_AND_THEN CELL_SOME_LOSE, CELL_SOME_LOSE

#define EACH_READBACK "readback on each queue that wrote"
#define EACH_FLUSH    "FLUSH on each queue that wrote"

/* clang-format off */
const struct cell cells[] = {
	{ "DDIO off", "none", { .declared_off = true },
	  .no_flush = true, .on_disk = true, .mode = READBACK,
	  .must = { MOSTLY } },
	{ "DDIO off", EACH_READBACK, { .declared_off = true },
	  .on_disk = true, .mode = READBACK, .must = { NEVER } },
	{ "DDIO off", "*readback on the first queue only*",
	  { .declared_off = true }, CELL_CLIENT_FIRST_QUEUE, .many = true,
	  .on_disk = true, .mode = READBACK, .must = { MOSTLY } },
	{ "DDIO off", "*the client skips the readback*",
	  { .declared_off = true }, CELL_CLIENT_SKIPS, .on_disk = true,
	  .mode = READBACK, .must = { MOSTLY } },
	{ "DDIO on, declared off", EACH_READBACK,
	  { .ddio = true, .declared_off = true }, .on_disk = true,
	  .mode = READBACK, .must = { ALWAYS } },
	{ "DDIO on, eADR", EACH_READBACK, { .ddio = true, .eadr = true },
	  .on_disk = true, .mode = READBACK, .must = { NEVER } },
	{ "DDIO on, eADR", "none", { .ddio = true, .eadr = true },
	  .no_flush = true, .on_disk = true, .mode = READBACK, .must = { MOSTLY } },
	{ "DDIO on", EACH_FLUSH, { .ddio = true },
	  .on_disk = true, .mode = MESSAGE, .must = { NEVER } },
	{ "DDIO off, not declared", EACH_FLUSH, { 0 },
	  .on_disk = true, .mode = MESSAGE, .must = { NEVER } },
	{ "DDIO on", "*FLUSH on the first queue only*", { .ddio = true },
	  CELL_CLIENT_FIRST_QUEUE, .many = true, .on_disk = true,
	  .mode = MESSAGE, .must = { MOSTLY } },
	{ "DDIO on", "*the client skips the FLUSH*", { .ddio = true },
	  CELL_CLIENT_SKIPS, .on_disk = true, .mode = MESSAGE,
	  .must = { MOSTLY } },
	{ "DDIO off, connections end", EACH_READBACK, { .declared_off = true },
	  .links = true, .on_disk = true, .mode = READBACK,
	  .must = { NEVER } },
	{ "DDIO on, connections end", EACH_FLUSH, { .ddio = true },
	  .links = true, .on_disk = true, .mode = MESSAGE,
	  .must = { NEVER } },
	{ "DDIO off, connections end, copies", EACH_READBACK,
	  { .declared_off = true }, .links = true, .retains = true,
	  .on_disk = true, .mode = READBACK, .must = { NEVER } },
	{ "DDIO on, connections end, copies", EACH_FLUSH, { .ddio = true },
	  .links = true, .retains = true, .on_disk = true, .mode = MESSAGE,
	  .must = { NEVER } },
	{ "DDIO off, connections end, copies",
	  "*the client takes what they wrote for placed*",
	  { .declared_off = true }, CELL_CLIENT_TRUSTS, .links = true,
	  .retains = true, .on_disk = true, .mode = READBACK,
	  .must = { NOW_AND_THEN } },
	{ "DDIO off, connections end",
	  "*the client takes what they wrote for placed*",
	  { .declared_off = true }, CELL_CLIENT_TRUSTS, .links = true,
	  .on_disk = true, .mode = READBACK, .must = { NOW_AND_THEN } },
	{ "DDIO on, placed, one ends with a FLUSH outstanding", EACH_FLUSH,
	  { .ddio = true, .placed = true }, .outlived = true, .on_disk = true,
	  .mode = MESSAGE, .must = { NEVER } },
	{ "DDIO on, placed, one ends with a FLUSH outstanding",
	  "*the client takes its answer for that of a newer FLUSH*",
	  { .ddio = true, .placed = true }, CELL_CLIENT_MISTAKES,
	  .outlived = true, .on_disk = true, .mode = MESSAGE,
	  .must = { NOW_AND_THEN } },
	{ "DDIO on", "*the brick answers FLUSH and does nothing*",
	  { .ddio = true }, CELL_BRICK_ANSWERS, .on_disk = true,
	  .mode = MESSAGE, .must = { ALWAYS } },
	{ "DDIO on", "*the brick flushes the first range only*",
	  { .ddio = true }, CELL_BRICK_HALF, .on_disk = true, .mode = MESSAGE,
	  .must = { NOW_AND_THEN } },
	{ "tcp, caches lost", "writes that commit",
	  { .ddio = true, .placed = true }, .commits = true, .mode = MESSAGE,
	  .must = { NEVER } },
	{ "tcp, caches lost",
	  "*the brick acknowledges a commit and does nothing*",
	  { .ddio = true, .placed = true }, CELL_BRICK_COMMITS,
	  .commits = true, .mode = MESSAGE, .must = { ALWAYS } },
};
/* clang-format on */
const unsigned int n_cells = sizeof(cells) / sizeof(cells[0]);
