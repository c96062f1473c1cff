/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command line and cupel.conf. The command line is words "key=value" or "key"; quotes group. The file
 * has sections "[vm NAME]" with "key = value" lines, and '#' comments. Both are untrusted input.
 */
#ifndef CUPEL_CONFIG_H
#define CUPEL_CONFIG_H

#include <cupel/types.h>
#include <cupel/vm.h>

/* Value of `key` ("" for a bare word), or NULL. Valid for the life of the command line. */
const char *cmdline_get(const char *key);
/* Split once, at boot. -E2BIG, or -EINVAL for an unclosed quote, with *why. */
int cmdline_parse(char *line, const char **why);
/*
 * Another line's words after those of boot, instead of those that the last call added. Errors as above, and
 * none of its words is there then. The line stays where it is as long as they are used.
 */
int cmdline_add(char *line, const char **why);
/* Drop those words of boot that are not general: they would be refused with every experiment. */
void cmdline_forget_unknown(void);
/* What was wrong with boot's line; NULL when nothing was. */
const char *cmdline_error(void);
/* Walk the words; false stops. Used to report unknown keys. */
void cmdline_walk(bool (*fn)(const char *key, const char *value, void *arg), void *arg);

/* A word that means something to the image or to the host tools whatever is run. */
bool cmdline_is_general(const char *key);
/* Of those, one that is read while the machine comes up, and means nothing later. */
bool cmdline_is_for_boot(const char *key);

/* "64", "0x40", "16K", "2M", "1G" -> bytes. -EINVAL or -ERANGE. The whole string must be used. */
int parse_size(const char *s, u64 *out);
int parse_u64(const char *s, u64 *out);
/* "1,2,4" or "1-8" or both -> list; -E2BIG, -EINVAL. */
int parse_list(const char *s, u32 *out, u32 max, u32 *count);
/* Word -> index in a NULL-terminated table of names; -EINVAL. */
int parse_word(const char *s, const char *const *names);

/* VM sections, in order. -EINVAL with *why and *line. */
int config_parse_vms(const char *text, size_t size, struct vm_config *out, u32 max, u32 *count,
		     const char **why, u32 *line);

#endif
