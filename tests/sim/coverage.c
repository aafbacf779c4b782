// SPDX-License-Identifier: BSD-2-Clause
/* Counts of moves and of faults: see coverage.h. */
#include "coverage.h"

#include <stdio.h>

#include "initiator/core/session/kfb_client.h"
#include "proto/kfb_session.h"
#include "world.h"

#define ROLES  (KFB_ROLE_BRICK + 1)
#define STATES (KFB_CLIENT_CLOSED + 1)

static uint64_t conns[ROLES][KFB_CONN_STATES][KFB_CONN_STATES];
static uint64_t sessions[KFB_SESSION_STATES][KFB_SESSION_STATES];
static uint64_t faults[SIM_FAULT_KINDS_MAX][STATES];

int __real_kfb_conn_move(enum kfb_conn_state *state, enum kfb_role role,
			 enum kfb_conn_state to);
int __wrap_kfb_conn_move(enum kfb_conn_state *state, enum kfb_role role,
			 enum kfb_conn_state to);
int __real_kfb_session_move(enum kfb_session_state *state,
			    enum kfb_session_state to);
int __wrap_kfb_session_move(enum kfb_session_state *state,
			    enum kfb_session_state to);

int __wrap_kfb_conn_move(enum kfb_conn_state *state, enum kfb_role role,
			 enum kfb_conn_state to)
{
	conns[role][*state][to]++;
	return __real_kfb_conn_move(state, role, to);
}

int __wrap_kfb_session_move(enum kfb_session_state *state,
			    enum kfb_session_state to)
{
	sessions[*state][to]++;
	return __real_kfb_session_move(state, to);
}

void sim_cover_fault(uint32_t kind, uint32_t client_state)
{
	if (kind < SIM_FAULT_KINDS_MAX && client_state < STATES)
		faults[kind][client_state]++;
}

static void print_conns(enum kfb_role role, const char *whose)
{
	unsigned int legal = 0, made = 0;

	printf("# a connection's state at the %s:\n", whose);
	for (uint32_t from = 0; from < KFB_CONN_STATES; from++)
		for (uint32_t to = 0; to < KFB_CONN_STATES; to++) {
			enum kfb_conn_state state = from;

			/* Both ends give its memory back instead. */
			if (to == KFB_CONN_CLOSED)
				continue;
			if (__real_kfb_conn_move(&state, role, to))
				continue;
			legal++;
			made += conns[role][from][to] > 0;
			printf("#   %10llu %s to %s\n",
			       (unsigned long long)conns[role][from][to],
			       kfb_conn_state_name(from),
			       kfb_conn_state_name(to));
		}
	printf("#   %u of %u moves made\n", made, legal);
}

static void print_sessions(void)
{
	unsigned int legal = 0, made = 0;

	printf("# a session's state at the brick:\n");
	for (uint32_t from = 0; from < KFB_SESSION_STATES; from++)
		for (uint32_t to = 0; to < KFB_SESSION_STATES; to++) {
			enum kfb_session_state state = from;

			if (__real_kfb_session_move(&state, to))
				continue;
			legal++;
			made += sessions[from][to] > 0;
			printf("#   %10llu %s to %s\n",
			       (unsigned long long)sessions[from][to],
			       kfb_session_state_name(from),
			       kfb_session_state_name(to));
		}
	printf("#   %u of %u moves made\n", made, legal);
}

void sim_coverage_print(const char *const *names, uint32_t n)
{
	unsigned int met = 0;

	print_conns(KFB_ROLE_CLIENT, "client");
	print_conns(KFB_ROLE_BRICK, "brick");
	print_sessions();
	sim_coverage_print_disk();
	printf("# faults, by the state of a client's session:\n");
	for (uint32_t kind = 0; kind < n; kind++)
		/* One that is closed belongs to nobody. */
		for (uint32_t state = 0; state < KFB_CLIENT_CLOSED; state++) {
			met += faults[kind][state] > 0;
			printf("#   %10llu %s: %s\n",
			       (unsigned long long)faults[kind][state],
			       names[kind], kfb_client_state_name(state));
		}
	printf("#   %u of %u met\n", met, n * KFB_CLIENT_CLOSED);
	sim_coverage_print_disk_faults(names, n);
}
