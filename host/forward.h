/* SPDX-License-Identifier: MIT */
/* The page: one piece of tokens as a list of operations. */
#ifndef HG_HOST_FORWARD_H
#define HG_HOST_FORWARD_H

#include "session_state.h"

/* Appends the whole pass over `tokens` new tokens that follow the session's `past` ones. The ids,
 * the rope table and the rows of the piece are in the session's upload buffers. Errors are kept in
 * session->ops. */
void hg_forward_append(hg_session *session, uint32_t past, uint32_t tokens);

#endif
