/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What brickctl top knows of a brick, twice, and how it shows it.
 */
#ifndef BRICKCTL_TOP_H
#define BRICKCTL_TOP_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "initiator/brickctl/admin/admin.h"

/* Buckets of a histogram; the brick has fewer. */
#define TOP_BUCKETS_MAX 32

/*
 * A histogram, in its metric's unit (of times: seconds): how many were up to each
 * bound, all, and their sum.
 */
struct top_times {
	unsigned int n;
	double bounds[TOP_BUCKETS_MAX];
	uint64_t buckets[TOP_BUCKETS_MAX];
	uint64_t count;
	double sum;
};

/**
 * struct top_sample - a brick at one moment
 * @at_ms: when, by CLOCK_MONOTONIC
 * @info: the answer to "info"
 * @stats: the answer to "stats"
 * @sessions: an array
 * @clients: an array, NULL unless it was asked for
 * @ops: requests answered
 * @failed: of them, with another status than OK
 * @flushes: how long FLUSH took
 */
struct top_sample {
	uint64_t at_ms;
	struct json_object *info;
	struct json_object *stats;
	struct json_object *sessions;
	struct json_object *clients;
	uint64_t ops;
	uint64_t failed;
	struct top_times flushes;
};

/**
 * top_sample_take - ask the brick
 * @ctl: reports what is wrong
 * @admin: open
 * @by_client: ask for the clients, too
 * @sample: filled on success
 *
 * Return: 0, or the status to exit with.
 */
int top_sample_take(struct ctl *ctl, struct ctl_admin *admin, bool by_client,
		    struct top_sample *sample);
void top_sample_free(struct top_sample *sample);

/**
 * top_metric - one number of the brick, or the sum over its labels
 * @stats: the answer to "stats"
 * @name: of the metric
 * @label: which one must be @value; NULL: all
 * @value: of the label
 */
uint64_t top_metric(struct json_object *stats, const char *name,
		    const char *label, const char *value);

/* A sample of the answer to "stats"; the histogram is empty before. */
void top_times_read(struct json_object *sample, struct top_times *times);

/* What happened since an earlier histogram. */
struct top_times top_times_since(const struct top_times *now,
				 const struct top_times *before);

/**
 * top_times_percentile - the bound that so many of a hundred were below
 * @times: with at least one
 * @percent: how many
 *
 * Return: the bound; below 0: beyond all bounds.
 */
double top_times_percentile(const struct top_times *times, uint64_t percent);

/**
 * top_draw - show a brick
 * @out: lines; control characters that came from outside are not in them
 * @now: as it is
 * @before: rates are since then; NULL: since it started
 * @sort: top_column_find(): the clients, sorted by it; below 0: the sessions
 */
void top_draw(FILE *out, const struct top_sample *now,
	      const struct top_sample *before, int sort);

/* The object of an array, which may be NULL, whose member is that text, or NULL. */
struct json_object *top_find(struct json_object *list, const char *member,
			     const char *text);

/* The time of which rates are, seconds; not 0. */
double top_span_s(const struct top_sample *now,
		  const struct top_sample *before);

/* What is left of a text when it may have so many characters, and blanks. */
void top_print_cut(FILE *out, const char *text, int width);

/* ---- clients ---- */

/**
 * top_column_key - what --sort may name, one after the other
 * @n: from 0
 *
 * Return: the name, or NULL: there are no more.
 */
const char *top_column_key(unsigned int n);

/* The column that --sort names; below 0: there is none. */
int top_column_find(const char *key);

/* The lines of the clients, those with the most in a column first. */
void top_draw_clients(FILE *out, const struct top_sample *now,
		      const struct top_sample *before, int sort);

/* The clients as the brick describes them, in that order; for json_object_put(). */
struct json_object *top_clients_sorted(const struct top_sample *now, int sort);

#endif
