/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Cupel asks of UEFI before it leaves it: command line, archive, tables, memory map. It runs as part
 * of an EFI application, before the image is what it will be: nothing here may print but through firmware,
 * or keep anything outside the memory that firmware gave out. Sections are those of UEFI 2.10.
 */
#include "efi.h"

#include <cupel/arch.h>
#include <efi.h>
#include <string.h>

/* Linux, include/linux/efi.h; not in gnu-efi's headers */
#define LOAD_FILE2_GUID \
	{ 0x4006c0c1, 0xfcb3, 0x403e, { 0x99, 0x6d, 0x4a, 0x6c, 0x87, 0x24, 0xe0, 0x6d } }
#define INITRD_MEDIA_GUID \
	{ 0x5568e427, 0x68fc, 0x4f3d, { 0xac, 0x74, 0xca, 0x55, 0x52, 0x31, 0xcc, 0x68 } }

#define ARCHIVE_NAME "guests.cpio"
/* On a disk for both architectures, whose applications are in one directory (3.5.1.1). */
#define ARCHIVE_NAME_ARCH "guests-" ARCH_NAME ".cpio"
#define CMDLINE_NAME	  "cupel.cmdline"
#define MAX_PATH	  512
#define INITRD_WORD	  "initrd="

/* The map may grow by what our own calls split; a second room is asked for when this was too little. */
#define MAP_SLACK     KIB(4)
#define MAP_ATTEMPTS  8
#define EXIT_ATTEMPTS 8

static const EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
static const EFI_GUID file_system_guid = EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID;
static const EFI_GUID load_file2_guid = LOAD_FILE2_GUID;
static const EFI_GUID acpi_guid = ACPI_TABLE_GUID;
static const EFI_GUID acpi20_guid = ACPI_20_TABLE_GUID;
static const EFI_GUID fdt_guid = EFI_DTB_TABLE_GUID;

/* 10.3.5.3: the path that a boot loader offers the initial ramdisk under. */
static const struct {
	VENDOR_DEVICE_PATH vendor;
	EFI_DEVICE_PATH end;
} __packed initrd_path = {
	{ { MEDIA_DEVICE_PATH, MEDIA_VENDOR_DP, { sizeof(VENDOR_DEVICE_PATH), 0 } },
	  INITRD_MEDIA_GUID },
	{ END_DEVICE_PATH_TYPE, END_ENTIRE_DEVICE_PATH_SUBTYPE, { sizeof(EFI_DEVICE_PATH), 0 } },
};

_Static_assert(sizeof(CHAR16) == 2, "-fshort-wchar");

/* All that outlives boot services beside the archive and the map. */
struct kept {
	struct efi_info info;
	char cmdline[CMDLINE_MAX];
};

/* The volume that the image came from, and its directory there. */
struct place {
	EFI_FILE_HANDLE root; /* NULL: none */
	CHAR16 directory[MAX_PATH]; /* empty, or ends in a backslash */
};

static EFI_BOOT_SERVICES *services(const struct efi_stub *s)
{
	return ((EFI_SYSTEM_TABLE *)s->table)->BootServices;
}

/* --- Console and memory ------------------------------------------------------------------------- */

static void say(const struct efi_stub *s, const char *text)
{
	SIMPLE_TEXT_OUTPUT_INTERFACE *out = ((EFI_SYSTEM_TABLE *)s->table)->ConOut;
	CHAR16 one[2] = { 0, 0 };

	for (; out && *text; text++) {
		one[0] = (CHAR16)*text;
		out->OutputString(out, one);
	}
}

u64 efi_stub_fail(const struct efi_stub *s, u64 status, const char *text, const char *detail)
{
	say(s, "Cupel: ");
	say(s, text);
	say(s, detail);
	say(s, "\r\n");
	return status;
}

/* Of 0 bytes, and of what only a liar has: more than there can be. */
static u64 pages(u64 size)
{
	return (size - 1) / PAGE_SIZE + 1;
}

void *efi_stub_alloc(const struct efi_stub *s, u64 size)
{
	EFI_PHYSICAL_ADDRESS at = s->highest;

	if (services(s)->AllocatePages(AllocateMaxAddress, EfiLoaderData, pages(size), &at))
		return NULL;
	return (void *)at;
}

static void give_back(const struct efi_stub *s, void *at, u64 size)
{
	if (at)
		services(s)->FreePages((EFI_PHYSICAL_ADDRESS)at, pages(size));
}

void efi_stub_release(struct efi_stub *s)
{
	if (!s->info)
		return;
	give_back(s, (void *)s->info->archive, s->info->archive_size);
	give_back(s, s->map, s->map_room);
	give_back(s, s->info, sizeof(struct kept));
	s->info = NULL;
	s->map = NULL;
	s->map_room = 0;
}

static void *protocol(const struct efi_stub *s, EFI_HANDLE handle, const EFI_GUID *guid)
{
	VOID *interface;

	if (!handle || services(s)->HandleProtocol(handle, (EFI_GUID *)guid, &interface))
		return NULL;
	return interface;
}

/* --- Files -------------------------------------------------------------------------------------- */

/* Paths of a device path are not aligned (10.3.1). */
static u32 append_node(CHAR16 *out, u32 n, const EFI_DEVICE_PATH *node)
{
	const u8 *in = (const u8 *)(node + 1);

	for (u32 left = (u32)DevicePathNodeLength(node) - (u32)sizeof(*node); left > 1;
	     left -= 2, in += 2) {
		CHAR16 c = (CHAR16)(in[0] | in[1] << 8);

		if (!c || n == MAX_PATH - 1)
			break;
		out[n++] = c;
	}
	return n;
}

/* False when it is too long: half a path would be another one. */
static bool find_directory(const EFI_DEVICE_PATH *node, CHAR16 *out)
{
	u32 n = 0;

	for (; node && !IsDevicePathEndType(node); node = NextDevicePathNode(node)) {
		if ((size_t)DevicePathNodeLength(node) < sizeof(*node))
			break;
		if (DevicePathType(node) == MEDIA_DEVICE_PATH &&
		    DevicePathSubType(node) == MEDIA_FILEPATH_DP)
			n = append_node(out, n, node);
	}
	if (n == MAX_PATH - 1)
		return false;
	while (n && out[n - 1] != '\\')
		n--;
	out[n] = 0;
	return true;
}

static void find_place(const struct efi_stub *s, const EFI_LOADED_IMAGE *image, struct place *place)
{
	EFI_FILE_IO_INTERFACE *volume = protocol(s, image->DeviceHandle, &file_system_guid);

	place->root = NULL;
	if (!find_directory(image->FilePath, place->directory))
		efi_stub_fail(s, 0, "the image's path is too long: its volume is not used", "");
	else if (volume && volume->OpenVolume(volume, &place->root))
		place->root = NULL;
}

/* The file of that name beside the image, or from the root of its volume when it begins with a slash. */
static EFI_FILE_HANDLE open_file(const struct place *place, const char *name)
{
	CHAR16 path[2 * MAX_PATH]; /* `name` is shorter than MAX_PATH, too */
	EFI_FILE_HANDLE file;
	u32 n = 0;

	if (!place->root)
		return NULL;
	for (; place->directory[n] && *name != '/' && *name != '\\'; n++)
		path[n] = place->directory[n];
	for (; *name; name++)
		path[n++] = *name == '/' ? '\\' : (CHAR16)*name;
	path[n] = 0;
	return place->root->Open(place->root, &file, path, EFI_FILE_MODE_READ, 0) ? NULL : file;
}

/* 13.5: the position beyond all positions is the end of the file, and a directory has none. */
static bool file_size(EFI_FILE_HANDLE file, u64 *size)
{
	return !file->SetPosition(file, ~0UL) && !file->GetPosition(file, size) &&
	       !file->SetPosition(file, 0);
}

static bool read_file(EFI_FILE_HANDLE file, void *to, u64 size)
{
	for (UINTN part = size; size; part = size) {
		if (file->Read(file, &part, to) || !part || part > size)
			return false;
		to = (char *)to + part;
		size -= part;
	}
	return true;
}

/* --- Command line ------------------------------------------------------------------------------- */

/* A control character separates words; what is not a character makes the whole no command line. */
static bool to_line(char *to, u32 c)
{
	*to = c < ' ' ? ' ' : (char)c;
	return c < 0x7f;
}

static u64 options_to_line(const struct efi_stub *s, const EFI_LOADED_IMAGE *image, char *line)
{
	const CHAR16 *in = image->LoadOptions;
	u32 n = in ? image->LoadOptionsSize / (u32)sizeof(*in) : 0;

	for (u32 i = 0; i < n && in[i]; i++) {
		if (i == CMDLINE_MAX - 1)
			return efi_stub_fail(s, EFI_INVALID_PARAMETER,
					     "the load options are too long", "");
		if (!to_line(&line[i], in[i])) {
			line[0] = 0;
			efi_stub_fail(s, 0, "the load options are no text and not used", "");
			return 0;
		}
		line[i + 1] = 0;
	}
	return 0;
}

static u64 file_to_line(const struct efi_stub *s, const struct place *place, char *line)
{
	EFI_FILE_HANDLE file = open_file(place, CMDLINE_NAME);
	u64 size;
	bool good;

	if (!file)
		return 0;
	good = file_size(file, &size) && size < CMDLINE_MAX && read_file(file, line, size);
	for (u64 i = 0; good && i < size; i++)
		good = to_line(&line[i], (u8)line[i]);
	line[good ? size : 0] = 0;
	file->Close(file);
	return good ? 0 :
		      efi_stub_fail(s, EFI_LOAD_ERROR, CMDLINE_NAME,
				    " is too long, no text, or can't be read");
}

/* A shell and GRUB put the image's name first: a path, or BOOT_IMAGE=path. */
static char *skip_image_name(char *line)
{
	char *end = line, *equals = NULL;
	bool path = false;

	for (; *end && *end != ' '; end++) {
		if (*end == '=')
			equals = end;
		path |= *end == '\\' || *end == '/' || !strncmp(end, ".efi", 4) ||
			!strncmp(end, ".EFI", 4);
	}
	if (!path || (equals && strncmp(line, "BOOT_IMAGE=", 11)))
		return line;
	while (*end == ' ')
		end++;
	return end;
}

static u64 read_cmdline(const struct efi_stub *s, const EFI_LOADED_IMAGE *image,
			const struct place *place)
{
	struct kept *kept = (struct kept *)s->info;
	char *line = kept->cmdline;
	u64 status;

	line[0] = 0;
	status = options_to_line(s, image, line);
	line = skip_image_name(line);
	if (!status && !*line) {
		line = kept->cmdline;
		line[0] = 0; /* the image's name was all there was */
		status = file_to_line(s, place, line);
	}
	s->info->cmdline = (paddr_t)line;
	return status;
}

/* --- Archive ------------------------------------------------------------------------------------ */

static void set_archive(const struct efi_stub *s, void *at, u64 size)
{
	s->info->archive = (paddr_t)at;
	s->info->archive_size = size;
}

#define NO_MEMORY  "no memory for the archive: "
#define EMPTY	   "the archive is empty: "
#define UNREADABLE "can't read the archive: "

/* 13.2: the size is asked for with no buffer. A boot loader that offers nothing is no failure. */
static u64 load_initrd(const struct efi_stub *s)
{
	const char *initrd = "the boot loader's initrd";
	EFI_DEVICE_PATH *path = (EFI_DEVICE_PATH *)&initrd_path;
	EFI_LOAD_FILE_PROTOCOL *loader;
	EFI_HANDLE handle;
	UINTN size = 0, wanted;
	u64 status;
	void *at;

	if (services(s)->LocateDevicePath((EFI_GUID *)&load_file2_guid, &path, &handle))
		return 0;
	loader = protocol(s, handle, &load_file2_guid);
	if (!loader || loader->LoadFile(loader, path, FALSE, &size, NULL) != EFI_BUFFER_TOO_SMALL)
		return 0;
	at = size ? efi_stub_alloc(s, size) : NULL;
	if (!at)
		return efi_stub_fail(s, EFI_OUT_OF_RESOURCES, size ? NO_MEMORY : EMPTY, initrd);
	wanted = size;
	status = loader->LoadFile(loader, path, FALSE, &size, at);
	if (!status && size == wanted) {
		set_archive(s, at, size);
		return 0;
	}
	give_back(s, at, wanted);
	return efi_stub_fail(s, EFI_LOAD_ERROR, UNREADABLE, initrd);
}

static u64 load_file(const struct efi_stub *s, const struct place *place, const char *name, bool named)
{
	EFI_FILE_HANDLE file = open_file(place, name);
	const char *why = NULL;
	void *at = NULL;
	u64 size = 0;

	if (!file)
		return named ? efi_stub_fail(s, EFI_NOT_FOUND, "there is no archive ", name) : 0;
	if (!file_size(file, &size))
		why = "the archive is no file: ";
	else if (!size)
		why = EMPTY;
	else
		at = efi_stub_alloc(s, size);
	if (at && !read_file(file, at, size))
		why = UNREADABLE;
	else if (!at && !why)
		why = NO_MEMORY;
	file->Close(file);
	if (!why) {
		set_archive(s, at, size);
		return 0;
	}
	give_back(s, at, size);
	return efi_stub_fail(s, EFI_LOAD_ERROR, why, name);
}

/*
 * The next word of *line into `word`, as much of it as there is room for, without the quotes that group it
 * (cupel/config.h). Returns its whole length, 0 at the end.
 */
static u32 next_word(const char **line, char *word, u32 room)
{
	const char *p = *line;
	bool quoted = false;
	u32 n = 0;

	while (*p == ' ')
		p++;
	for (; *p && (quoted || *p != ' '); p++) {
		if (*p == '"')
			quoted = !quoted;
		else if (++n < room)
			word[n - 1] = *p;
	}
	word[min(n, room - 1)] = 0;
	*line = p;
	return n;
}

static u64 read_archive(const struct efi_stub *s, const struct place *place)
{
	const u32 key = sizeof(INITRD_WORD) - 1;
	const char *line = (const char *)s->info->cmdline;
	char word[sizeof(INITRD_WORD) - 1 + MAX_PATH];
	u64 status = load_initrd(s);

	if (status || s->info->archive)
		return status;
	while (*line) {
		u32 n = next_word(&line, word, sizeof(word));

		if (strncmp(word, INITRD_WORD, key))
			continue;
		if (n == key || n >= sizeof(word))
			return efi_stub_fail(s, EFI_INVALID_PARAMETER,
					     INITRD_WORD " has no value, or too long a one", "");
		return load_file(s, place, word + key, true);
	}
	status = load_file(s, place, ARCHIVE_NAME_ARCH, false);
	if (status || s->info->archive)
		return status;
	return load_file(s, place, ARCHIVE_NAME, false);
}

/* --- Tables and the memory map ------------------------------------------------------------------ */

/* 4.6.1; ACPI 2.0's pointer is better than ACPI 1.0's. */
static void read_tables(const struct efi_stub *s)
{
	const EFI_SYSTEM_TABLE *table = s->table;
	paddr_t acpi10 = 0;

	for (UINTN i = 0; i < table->NumberOfTableEntries; i++) {
		const EFI_CONFIGURATION_TABLE *t = &table->ConfigurationTable[i];

		if (!memcmp(&t->VendorGuid, &acpi20_guid, sizeof(acpi20_guid)))
			s->info->rsdp = (paddr_t)t->VendorTable;
		else if (!memcmp(&t->VendorGuid, &acpi_guid, sizeof(acpi_guid)))
			acpi10 = (paddr_t)t->VendorTable;
		else if (!memcmp(&t->VendorGuid, &fdt_guid, sizeof(fdt_guid)))
			s->info->fdt = (paddr_t)t->VendorTable;
	}
	if (!s->info->rsdp)
		s->info->rsdp = acpi10;
	s->info->system_table = (paddr_t)table;
}

/*
 * With the key that ExitBootServices wants; a map that outgrew its room gets another. Sizes that can't be
 * would have whoever walks the map walk for ever, or out of it.
 */
static u64 get_map(struct efi_stub *s, UINTN *key)
{
	UINTN size = 0, desc_size = 0;
	u64 status = EFI_BUFFER_TOO_SMALL;
	UINT32 version;

	for (u32 i = 0; i < MAP_ATTEMPTS && status == EFI_BUFFER_TOO_SMALL; i++) {
		if (i) {
			give_back(s, s->map, s->map_room);
			s->map_room = size + MAP_SLACK;
			s->map = efi_stub_alloc(s, s->map_room);
			if (!s->map)
				return EFI_OUT_OF_RESOURCES;
		}
		size = s->map_room;
		status = services(s)->GetMemoryMap(&size, s->map, key, &desc_size, &version);
	}
	if (!status && (desc_size < sizeof(EFI_MEMORY_DESCRIPTOR) || size > s->map_room))
		return EFI_LOAD_ERROR;
	s->info->memmap = (paddr_t)s->map;
	s->info->memmap_size = size;
	s->info->desc_size = desc_size;
	return status;
}

bool efi_stub_is_free(struct efi_stub *s, paddr_t base, u64 size)
{
	u64 covered = 0;
	UINTN key;

	if (get_map(s, &key))
		return false;
	for (u64 at = 0; at + sizeof(EFI_MEMORY_DESCRIPTOR) <= s->info->memmap_size;
	     at += s->info->desc_size) {
		const EFI_MEMORY_DESCRIPTOR *d = (const void *)(s->info->memmap + at);
		u64 end = d->PhysicalStart + d->NumberOfPages * PAGE_SIZE;
		bool nobodys = d->Type == EfiConventionalMemory || d->Type == EfiBootServicesCode ||
			       d->Type == EfiBootServicesData;

		if (nobodys && d->PhysicalStart < base + size && end > base)
			covered += min(end, base + size) - max((u64)d->PhysicalStart, base);
	}
	return covered == size;
}

u64 efi_stub_collect(struct efi_stub *s)
{
	EFI_LOADED_IMAGE *image = protocol(s, s->image, &loaded_image_guid);
	struct place place;
	UINTN key;
	u64 status;

	if (!image)
		return efi_stub_fail(s, EFI_UNSUPPORTED,
				     "firmware does not say how it loaded the image", "");
	s->info = efi_stub_alloc(s, sizeof(struct kept));
	if (!s->info)
		return efi_stub_fail(s, EFI_OUT_OF_RESOURCES, "no memory where it is needed", "");
	memset(s->info, 0, sizeof(*s->info));
	s->info->magic = EFI_INFO_MAGIC;
	s->info->boot_counter = s->counter;
	find_place(s, image, &place);
	status = read_cmdline(s, image, &place);
	if (!status)
		status = read_archive(s, &place);
	if (place.root)
		place.root->Close(place.root);
	if (status)
		return status;
	read_tables(s);
	status = get_map(s, &key);
	return status ? efi_stub_fail(s, status, "firmware gives no memory map", "") : 0;
}

/*
 * 7.4.6: when it fails the map has changed, and from then on only memory services may be called. The console
 * may be gone: that the machine was not let go of is then said by whoever gets the status.
 */
u64 efi_stub_exit(struct efi_stub *s)
{
	u64 status = EFI_ABORTED;
	bool leaving = false;
	UINTN key;

	for (u32 i = 0; i < EXIT_ATTEMPTS && status; i++) {
		status = get_map(s, &key);
		if (!status) {
			leaving = true;
			status = services(s)->ExitBootServices(s->image, key);
		}
	}
	if (status && !leaving)
		efi_stub_fail(s, status, "firmware gives no memory map", "");
	return status;
}
