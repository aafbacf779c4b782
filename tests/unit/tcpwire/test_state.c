// SPDX-License-Identifier: BSD-2-Clause
/* Every move of every state, against the table of docs/stcp.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tcpw_state.h"

/* As the page calls them. */
static const char *const names[TCPW_STATES] = {
	[TCPW_IDLE] = "IDLE",	      [TCPW_REQUESTED] = "REQUESTED",
	[TCPW_ASKED] = "ASKED",	      [TCPW_ACCEPTED] = "ACCEPTED",
	[TCPW_REJECTED] = "REJECTED", [TCPW_UP] = "UP",
	[TCPW_CLOSING] = "CLOSING",   [TCPW_DEAD] = "DEAD",
};

static int page[TCPW_STATES][TCPW_STATES];

static unsigned int state_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < TCPW_STATES; i++)
		if (strcmp(names[i], name) == 0)
			break;
	return i;
}

/* Reads the page's lines "| endpoint | FROM | TO | why |". */
static int read_page(void **state)
{
	const char *path = getenv("STCP_PAGE");
	char line[512], from[32], to[32];
	unsigned int n = 0;
	FILE *f = fopen(path ? path : "", "r");

	if (!f) {
		print_error("STCP_PAGE names docs/stcp.md\n");
		return -1;
	}
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "| endpoint | %31s | %31s |", from, to) != 2)
			continue;
		assert_true(state_of(from) < TCPW_STATES);
		assert_true(state_of(to) < TCPW_STATES);
		page[state_of(from)][state_of(to)] = 1;
		n++;
	}
	fclose(f);
	return n > 0 ? 0 : -1;
}

static void every_move_is_as_the_page_says(void **state)
{
	unsigned int from, to;

	for (from = 0; from < TCPW_STATES; from++) {
		for (to = 0; to < TCPW_STATES; to++) {
			enum tcpw_state now = from;
			int legal = page[from][to];

			if (tcpw_state_move(&now, to) != (legal ? 0 : -EINVAL))
				fail_msg("%s -> %s, the page: %s", names[from],
					 names[to],
					 legal ? "legal" : "not there");
			assert_int_equal(now, legal ? to : from);
		}
	}
}

static void nothing_follows_the_end(void **state)
{
	unsigned int to;

	for (to = 0; to < TCPW_STATES; to++)
		assert_false(page[TCPW_DEAD][to]);
}

static void values_that_are_no_state_are_refused(void **state)
{
	enum tcpw_state now = TCPW_STATES;

	assert_int_equal(tcpw_state_move(&now, TCPW_DEAD), -EINVAL);
	now = TCPW_UP;
	assert_int_equal(tcpw_state_move(&now, TCPW_STATES), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_move_is_as_the_page_says),
		cmocka_unit_test(nothing_follows_the_end),
		cmocka_unit_test(values_that_are_no_state_are_refused),
	};

	return cmocka_run_group_tests(tests, read_page, NULL);
}
