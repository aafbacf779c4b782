// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory of processes: pieces of a few sizes, cut from two areas for each.
 *
 * A piece begins with its size. Those that are free wait in a list of their
 * size. The begin of what is given, and of what was freed, is neither zero nor
 * what it was: who reads it uninitialized or too late finds the same in each world,
 * and who writes it too late is found when it is given again, or when its process
 * ends.
 *
 * Of what is large programs use little. It comes from an area of its own, most pages
 * of which are never used: what must be zero there is made so page by page.
 */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "../oracle.h"
#include "process.h"

#define AREA_SHIFT  30
#define AREA_BYTES  (UINT64_C(1) << AREA_SHIFT)
#define AREAS	    2 /* of a process: of small pieces, of large ones */
#define PAGE	    4096
#define HEAD_BYTES  64 /* keeps cache lines, and what is aligned to them */
#define CLASS_SHIFT 6
#define CLASSES	    21
#define CLASS_LARGE 13 /* what is larger than 256 KiB */
#define PAGES_MAX   ((UINT64_C(1) << (CLASS_SHIFT + CLASSES - 1)) / PAGE)
#define PAGES_CHEAP 256
/* Present, or swapped: proc_pid_pagemap(5). */
#define PAGE_USED (UINT64_C(3) << 62)
/* The kernel's allocator has the same when it is debugged. */
#define FILL_GIVEN 0x5a
#define FILL_FREED 0x6b
#define FILL_BYTES 1024

struct piece {
	uint32_t class;
	bool is_free;
	struct piece *next;
};

struct memory {
	uint32_t until_failure;
	uint32_t n_to_fail;
	uint32_t n_failures;
	uint64_t used[AREAS];
	struct piece *free[CLASSES];
};

static uint8_t *base;
static struct memory memories[SIM_PROCESSES_MAX];

void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_realloc(void *at, size_t len);
void *__real_aligned_alloc(size_t alignment, size_t len);
int __real_posix_memalign(void **out, size_t alignment, size_t len);
void __real_free(void *at);
int __real_open64(const char *path, int flags, ...);
ssize_t __real_pread64(int fd, void *to, size_t len, off_t off);
void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t n, size_t len);
void *__wrap_realloc(void *at, size_t len);
void *__wrap_reallocarray(void *at, size_t n, size_t len);
void *__wrap_aligned_alloc(size_t alignment, size_t len);
int __wrap_posix_memalign(void **out, size_t alignment, size_t len);
void __wrap_free(void *at);

void *sim_map(uint64_t at, uint64_t len)
{
	void *to = mmap((void *)(uintptr_t)at, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				MAP_FIXED_NOREPLACE,
			-1, 0);

	if (to != (void *)(uintptr_t)at)
		sim_die("no memory at 0x%llx", (unsigned long long)at);
	return to;
}

static void make_areas(void)
{
	base = sim_map(SIM_MEMORY_AT, SIM_PROCESSES_MAX * AREAS * AREA_BYTES);
}

static bool is_large(uint32_t class)
{
	return class >= CLASS_LARGE;
}

/* The first byte of an area of a process. */
static uint8_t *area_of(const struct memory *memory, bool large)
{
	return base +
	       ((uint64_t)(memory - memories) * AREAS + large) * AREA_BYTES;
}

void sim_memory_forget(uint32_t process)
{
	memset(&memories[process], 0, sizeof(memories[process]));
}

void sim_memory_fail_after(uint32_t process, uint32_t allocations, uint32_t n)
{
	memories[process].until_failure = allocations;
	memories[process].n_to_fail = n;
}

static bool is_short(struct memory *memory)
{
	if (!memory->until_failure || --memory->until_failure)
		return false;
	if (memory->n_to_fail && --memory->n_to_fail)
		memory->until_failure = 1;
	return true;
}

uint32_t sim_memory_failures(uint32_t process)
{
	return memories[process].n_failures;
}

static struct memory *own_memory(void)
{
	if (!sim_current)
		return NULL;
	if (!base)
		make_areas();
	return &memories[sim_current->process->number];
}

/* Whose memory it is; NULL: nobody's in this world. */
static struct memory *owner_of(const void *at)
{
	uintptr_t area = ((uintptr_t)at - (uintptr_t)base) >> AREA_SHIFT;

	if (!base || area >= SIM_PROCESSES_MAX * AREAS)
		return NULL;
	return &memories[area / AREAS];
}

static uint32_t class_of(size_t len)
{
	uint32_t class = 0;

	while ((UINT64_C(1) << (CLASS_SHIFT + class)) < len)
		class ++;
	return class;
}

static size_t room_of(const struct piece *piece)
{
	return (size_t)1 << (CLASS_SHIFT + piece->class);
}

static uint8_t *memory_of(struct piece *piece)
{
	return (uint8_t *)piece + HEAD_BYTES;
}

static size_t filled_bytes(const struct piece *piece)
{
	size_t room = room_of(piece);

	return room < FILL_BYTES ? room : FILL_BYTES;
}

static void give_back(struct memory *memory, struct piece *piece)
{
	if (piece->is_free) {
		sim_violated("memory of %zu bytes is freed twice",
			     room_of(piece));
		return;
	}
	piece->is_free = true;
	memset(memory_of(piece), FILL_FREED, filled_bytes(piece));
	piece->next = memory->free[piece->class];
	memory->free[piece->class] = piece;
}

static void look_at_free(struct piece *piece)
{
	const uint8_t *at = memory_of(piece);

	if (at[0] != FILL_FREED ||
	    memcmp(at, at + 1, filled_bytes(piece) - 1) != 0)
		sim_violated("memory of %zu bytes is written after its end",
			     room_of(piece));
}

void sim_memory_look(uint32_t process)
{
	for (uint32_t class = 0; class < CLASSES; class ++)
		for (struct piece *piece = memories[process].free[class]; piece;
		     piece = piece->next)
			look_at_free(piece);
}

static struct piece *take_free(struct memory *memory, uint32_t class)
{
	struct piece *piece = memory->free[class];

	if (!piece)
		return NULL;
	look_at_free(piece);
	memory->free[class] = piece->next;
	return piece;
}

static struct piece *take_new(struct memory *memory, uint32_t class)
{
	bool large = is_large(class);
	uint64_t bytes = HEAD_BYTES + (UINT64_C(1) << (CLASS_SHIFT + class));
	struct piece *piece;

	if (large) /* it begins with a page */
		bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	if (bytes > AREA_BYTES - memory->used[large])
		return NULL;
	piece = (void *)(area_of(memory, large) + memory->used[large]);
	memory->used[large] += bytes;
	piece->class = class;
	return piece;
}

/* Which pages were ever used, also those that have been swapped out since. */
static void read_pagemap(const uint8_t *at, size_t n_pages,
			 uint64_t map[PAGES_MAX])
{
	static int fd = -1;
	ssize_t len = (ssize_t)(n_pages * sizeof(*map));

	if (fd < 0)
		fd = __real_open64("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (__real_pread64(fd, map, (size_t)len,
			   (off_t)((uintptr_t)at / PAGE * sizeof(*map))) != len)
		sim_die("the system does not tell what memory is used");
}

/*
 * Of what is large programs use little. Those of its pages that were ever used are
 * made zero, if they are few: page faults cost more.
 */
static void make_pages_zero(uint8_t *at, size_t n_pages)
{
	static uint64_t map[PAGES_MAX];
	size_t n = 0;

	read_pagemap(at, n_pages, map);
	for (size_t i = 0; i < n_pages && n <= PAGES_CHEAP; i++) {
		if (!(map[i] & PAGE_USED))
			continue;
		memset(at + i * PAGE, 0, PAGE);
		n++;
	}
	if (n > PAGES_CHEAP && madvise(at, n_pages * PAGE, MADV_DONTNEED))
		sim_die("memory cannot be made zero");
}

static void make_zero(struct piece *piece, size_t len)
{
	uint8_t *at = memory_of(piece);
	uint8_t *first = (uint8_t *)piece + PAGE;

	if (!is_large(piece->class)) {
		memset(at, 0, len);
		return;
	}
	memset(at, 0, PAGE - HEAD_BYTES);
	make_pages_zero(first, (len + HEAD_BYTES - 1) / PAGE);
}

static void *take(struct memory *memory, size_t len, bool zero)
{
	uint32_t class = class_of(len ? len : 1);
	struct piece *piece;

	if (class >= CLASSES)
		return NULL;
	if (is_short(memory)) {
		sim_trace("memory", "%zu bytes are not there", len);
		memory->n_failures++;
		errno = ENOMEM;
		return NULL;
	}
	piece = take_free(memory, class) ?: take_new(memory, class);
	if (!piece)
		return NULL;
	piece->is_free = false;
	memset(memory_of(piece), FILL_GIVEN, filled_bytes(piece));
	if (zero)
		make_zero(piece, len);
	return memory_of(piece);
}

static struct piece *piece_of(void *at)
{
	return (void *)((uint8_t *)at - HEAD_BYTES);
}

size_t sim_memory_room(const void *at)
{
	return room_of(piece_of((void *)(uintptr_t)at));
}

void *__wrap_malloc(size_t len)
{
	struct memory *memory = own_memory();

	return memory ? take(memory, len, false) : __real_malloc(len);
}

void *__wrap_calloc(size_t n, size_t len)
{
	struct memory *memory = own_memory();
	size_t bytes;

	if (!memory)
		return __real_calloc(n, len);
	if (__builtin_mul_overflow(n, len, &bytes))
		return NULL;
	return take(memory, bytes, true);
}

void __wrap_free(void *at)
{
	struct memory *memory = at ? owner_of(at) : NULL;

	if (memory)
		give_back(memory, piece_of(at));
	else
		__real_free(at);
}

void *__wrap_realloc(void *at, size_t len)
{
	size_t had;
	void *to;

	if (at && !owner_of(at))
		return __real_realloc(at, len);
	had = at ? room_of(piece_of(at)) : 0;
	if (at && len <= had)
		return at;
	to = __wrap_malloc(len);
	if (to && at) {
		memcpy(to, at, had);
		__wrap_free(at);
	}
	return to;
}

void *__wrap_reallocarray(void *at, size_t n, size_t len)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, len, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return __wrap_realloc(at, bytes);
}

/* Nobody who asks for more than a cache line looks whether it was given. */
int __wrap_posix_memalign(void **out, size_t alignment, size_t len)
{
	struct memory *memory = own_memory();

	if (!memory)
		return __real_posix_memalign(out, alignment, len);
	*out = take(memory, len, false);
	return *out ? 0 : ENOMEM;
}

void *__wrap_aligned_alloc(size_t alignment, size_t len)
{
	struct memory *memory = own_memory();

	return memory ? take(memory, len, false)
		      : __real_aligned_alloc(alignment, len);
}

void *sim_alloc(size_t len)
{
	void *at = __real_calloc(1, len);

	if (!at)
		sim_die("no memory");
	return at;
}

void sim_free(void *at)
{
	__real_free(at);
}
