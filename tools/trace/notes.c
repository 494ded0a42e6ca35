/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * Probes' notes; see notes.h. The files are other people's: libelf checks what it reads, and what
 * it hands on is bounded here.
 */
#include "tools/trace/notes.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

/* <sys/sdt.h> writes them: address, base and semaphore, then provider and name. */
#define NOTE_OWNER "stapsdt"
#define NOTE_TYPE 3
#define NOTE_ADDRESSES (3 * sizeof(Elf64_Addr))

static bool is_of(const GElf_Nhdr *head, const char *owner, const char *text, const char *provider)
{
	size_t length = strlen(provider) + 1;

	return head->n_type == NOTE_TYPE && head->n_namesz == sizeof(NOTE_OWNER) &&
	       memcmp(owner, NOTE_OWNER, sizeof(NOTE_OWNER)) == 0 &&
	       head->n_descsz >= NOTE_ADDRESSES + length &&
	       memcmp(text + NOTE_ADDRESSES, provider, length) == 0;
}

static bool section_has(Elf_Scn *section, const char *provider)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t name;
	size_t text;
	size_t at = 0;
	GElf_Nhdr head;

	if (!data)
		return false;
	while ((at = gelf_getnote(data, at, &head, &name, &text)) > 0)
		if (is_of(&head, (const char *)data->d_buf + name, (const char *)data->d_buf + text,
			  provider))
			return true;
	return false;
}

bool sfctl_notes_have(int fd, const char *provider)
{
	bool have = false;
	Elf_Scn *section = NULL;
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return false;
	while (!have && gelf_getclass(elf) == ELFCLASS64 &&
	       (section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;

		have = gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
		       section_has(section, provider);
	}
	(void)elf_end(elf);
	return have;
}
