// SPDX-License-Identifier: BSD-2-Clause
/*
 * Transcripts and MACs against vectors that another HMAC made, and what a
 * proof depends on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>

#include "kfb_auth.h"
#include "kfb_endian.h"
#include "samples.h"
#include "tests/lib/vector.h"

#define TRANSCRIPT_MAX 512

/* What the last MAC was computed over. */
static __u8 seen[TRANSCRIPT_MAX];
static __u32 seen_len;
static int hmac_error;

static int compute(void *ctx, const __u8 key[KFB_KEY_BYTES],
		   const struct kfb_iov *parts, unsigned int n,
		   __u8 mac[KFB_MAC_BYTES])
{
	unsigned int i;

	if (hmac_error)
		return hmac_error;
	seen_len = 0;
	for (i = 0; i < n; i++) {
		assert_true(parts[i].len <= TRANSCRIPT_MAX - seen_len);
		memcpy(seen + seen_len, parts[i].base, parts[i].len);
		seen_len += parts[i].len;
	}
	return crypto_auth_hmacsha256(mac, seen, seen_len, key);
}

static const struct kfb_hmac hmac = { compute, NULL };

struct fixture {
	__u8 key[KFB_KEY_BYTES];
	__u8 hello[KFB_HELLO_BYTES];
	__u8 accept[KFB_ACCEPT_BYTES];
	char name[KFB_NAME_MAX];
	__u8 auth_uuid[KFB_UUID_BYTES];
	__u8 reply_uuid[KFB_UUID_BYTES];
	__u64 power_epoch;
	__u64 former;
	struct kfb_transcript transcript;
};

static int setup(void **state)
{
	static struct fixture f;
	__u8 former[8];

	hmac_error = 0;
	vector_read("auth", "key", f.key, sizeof(f.key));
	vector_read("hello", "hello", f.hello, sizeof(f.hello));
	vector_read("accept", "accept", f.accept, sizeof(f.accept));
	vector_read("auth", "auth-uuid", f.auth_uuid, sizeof(f.auth_uuid));
	vector_read("auth", "reply-uuid", f.reply_uuid, sizeof(f.reply_uuid));
	f.power_epoch = 7;
	vector_read("auth", "former-session", former, sizeof(former));
	f.former = kfb_get_le64((const __le64 *)former);
	f.transcript.hello = f.hello;
	f.transcript.accept = f.accept;
	f.transcript.name = f.name;
	f.transcript.name_len =
		(__u8)vector_read("auth", "name", f.name, sizeof(f.name));
	*state = &f;
	return 0;
}

static void expect_vector(const char *transcript, const char *result,
			  const __u8 *mac, __u32 len)
{
	__u8 expected[TRANSCRIPT_MAX];
	size_t expected_len;

	expected_len =
		vector_read("auth", transcript, expected, sizeof(expected));
	assert_int_equal(seen_len, expected_len);
	assert_memory_equal(seen, expected, expected_len);
	assert_int_equal(vector_read("auth", result, expected, len), len);
	assert_memory_equal(mac, expected, len);
}

static void proofs_equal_the_vectors(void **state)
{
	const struct fixture *f = *state;
	__u8 mac[KFB_MAC_BYTES];

	assert_int_equal(kfb_auth_client_proof(&hmac, f->key, &f->transcript,
					       f->auth_uuid, f->former, mac),
			 0);
	expect_vector("client-transcript", "client-proof", mac, sizeof(mac));
	assert_int_equal(kfb_auth_brick_proof(&hmac, f->key, &f->transcript,
					      f->reply_uuid, f->power_epoch,
					      mac),
			 0);
	expect_vector("brick-transcript", "brick-proof", mac, sizeof(mac));
}

static void the_session_key_proves_a_join(void **state)
{
	const struct fixture *f = *state;
	__u8 session_key[KFB_KEY_BYTES];
	__u8 proof[KFB_JOIN_PROOF_BYTES];
	__u8 hello[KFB_HELLO_BYTES];

	assert_int_equal(kfb_auth_session_key(&hmac, f->key, &f->transcript,
					      f->reply_uuid, f->power_epoch,
					      session_key),
			 0);
	expect_vector("session-transcript", "session-key", session_key,
		      sizeof(session_key));
	/* What the HELLO holds as its proof does not matter. */
	vector_read("hello-join", "hello", hello, sizeof(hello));
	assert_int_equal(kfb_auth_join_proof(&hmac, session_key, hello, proof),
			 0);
	expect_vector("join-transcript", "join-proof", proof, sizeof(proof));
	assert_memory_equal(hello + KFB_HELLO_BYTES - sizeof(proof), proof,
			    sizeof(proof));
}

/* The join that the vectors have, and the session's key. */
static void read_join(__u8 *session_key, __u8 *hello, __u8 *accept)
{
	vector_read("auth", "session-key", session_key, KFB_KEY_BYTES);
	vector_read("hello-join", "hello", hello, KFB_HELLO_BYTES);
	vector_read("accept-join", "accept", accept, KFB_ACCEPT_BYTES);
}

static void the_session_key_proves_the_accept_of_a_join(void **state)
{
	const __u32 at = offsetof(struct kfb_wire_accept, proof);
	__u8 session_key[KFB_KEY_BYTES], hello[KFB_HELLO_BYTES];
	__u8 accept[KFB_ACCEPT_BYTES], proof[KFB_JOIN_PROOF_BYTES];

	read_join(session_key, hello, accept);
	assert_int_equal(kfb_auth_accept_proof(&hmac, session_key, hello,
					       accept, proof),
			 0);
	expect_vector("accept-transcript", "accept-proof", proof,
		      sizeof(proof));
	assert_memory_equal(accept + at, proof, sizeof(proof));
}

/* Above all the HELLO's counter: the proof of one join is that of no other. */
static void every_bit_of_a_join_changes_the_accept_proof(void **state)
{
	const __u32 at = offsetof(struct kfb_wire_accept, proof);
	__u8 key[KFB_KEY_BYTES], hello[KFB_HELLO_BYTES];
	__u8 accept[KFB_ACCEPT_BYTES], other[KFB_JOIN_PROOF_BYTES];
	__u8 *const parts[] = { key, hello, accept };
	/* What the ACCEPT holds as its proof does not matter. */
	const __u32 lens[] = { sizeof(key), sizeof(hello), at };
	unsigned int i;
	__u32 bit;

	read_join(key, hello, accept);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		for (bit = 0; bit < 8 * lens[i]; bit++) {
			parts[i][bit / 8] ^= (__u8)(1 << bit % 8);
			kfb_auth_accept_proof(&hmac, key, hello, accept, other);
			assert_false(kfb_auth_equal(accept + at, other,
						    sizeof(other)));
			parts[i][bit / 8] ^= (__u8)(1 << bit % 8);
		}
	}
	accept[at] ^= 1;
	kfb_auth_accept_proof(&hmac, key, hello, accept, other);
	accept[at] ^= 1;
	assert_memory_equal(accept + at, other, sizeof(other));
	/* A client's proof is no brick's. */
	kfb_auth_join_proof(&hmac, key, hello, other);
	assert_memory_not_equal(accept + at, other, sizeof(other));
}

static void a_former_session_is_covered(void **state)
{
	const struct fixture *f = *state;
	__u8 mac[KFB_MAC_BYTES], other[KFB_MAC_BYTES];

	kfb_auth_client_proof(&hmac, f->key, &f->transcript, f->auth_uuid,
			      f->former, mac);
	kfb_auth_client_proof(&hmac, f->key, &f->transcript, f->auth_uuid,
			      f->former ^ 1, other);
	assert_memory_not_equal(mac, other, sizeof(mac));
}

/* All that a brick proof covers, so that each part can be changed. */
static void proof_of(const struct fixture *f, __u8 *mac)
{
	struct kfb_transcript t = { f->hello, f->accept, f->name,
				    f->transcript.name_len };

	assert_int_equal(kfb_auth_brick_proof(&hmac, f->key, &t, f->reply_uuid,
					      f->power_epoch, mac),
			 0);
}

static void every_bit_of_what_is_covered_changes_a_proof(void **state)
{
	struct fixture f = *(const struct fixture *)*state;
	__u8 mac[KFB_MAC_BYTES], other[KFB_MAC_BYTES];
	__u8 *const parts[] = { f.key,	      f.hello,
				f.accept,     (__u8 *)f.name,
				f.reply_uuid, (__u8 *)&f.power_epoch };
	const __u32 lens[] = { sizeof(f.key),	     sizeof(f.hello),
			       sizeof(f.accept),     f.transcript.name_len,
			       sizeof(f.reply_uuid), sizeof(f.power_epoch) };
	unsigned int i;
	__u32 bit;

	proof_of(&f, mac);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		for (bit = 0; bit < 8 * lens[i]; bit++) {
			parts[i][bit / 8] ^= (__u8)(1 << bit % 8);
			proof_of(&f, other);
			assert_false(kfb_auth_equal(mac, other, sizeof(mac)));
			parts[i][bit / 8] ^= (__u8)(1 << bit % 8);
		}
	}
	proof_of(&f, other);
	assert_true(kfb_auth_equal(mac, other, sizeof(mac)));
}

static void the_same_fields_prove_different_things_differently(void **state)
{
	const struct fixture *f = *state;
	__u8 client[KFB_MAC_BYTES], brick[KFB_MAC_BYTES], key[KFB_MAC_BYTES];

	assert_int_equal(kfb_auth_client_proof(&hmac, f->key, &f->transcript,
					       f->reply_uuid, 0, client),
			 0);
	assert_int_equal(kfb_auth_brick_proof(&hmac, f->key, &f->transcript,
					      f->reply_uuid, f->power_epoch,
					      brick),
			 0);
	assert_int_equal(kfb_auth_session_key(&hmac, f->key, &f->transcript,
					      f->reply_uuid, f->power_epoch,
					      key),
			 0);
	assert_false(kfb_auth_equal(client, brick, sizeof(client)));
	assert_false(kfb_auth_equal(client, key, sizeof(client)));
	assert_false(kfb_auth_equal(brick, key, sizeof(brick)));
}

static void bytes_that_move_between_fields_change_the_transcript(void **state)
{
	struct fixture f = *(const struct fixture *)*state;
	__u8 mac[KFB_MAC_BYTES], other[KFB_MAC_BYTES];

	/* The name's last byte becomes the uuid's first. */
	memcpy(f.name, "ab", 2);
	f.transcript.name_len = 2;
	memset(f.reply_uuid, 'b', sizeof(f.reply_uuid));
	proof_of(&f, mac);
	f.transcript.name_len = 1;
	proof_of(&f, other);
	assert_false(kfb_auth_equal(mac, other, sizeof(mac)));
}

static void failures_leave_the_proof_alone(void **state)
{
	struct fixture f = *(const struct fixture *)*state;
	__u8 mac[KFB_MAC_BYTES], zero[KFB_MAC_BYTES];
	__u8 other[KFB_MAC_BYTES];

	memset(mac, 0, sizeof(mac));
	memset(zero, 0, sizeof(zero));
	hmac_error = -ENOMEM;
	assert_int_equal(kfb_auth_client_proof(&hmac, f.key, &f.transcript,
					       f.auth_uuid, 0, mac),
			 -ENOMEM);
	assert_int_equal(kfb_auth_brick_proof(&hmac, f.key, &f.transcript,
					      f.auth_uuid, 0, mac),
			 -ENOMEM);
	assert_int_equal(kfb_auth_join_proof(&hmac, f.key, f.hello, mac),
			 -ENOMEM);
	assert_int_equal(kfb_auth_accept_proof(&hmac, f.key, f.hello, f.accept,
					       mac),
			 -ENOMEM);
	hmac_error = 0;
	f.transcript.name_len = KFB_NAME_MAX;
	assert_int_equal(kfb_auth_client_proof(&hmac, f.key, &f.transcript,
					       f.auth_uuid, 0, other),
			 0);
	f.transcript.name_len = KFB_NAME_MAX + 1;
	assert_int_equal(kfb_auth_client_proof(&hmac, f.key, &f.transcript,
					       f.auth_uuid, 0, mac),
			 -EINVAL);
	assert_int_equal(kfb_auth_session_key(&hmac, f.key, &f.transcript,
					      f.auth_uuid, 0, mac),
			 -EINVAL);
	assert_memory_equal(mac, zero, sizeof(mac));
}

static void comparing_sees_every_bit(void **state)
{
	__u8 a[KFB_MAC_BYTES], b[KFB_MAC_BYTES];
	unsigned int bit;

	memset(a, 0x3c, sizeof(a));
	memcpy(b, a, sizeof(b));
	assert_true(kfb_auth_equal(a, b, sizeof(a)));
	for (bit = 0; bit < 8 * sizeof(b); bit++) {
		b[bit / 8] ^= (__u8)(1 << bit % 8);
		assert_false(kfb_auth_equal(a, b, sizeof(a)));
		b[bit / 8] ^= (__u8)(1 << bit % 8);
	}
	assert_true(kfb_auth_equal(a, b, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(proofs_equal_the_vectors, setup),
		cmocka_unit_test_setup(the_session_key_proves_a_join, setup),
		cmocka_unit_test_setup(
			the_session_key_proves_the_accept_of_a_join, setup),
		cmocka_unit_test_setup(
			every_bit_of_a_join_changes_the_accept_proof, setup),
		cmocka_unit_test_setup(a_former_session_is_covered, setup),
		cmocka_unit_test_setup(
			every_bit_of_what_is_covered_changes_a_proof, setup),
		cmocka_unit_test_setup(
			the_same_fields_prove_different_things_differently,
			setup),
		cmocka_unit_test_setup(
			bytes_that_move_between_fields_change_the_transcript,
			setup),
		cmocka_unit_test_setup(failures_leave_the_proof_alone, setup),
		cmocka_unit_test(comparing_sees_every_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
