/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Numbers and machine ids of a configuration. Pure functions, but for the hardware address. Runs
 * while only one thread exists.
 */
#include "daemon/config_draft.h"

#include "daemon/hardware.h"
#include "shm/why.h"

#include <errno.h>
#include <string.h>

const char *sfd_read_number(const char *text, uint32_t max, uint32_t *ret_number)
{
	const char *digit = text;
	uint64_t number = 0;

	for (; *digit >= '0' && *digit <= '9'; digit++) {
		number = number * 10 + (uint64_t)(*digit - '0');
		if (number > max)
			return NULL;
	}
	if (digit == text)
		return NULL;
	*ret_number = (uint32_t)number;
	return digit;
}

struct node_list {
	uint32_t node[SF_NODES_MAX]; /* ascending */
	uint32_t count;
};

/* @return NULL, or what is wrong with the id */
static const char *add_node(struct node_list *list, uint32_t node)
{
	uint32_t at = list->count;

	while (at > 0 && list->node[at - 1] > node)
		at--;
	if (at > 0 && list->node[at - 1] == node)
		return "an id is given twice";
	if (list->count == SF_NODES_MAX)
		return "too many ids; one stream has at most 256";
	memmove(&list->node[at + 1], &list->node[at], (list->count - at) * sizeof(list->node[0]));
	list->node[at] = node;
	list->count++;
	return NULL;
}

/* One id or one range with the blanks around it. @return NULL, or what is wrong with it */
static const char *add_range(const char **text, uint32_t max, struct node_list *list)
{
	const char *at = *text + strspn(*text, " \t");
	const char *problem = NULL;
	uint32_t first;
	uint32_t last;

	at = sfd_read_number(at, max, &first);
	if (at == NULL)
		return "not a machine id of this layout";
	last = first;
	if (*at == '-') {
		at = sfd_read_number(at + 1, max, &last);
		if (at == NULL)
			return "a range ends in no machine id of this layout";
	}
	at += strspn(at, " \t");
	if (*at != '\0' && *at != ',')
		return "not a machine id of this layout";
	if (last < first)
		return "a range runs backward";
	/* The list is full, or holds an id twice, long before a wide range is through. */
	for (uint32_t i = 0; problem == NULL && i <= last - first; i++)
		problem = add_node(list, first + i);
	*text = at;
	return problem;
}

static_assert(SF_NODES_MAX == 256, "add_node() says so in words");

int sfd_nodes_parse(const char *text, unsigned bits, uint32_t *ret_node, uint32_t *ret_count,
		    struct sf_why *why)
{
	const uint32_t max = bits < 32 ? (UINT32_C(1) << bits) - 1 : UINT32_MAX;
	const struct sf_shm_token token = {text, strlen(text)};
	struct node_list list = {.count = 0};
	const char *at = text;
	const char *problem;

	sf_shm_clear(why);
	for (;;) {
		problem = add_range(&at, max, &list);
		if (problem != NULL || *at == '\0')
			break;
		at++; /* the comma */
	}
	if (token.length == 0)
		problem = "the machine id is empty";
	if (problem != NULL)
		return sf_shm_refuse_token(why, &token,
					   "%s; legal is [0,%u], written as one (7), a range (0-3) "
					   "or a list (1,3,5-7)",
					   problem, max);
	memcpy(ret_node, list.node, list.count * sizeof(list.node[0]));
	*ret_count = list.count;
	return 0;
}

void sfd_nodes_format(const uint32_t *node, uint32_t count, char *buffer, size_t size)
{
	struct sf_shm_text text = {buffer, size, 0};
	uint32_t i = 0;

	buffer[0] = '\0';
	while (i < count) {
		const uint32_t first = node[i];
		uint32_t last = first;

		while (++i < count && node[i] == last + 1)
			last++;
		sf_shm_put_string(&text, text.length > 0 ? "," : "");
		sf_shm_put_unsigned(&text, first);
		if (last == first)
			continue;
		sf_shm_put_string(&text, "-");
		sf_shm_put_unsigned(&text, last);
	}
}

/** Value of a hexadecimal digit, or -1. */
static int digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit = (char)(digit | 0x20);
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/** Six bytes of two digits each, with colons in between. */
static bool read_address(const char *text, uint64_t *ret_machine)
{
	uint64_t machine = 0;

	for (unsigned i = 0; i < 17; i++) {
		int value = text[i] != '\0' ? digit_value(text[i]) : -1;

		if (i % 3 == 2 ? text[i] != ':' : value < 0)
			return false;
		if (i % 3 != 2)
			machine = machine << 4 | (uint64_t)value;
	}
	if (text[17] != '\0')
		return false;
	*ret_machine = machine;
	return true;
}

/** "0x" and 1 to 12 digits. */
static bool read_hex(const char *text, uint64_t *ret_machine)
{
	const size_t length = strlen(text);
	uint64_t machine = 0;

	if (length < 3 || length > 14 || text[0] != '0' || text[1] != 'x')
		return false;
	for (size_t i = 2; i < length; i++) {
		if (digit_value(text[i]) < 0)
			return false;
		machine = machine << 4 | (uint64_t)digit_value(text[i]);
	}
	*ret_machine = machine;
	return true;
}

int sfd_machine_parse(const char *text, uint64_t *ret_machine, struct sf_why *why)
{
	const struct sf_shm_token token = {text, strlen(text)};

	sf_shm_clear(why);
	if (strcmp(text, "hardware") == 0)
		return sfd_hardware_machine(ret_machine, why);
	if (read_address(text, ret_machine) || read_hex(text, ret_machine))
		return 0;
	return sf_shm_refuse_token(
		why, &token,
		"the machine id of a hound stream is hardware (this host's "
		"address), an address such as 02:42:ac:11:00:02, or 0x and up to "
		"12 hexadecimal digits");
}
