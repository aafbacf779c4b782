/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages of LIST: what a brick may answer. They come from a brick and are data:
 * nobody goes on to the next page before this one has been looked at.
 *
 * Context: any; no allocation, no sleep.
 */
#ifndef KFB_LIST_H
#define KFB_LIST_H

#include "codec/kfb_codec.h"

/**
 * kfb_list_check - is a page what was asked for?
 * @list: the request
 * @reply: the decoded answer
 *
 * Extents begin at the cursor of the request or behind it, rise, and do not
 * overlap; the cursor of the reply is behind them. A page that is not the last
 * one is full. So a page takes at least as many blocks as it has extents, and the
 * list of a range of N blocks is over after N / extents + 1 pages, whatever the
 * brick has in mind. With KFB_LIST_MINE the ids of the mappings rise.
 *
 * Return: 0, or -EPROTO.
 */
int kfb_list_check(const struct kfb_list *list,
		   const struct kfb_list_reply *reply);

#endif /* KFB_LIST_H */
