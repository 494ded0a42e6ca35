/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The host-wide file in which machine ids are locked, one byte each: where it is, and opening it.
 * An sfd holds a write lock on each of its machine ids; who makes IDs with a machine id that no
 * stream may have holds a read lock on it. Any thread.
 */
#ifndef SF_SHM_NODES_H
#define SF_SHM_NODES_H

/**
 * Opens the file, and makes it if it is missing.
 * @param ret_path where it is or should be; set on failure, too
 * @return a descriptor, -ENXIO for what is no regular file, or another negative errno
 */
int sf_shm_nodes_open(const char **ret_path);

#endif
