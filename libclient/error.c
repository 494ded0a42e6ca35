/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Errors as sentences, and the version. Constant data only.
 */
#include <sfclient.h>

#include <errno.h>

const char *sf_strerror(int error)
{
	switch (error < 0 ? -error : error) {
	case 0:
		return "success";
	case EAGAIN:
		return "no ID can be given now and the caller chose not to wait";
	case ETIMEDOUT:
		return "no ID could be given within the time-out";
	case ESHUTDOWN:
		return "sfd is gone and its runway is used up; start sfd again";
	case EOVERFLOW:
		return "the layout's time field is used up; choose a layout with a later end";
	case ETIME:
		return "the wall clock went back, and the stream refuses until it has caught up";
	case ENOTSUP:
		return "the stream's IDs are of the other width: sf_next() is for 64-bit IDs, "
		       "sf_next128() for the wide formats";
	case ENOTCONN:
		return "no sfd listens at the socket; start sfd, or check the socket's path";
	case ENOENT:
		return "sfd has no stream of that name; check the name";
	case EACCES:
		return "the stream's access list does not name this user";
	case EUSERS:
		return "this user has too many connections to sfd; close some, or raise "
		       "max_connections_per_user";
	case EPROTO:
		return "sfd speaks another version or sent something malformed";
	case EINVAL:
		return "an argument is out of range";
	case ERANGE:
		return "a value does not fit the layout";
	case ENOSPC:
		return "the buffer is too small";
	case ENOMEM:
		return "out of memory";
	case EMFILE:
		return "the process is out of file descriptors";
	case ENFILE:
		return "the host is out of file descriptors";
	default:
		return "unexpected error";
	}
}

const char *sf_version(void)
{
	return SF_VERSION;
}
