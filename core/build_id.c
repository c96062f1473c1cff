/* SPDX-License-Identifier: GPL-2.0-only */
/* The build id that the linker put into the image, as text, so that a log finds its symbols. */
#include <cupel/printk.h>

/* The note section, bounded by the linker script. ELF gABI, "Note Section": name "GNU", type 3. */
extern const u8 __build_id_start[], __build_id_end[];

#define NOTE_DESC_OFFSET 16 /* three words and "GNU\0" */
#define ID_BYTES	 20

const char *build_id(void)
{
	static const char digit[] = "0123456789abcdef";
	static char text[2 * ID_BYTES + 1];

	if (__build_id_end - __build_id_start < NOTE_DESC_OFFSET + ID_BYTES)
		return "unknown";
	for (u32 i = 0; i < ID_BYTES; i++) {
		u8 byte = __build_id_start[NOTE_DESC_OFFSET + i];

		text[2 * i] = digit[byte >> 4];
		text[2 * i + 1] = digit[byte & 15];
	}
	return text;
}
