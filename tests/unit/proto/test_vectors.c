// SPDX-License-Identifier: BSD-2-Clause
/*
 * The vectors decode to what they mean and encode back to the same bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "samples.h"

static union sample_message decoded;
static __u8 bytes[KFB_REPLY_MAX_BYTES];
static __u8 encoded[KFB_REPLY_MAX_BYTES];

static void every_vector_decodes_to_its_meaning(void **state)
{
	unsigned int i;

	for (i = 0; i < n_samples; i++) {
		const struct sample *sample = &samples[i];
		__u32 len = sample_read(sample, bytes);

		if (sample_decode(sample->kind, bytes, len, &decoded))
			fail_msg("%s does not decode", sample->file);
		assert_memory_equal(&decoded, &sample->message,
				    sizeof(decoded));
	}
}

static void every_meaning_encodes_to_its_vector(void **state)
{
	unsigned int i;

	for (i = 0; i < n_samples; i++) {
		const struct sample *sample = &samples[i];
		__u32 len = sample_read(sample, bytes);

		assert_int_equal(sample_encode(sample->kind, &sample->message,
					       encoded, sizeof(encoded)),
				 len);
		assert_memory_equal(encoded, bytes, len);
	}
}

static void decoding_needs_no_alignment(void **state)
{
	static __u8 moved[KFB_REPLY_MAX_BYTES + 1];
	unsigned int i;

	for (i = 0; i < n_samples; i++) {
		const struct sample *sample = &samples[i];
		__u32 len = sample_read(sample, moved + 1);

		assert_int_equal(sample_decode(sample->kind, moved + 1, len,
					       &decoded),
				 0);
		assert_memory_equal(&decoded, &sample->message,
				    sizeof(decoded));
	}
}

static void every_file_of_vectors_is_tested(void **state)
{
	const char *path = getenv("VECTORS");
	DIR *dir = opendir(path ? path : "");
	struct dirent *entry;
	unsigned int n = 0;

	if (!dir) {
		fail_msg("VECTORS names the folder of the vectors");
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		char *dot = strstr(entry->d_name, ".hex");

		if (!dot)
			continue;
		*dot = '\0';
		/* The transcripts have a test of their own. */
		if (strcmp(entry->d_name, "auth") != 0)
			sample_find(entry->d_name);
		n++;
	}
	closedir(dir);
	assert_int_equal(n, n_samples + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_vector_decodes_to_its_meaning),
		cmocka_unit_test(every_meaning_encodes_to_its_vector),
		cmocka_unit_test(decoding_needs_no_alignment),
		cmocka_unit_test(every_file_of_vectors_is_tested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
