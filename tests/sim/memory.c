// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory of processes: pieces of a few sizes, cut from one area for each.
 *
 * A piece begins with its size. Those that are free wait in a list of their
 * size. The begin of what is given, and of what was freed, is neither zero nor
 * what it was: who reads it uninitialized or too late finds the same in each world,
 * and who writes it too late is found when it is given again.
 */
#include "memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "oracle.h"
#include "process.h"

#define AREA_SHIFT  27
#define AREA_BYTES  (UINT64_C(1) << AREA_SHIFT)
#define HEAD_BYTES  64 /* keeps cache lines, and what is aligned to them */
#define CLASS_SHIFT 6
#define PAGE	    4096
#define LARGE_BYTES \
	(512U << 10) /* below it memset() is cheaper than page faults */
#define CLASSES 21
/* The kernel's allocator has the same when it is debugged. */
#define FILL_GIVEN 0x5a
#define FILL_FREED 0x6b
#define FILL_BYTES 1024

struct piece {
	uint32_t class;
	bool is_free;
	struct piece *next;
};

struct area {
	uint32_t until_failure;
	uint32_t n_to_fail;
	uint32_t n_failures;
	uint64_t used;
	struct piece *free[CLASSES];
};

static uint8_t *base;
static struct area areas[SIM_PROCESSES_MAX];

void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_realloc(void *at, size_t len);
void *__real_aligned_alloc(size_t alignment, size_t len);
int __real_posix_memalign(void **out, size_t alignment, size_t len);
void __real_free(void *at);
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
	base = sim_map(SIM_MEMORY_AT, SIM_PROCESSES_MAX * AREA_BYTES);
}

void sim_memory_forget(uint32_t process)
{
	memset(&areas[process], 0, sizeof(areas[process]));
}

void sim_memory_fail_after(uint32_t process, uint32_t allocations, uint32_t n)
{
	areas[process].until_failure = allocations;
	areas[process].n_to_fail = n;
}

static bool is_short(struct area *area)
{
	if (!area->until_failure || --area->until_failure)
		return false;
	if (area->n_to_fail && --area->n_to_fail)
		area->until_failure = 1;
	return true;
}

uint32_t sim_memory_failures(uint32_t process)
{
	return areas[process].n_failures;
}

static struct area *own_area(void)
{
	if (!sim_current)
		return NULL;
	if (!base)
		make_areas();
	return &areas[sim_current->process->number];
}

static struct area *area_of(const void *at)
{
	uintptr_t off = (uintptr_t)at - (uintptr_t)base;

	if (!base || off >= SIM_PROCESSES_MAX * AREA_BYTES)
		return NULL;
	return &areas[off >> AREA_SHIFT];
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

static void fill(struct piece *piece, int with)
{
	size_t room = room_of(piece);

	memset(memory_of(piece), with, room < FILL_BYTES ? room : FILL_BYTES);
}

static void give_back(struct area *area, struct piece *piece)
{
	if (piece->is_free) {
		sim_violated("memory of %zu bytes is freed twice",
			     room_of(piece));
		return;
	}
	piece->is_free = true;
	fill(piece, FILL_FREED);
	piece->next = area->free[piece->class];
	area->free[piece->class] = piece;
}

static struct piece *give_again(struct area *area, uint32_t class)
{
	struct piece *piece = area->free[class];
	size_t room = room_of(piece);
	const uint8_t *at = memory_of(piece);

	room = room < FILL_BYTES ? room : FILL_BYTES;
	if (at[0] != FILL_FREED || memcmp(at, at + 1, room - 1) != 0)
		sim_violated("memory of %zu bytes is written after its end",
			     room_of(piece));
	area->free[class] = piece->next;
	return piece;
}

static void *take(struct area *area, size_t len)
{
	uint32_t class = class_of(len ? len : 1);
	uint64_t bytes = HEAD_BYTES + (UINT64_C(1) << (CLASS_SHIFT + class));
	struct piece *piece;

	if (class >= CLASSES)
		return NULL;
	if (is_short(area)) {
		sim_trace("memory", "%zu bytes are not there", len);
		area->n_failures++;
		errno = ENOMEM;
		return NULL;
	}
	if (area->free[class]) {
		piece = give_again(area, class);
	} else {
		if (bytes > AREA_BYTES - area->used)
			return NULL;
		piece = (void *)(base +
				 ((uint64_t)(area - areas) << AREA_SHIFT) +
				 area->used);
		area->used += bytes;
		piece->class = class;
	}
	piece->is_free = false;
	fill(piece, FILL_GIVEN);
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
	struct area *area = own_area();

	return area ? take(area, len) : __real_malloc(len);
}

/* Of what is large programs use little: the system has it zero when they do. */
static void *make_zero(uint8_t *at, size_t len)
{
	uintptr_t first = ((uintptr_t)at + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t end = ((uintptr_t)at + len) & ~(uintptr_t)(PAGE - 1);

	if (len < LARGE_BYTES)
		return memset(at, 0, len);
	memset(at, 0, first - (uintptr_t)at);
	memset((void *)end, 0, (uintptr_t)at + len - end);
	if (madvise((void *)first, end - first, MADV_DONTNEED))
		sim_die("memory cannot be made zero");
	return at;
}

void *__wrap_calloc(size_t n, size_t len)
{
	struct area *area = own_area();
	size_t bytes;
	void *at;

	if (!area)
		return __real_calloc(n, len);
	if (__builtin_mul_overflow(n, len, &bytes))
		return NULL;
	at = take(area, bytes);
	return at ? make_zero(at, bytes) : NULL;
}

void __wrap_free(void *at)
{
	struct area *area = at ? area_of(at) : NULL;

	if (area)
		give_back(area, piece_of(at));
	else
		__real_free(at);
}

void *__wrap_realloc(void *at, size_t len)
{
	size_t had;
	void *to;

	if (at && !area_of(at))
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
	struct area *area = own_area();

	if (!area)
		return __real_posix_memalign(out, alignment, len);
	*out = take(area, len);
	return *out ? 0 : ENOMEM;
}

void *__wrap_aligned_alloc(size_t alignment, size_t len)
{
	struct area *area = own_area();

	return area ? take(area, len) : __real_aligned_alloc(alignment, len);
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
