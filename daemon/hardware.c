/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The host's hardware address; see hardware.h. Runs while only one thread exists.
 */
#include "daemon/hardware.h"

#include "shm/why.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define ADDRESS_BYTES 6
/* Bit of an address' first byte, as a 48-bit number. */
#define LOCALLY_ADMINISTERED (UINT64_C(1) << 41)

/** The interface's address, or 0 for none. */
static uint64_t address_of(const struct ifaddrs *interface)
{
	struct sockaddr_ll link;
	uint64_t address = 0;

	if (!interface->ifa_addr || interface->ifa_addr->sa_family != AF_PACKET ||
	    (interface->ifa_flags & IFF_LOOPBACK) != 0)
		return 0;
	memcpy(&link, interface->ifa_addr, sizeof(link));
	if (link.sll_halen != ADDRESS_BYTES)
		return 0;
	for (int i = 0; i < ADDRESS_BYTES; i++)
		address = address << 8 | link.sll_addr[i];
	return address;
}

/** 0 if no interface has one. */
static uint64_t best_address(void)
{
	struct ifaddrs *interfaces;
	uint64_t best = 0;

	if (getifaddrs(&interfaces) < 0)
		return 0;
	for (const struct ifaddrs *at = interfaces; at; at = at->ifa_next) {
		uint64_t address = address_of(at);

		if (address == 0)
			continue;
		if (best == 0 ||
		    ((best & LOCALLY_ADMINISTERED) != 0 && (address & LOCALLY_ADMINISTERED) == 0))
			best = address;
	}
	freeifaddrs(interfaces);
	return best;
}

int sfd_hardware_machine(uint64_t *ret_machine, struct sf_why *why)
{
	uint64_t address = best_address();

	sf_shm_clear(why);
	if (address == 0) {
		if (getrandom(&address, ADDRESS_BYTES, 0) != ADDRESS_BYTES)
			return SF_SHM_REFUSE(why, -errno,
					     "no interface has a hardware address, and the kernel "
					     "gives no random bits instead; write the machine id");
		address |= SFD_HARDWARE_RANDOM;
	}
	*ret_machine = address;
	return 0;
}
