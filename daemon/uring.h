/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The io_uring of the control loop, with as many of the kernel's features as there are, and as few
 * of its operations as the loop needs.
 */
#ifndef SFD_URING_H
#define SFD_URING_H

#include <liburing.h>

/** @param ret_features IORING_FEAT_*. @return 0 or a negative errno */
int sfd_uring_init(struct io_uring *ring, unsigned *ret_features);

#endif
