# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What is counted as left behind: objects of caches, but those of threads that came
# meanwhile, as the kernel makes workers of its own under load.
# GROUP: small
# TIMEOUT: 30

counted() { # counted FILE TASKS TASK_STRUCTS KMALLOCS
	printf '%s\n' "(tasks) $2" "task_struct $3" "kmalloc-96 $4" >"$1"
}

slab_objects >/tmp/real
check "threads are counted" grep -q "^(tasks) [1-9]" /tmp/real
check "so are objects" grep -q "^task_struct [1-9]" /tmp/real

counted /tmp/was 50 60 500
counted /tmp/now 50 60 539
check "39 objects are not 40" slab_within 40 /tmp/was /tmp/now
counted /tmp/now 50 60 540
check_fails "40 are" slab_within 40 /tmp/was /tmp/now
counted /tmp/now 92 102 584
check "threads and what they have are not counted" slab_within 40 /tmp/was /tmp/now
counted /tmp/now 50 102 500
check_fails "those that are over and stay are" slab_within 40 /tmp/was /tmp/now
counted /tmp/now 92 102 624
check_fails "so is more than threads have" slab_within 40 /tmp/was /tmp/now
counted /tmp/now 20 30 530
check "fewer threads change nothing" slab_within 40 /tmp/was /tmp/now
