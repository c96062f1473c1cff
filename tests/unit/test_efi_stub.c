/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The EFI application against a firmware made for the occasion: one volume, perhaps an initrd of the boot
 * loader's, and a memory map that changes when it is least wanted.
 */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#include <cupel/arch.h>
#include <efi.h>

#include "../../drivers/firmware/efi.h"

#define DESC_SIZE 48
#define MAX_PAGES 4096

static struct firmware {
	EFI_SYSTEM_TABLE table;
	EFI_BOOT_SERVICES services;
	SIMPLE_TEXT_OUTPUT_INTERFACE out;
	EFI_LOADED_IMAGE image;
	EFI_FILE_IO_INTERFACE volume;
	EFI_LOAD_FILE_PROTOCOL loader;
	EFI_CONFIGURATION_TABLE tables[4];
	struct {
		struct _EFI_FILE_HANDLE file;
		const char *path, *data;
		size_t size, at;
		bool open, broken, directory;
	} files[4], root;
	const char *initrd; /* of the boot loader; NULL = none */
	EFI_MEMORY_DESCRIPTOR map[64];
	u32 nr_map, stale; /* how often ExitBootServices finds the map changed */
	u32 grows; /* by how many descriptors each time */
	u64 key, desc_size;
	u64 initrd_size, initrd_read; /* what the loader says; 0 = the truth */
	bool lies, never_enough; /* about the map's size */
	bool exited, exit_tried, misused;
	char said[1024];
} fw;

static u8 pool[MAX_PAGES * 4096] __aligned(4096);
static u64 pool_used;
static u64 pages_out; /* given out, and not yet back */
static u8 file_path[2048];
static CHAR16 options[CMDLINE_MAX + 8];
static struct efi_stub s;

/* 7.4.6: once ExitBootServices was called only memory services may be. */
static void only_before_exit(void)
{
	fw.misused |= fw.exited || fw.exit_tried;
}

static EFI_STATUS EFIAPI output(SIMPLE_TEXT_OUTPUT_INTERFACE *this, CHAR16 *text)
{
	size_t n = strlen(fw.said);

	only_before_exit();

	for (; *text; text++)
		fw.said[n++] = (char)*text;
	return EFI_SUCCESS;
}

static EFI_STATUS EFIAPI allocate(EFI_ALLOCATE_TYPE type, EFI_MEMORY_TYPE kind, UINTN pages,
				  EFI_PHYSICAL_ADDRESS *at)
{
	assert_int_equal(type, AllocateMaxAddress);
	assert_int_equal(kind, EfiLoaderData);
	fw.misused |= fw.exited;
	if (!pages || pages > MAX_PAGES || pool_used + pages * 4096 > sizeof(pool) || *at < (u64)pool)
		return EFI_OUT_OF_RESOURCES;
	*at = (u64)pool + pool_used;
	memset(pool + pool_used, 0xa5, pages * 4096);
	pool_used += pages * 4096;
	pages_out += pages;
	return EFI_SUCCESS;
}

/* What was given back can't be read by mistake. */
static EFI_STATUS EFIAPI free_pages(EFI_PHYSICAL_ADDRESS at, UINTN pages)
{
	fw.misused |= fw.exited;
	assert_true(at >= (u64)pool && at + pages * 4096 <= (u64)pool + pool_used);
	memset((void *)at, 0x5a, pages * 4096);
	pages_out -= pages;
	return EFI_SUCCESS;
}

static EFI_STATUS EFIAPI get_map(UINTN *size, EFI_MEMORY_DESCRIPTOR *map, UINTN *key,
				 UINTN *desc_size, UINT32 *version)
{
	u64 need = fw.nr_map * DESC_SIZE;

	fw.misused |= fw.exited;
	if (*size < need || fw.never_enough) {
		*size = fw.never_enough ? ~0UL : need;
		return EFI_BUFFER_TOO_SMALL;
	}
	for (u32 i = 0; i < fw.nr_map; i++)
		memcpy((char *)map + i * DESC_SIZE, &fw.map[i], sizeof(fw.map[i]));
	*size = need;
	*key = fw.key;
	*desc_size = fw.desc_size;
	if (fw.lies)
		*size += 1 << 20;
	return EFI_SUCCESS;
}

static EFI_STATUS EFIAPI exit_services(EFI_HANDLE handle, UINTN key)
{
	assert_ptr_equal(handle, &fw.image);
	fw.exit_tried = true;
	if (fw.stale) {
		fw.stale--;
		fw.key++;
		fw.nr_map += fw.grows;
	}
	if (key != fw.key)
		return EFI_INVALID_PARAMETER;
	fw.exited = true;
	return EFI_SUCCESS;
}

static EFI_STATUS EFIAPI handle_protocol(EFI_HANDLE handle, EFI_GUID *guid, VOID **interface)
{
	static const EFI_GUID image = EFI_LOADED_IMAGE_PROTOCOL_GUID;
	static const EFI_GUID volume = EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID;

	only_before_exit();
	*interface = NULL;
	if (handle == &fw.image && !memcmp(guid, &image, sizeof(image)))
		*interface = &fw.image;
	else if (handle == &fw.volume && !memcmp(guid, &volume, sizeof(volume)))
		*interface = &fw.volume;
	else if (handle == &fw.loader)
		*interface = &fw.loader;
	return *interface ? EFI_SUCCESS : EFI_UNSUPPORTED;
}

/* What Linux's documentation says the path looks like, byte for byte. */
static EFI_STATUS EFIAPI locate(EFI_GUID *guid, EFI_DEVICE_PATH **path, EFI_HANDLE *handle)
{
	static const u8 wanted[] = { 4,	   3,	 20,   0,    0x27, 0xe4, 0x68, 0x55,
				     0xfc, 0x68, 0x3d, 0x4f, 0xac, 0x74, 0xca, 0x55,
				     0x52, 0x31, 0xcc, 0x68, 0x7f, 0xff, 4,    0 };
	static const u8 load_file2[] = { 0xc1, 0xc0, 0x06, 0x40, 0xb3, 0xfc, 0x3e, 0x40,
					 0x99, 0x6d, 0x4a, 0x6c, 0x87, 0x24, 0xe0, 0x6d };

	only_before_exit();
	assert_memory_equal(*path, wanted, sizeof(wanted));
	assert_memory_equal(guid, load_file2, sizeof(load_file2));
	if (!fw.initrd)
		return EFI_NOT_FOUND;
	*path = (EFI_DEVICE_PATH *)((u8 *)*path + 20);
	*handle = &fw.loader;
	return EFI_SUCCESS;
}

static EFI_STATUS EFIAPI load_file(EFI_LOAD_FILE_PROTOCOL *this, EFI_DEVICE_PATH *path,
				   BOOLEAN policy, UINTN *size, VOID *to)
{
	size_t need = strlen(fw.initrd);

	only_before_exit();
	assert_int_equal(path->Type, 0x7f);
	assert_false(policy);
	if (!to || *size < need) {
		*size = fw.initrd_size ? fw.initrd_size : need;
		return EFI_BUFFER_TOO_SMALL;
	}
	memcpy(to, fw.initrd, need);
	*size = fw.initrd_read ? fw.initrd_read : need;
	return EFI_SUCCESS;
}

/* --- The volume ------------------------------------------------------------------------------- */

static EFI_STATUS EFIAPI open_volume(EFI_FILE_IO_INTERFACE *this, EFI_FILE_HANDLE *root)
{
	*root = &fw.root.file;
	fw.root.open = true;
	return EFI_SUCCESS;
}

static EFI_STATUS EFIAPI open_file(EFI_FILE_HANDLE dir, EFI_FILE_HANDLE *file, CHAR16 *name,
				   UINT64 mode, UINT64 attributes)
{
	char path[1024];
	u32 n = 0;

	only_before_exit();
	for (; name[n]; n++)
		path[n] = (char)name[n];
	path[n] = 0;
	for (u32 i = 0; i < ARRAY_SIZE(fw.files); i++) {
		if (!fw.files[i].path || strcmp(fw.files[i].path, path))
			continue;
		fw.files[i].open = true;
		*file = &fw.files[i].file;
		return EFI_SUCCESS;
	}
	return EFI_NOT_FOUND;
}

#define FILE_OF(handle) container_of(handle, typeof(fw.root), file)

static EFI_STATUS EFIAPI close_file(EFI_FILE_HANDLE file)
{
	FILE_OF(file)->open = false;
	return EFI_SUCCESS;
}

/* A piece at a time, as a driver may. */
static EFI_STATUS EFIAPI read_file(EFI_FILE_HANDLE file, UINTN *size, VOID *to)
{
	typeof(fw.root) *f = FILE_OF(file);
	size_t left = min(f->size - f->at, (size_t)*size), n = left < 5 ? left : 5;

	if (f->broken)
		return EFI_DEVICE_ERROR;
	memcpy(to, f->data + f->at, n);
	f->at += n;
	*size = n;
	return EFI_SUCCESS;
}

static EFI_STATUS EFIAPI set_position(EFI_FILE_HANDLE file, UINT64 at)
{
	if (FILE_OF(file)->directory && at)
		return EFI_UNSUPPORTED;
	FILE_OF(file)->at = at == ~0UL ? FILE_OF(file)->size : at;
	return EFI_SUCCESS;
}

static EFI_STATUS EFIAPI get_position(EFI_FILE_HANDLE file, UINT64 *at)
{
	*at = FILE_OF(file)->at;
	return EFI_SUCCESS;
}

static void put_file(u32 i, const char *path, const char *data)
{
	fw.files[i].file = (struct _EFI_FILE_HANDLE){ .Close = close_file,
						      .Read = read_file,
						      .SetPosition = set_position,
						      .GetPosition = get_position };
	fw.files[i].path = path;
	fw.files[i].data = data;
	fw.files[i].size = strlen(data);
}

static void set_options(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i <= n; i++)
		options[i] = (CHAR16)text[i];
	fw.image.LoadOptions = options;
	fw.image.LoadOptionsSize = (UINT32)(n + 1) * 2;
}

/* One node of a device path, at an odd place as it may be. */
static u8 *path_node(u8 *at, u8 type, u8 subtype, const char *text)
{
	size_t n = text ? 2 * (strlen(text) + 1) : 0;

	at[0] = type;
	at[1] = subtype;
	at[2] = (u8)(n + 4);
	at[3] = (u8)((n + 4) >> 8);
	for (size_t i = 0; i < n; i++)
		at[4 + i] = i % 2 ? 0 : (u8)text[i / 2];
	return at + 4 + n;
}

static void set_path(const char *first, const char *second)
{
	u8 *at = path_node(file_path + 1, 4, 4, first);

	if (second)
		at = path_node(at, 4, 4, second);
	path_node(at, 0x7f, 0xff, NULL);
	fw.image.FilePath = (EFI_DEVICE_PATH *)(file_path + 1);
}

static void add_range(u32 type, u64 start, u64 pages)
{
	fw.map[fw.nr_map++] = (EFI_MEMORY_DESCRIPTOR){
		.Type = type, .PhysicalStart = start, .NumberOfPages = pages, .Attribute = 0xf
	};
}

static void start(const char *words)
{
	memset(&fw, 0, sizeof(fw));
	pool_used = 0;
	pages_out = 0;
	fw.desc_size = DESC_SIZE;
	fw.services = (EFI_BOOT_SERVICES){
		.AllocatePages = allocate,
		.FreePages = free_pages,
		.GetMemoryMap = get_map,
		.ExitBootServices = exit_services,
		.HandleProtocol = handle_protocol,
		.LocateDevicePath = locate,
	};
	fw.out.OutputString = output;
	fw.table = (EFI_SYSTEM_TABLE){ .BootServices = &fw.services,
				       .ConOut = &fw.out,
				       .ConfigurationTable = fw.tables };
	fw.image.DeviceHandle = &fw.volume;
	fw.volume.OpenVolume = open_volume;
	fw.loader.LoadFile = load_file;
	fw.root.file.Open = open_file;
	fw.root.file.Close = close_file;
	set_path("\\EFI\\BOOT\\BOOT.EFI", NULL);
	set_options(words);
	add_range(EfiConventionalMemory, 0x100000, 0x1000);
	s = (struct efi_stub){ .image = &fw.image, .table = &fw.table, .highest = ~0UL, .counter = 77 };
}

static const char *cmdline(void)
{
	assert_int_equal(efi_stub_collect(&s), 0);
	return (const char *)s.info->cmdline;
}

static void archive_is(const char *data)
{
	assert_int_equal(efi_stub_collect(&s), 0);
	assert_int_equal(s.info->archive_size, data ? strlen(data) : 0);
	if (data)
		assert_memory_equal((void *)s.info->archive, data, strlen(data));
	for (u32 i = 0; i < ARRAY_SIZE(fw.files); i++)
		assert_false(fw.files[i].open);
	assert_false(fw.root.open);
}

/* It ends with an error, and with one line that says so; firmware has its memory and its files again. */
static void fails_with(const char *part)
{
	assert_true(efi_stub_collect(&s) & EFI_ERROR_MASK);
	efi_stub_release(&s);
	assert_int_equal(pages_out, 0);
	assert_false(fw.root.open);
	for (u32 i = 0; i < ARRAY_SIZE(fw.files); i++)
		assert_false(fw.files[i].open);
	assert_memory_equal(fw.said, "Cupel: ", 7);
	assert_non_null(strstr(fw.said, part));
	assert_ptr_equal(strchr(fw.said, '\n'), fw.said + strlen(fw.said) - 1);
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void words(void **state)
{
	static const struct {
		const char *options, *line;
	} cases[] = {
		{ "vm=hello x", "vm=hello x" },
		{ "cupel.efi vm=hello", "vm=hello" },
		{ "FS0:\\x\\CUPEL.EFI   vm=hello", "vm=hello" },
		{ "BOOT_IMAGE=/boot/cupel.bin vm=hello", "vm=hello" },
		{ "initrd=a/b.cpio.efi vm", "initrd=a/b.cpio.efi vm" },
		{ "cupel.efi", "" },
		{ "vm=a\tb\r\n", "vm=a b  " },
		{ "", "" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		start(cases[i].options);
		if (strstr(cases[i].options, "initrd"))
			put_file(0, "\\EFI\\BOOT\\a\\b.cpio.efi", "x");
		assert_string_equal(cmdline(), cases[i].line);
		assert_string_equal(fw.said, "");
	}
	assert_int_equal(s.info->magic, EFI_INFO_MAGIC);
	assert_int_equal(s.info->boot_counter, 77);
}

static void options_of_another_kind(void **state)
{
	start("vm=hello");
	options[3] = 0x8000;
	assert_string_equal(cmdline(), "");
	assert_non_null(strstr(fw.said, "no text"));
	start("vm=hello");
	fw.image.LoadOptionsSize = 5 * 2 + 1; /* no NUL at its end */
	assert_string_equal(cmdline(), "vm=he");
	start("");
	fw.image.LoadOptions = NULL;
	fw.image.LoadOptionsSize = 100;
	assert_string_equal(cmdline(), "");
}

static void too_many_words(void **state)
{
	char text[CMDLINE_MAX + 1];

	memset(text, 'a', sizeof(text));
	text[CMDLINE_MAX - 1] = 0;
	start(text);
	assert_int_equal(strlen(cmdline()), CMDLINE_MAX - 1);
	text[CMDLINE_MAX - 1] = 'a';
	text[CMDLINE_MAX] = 0;
	start(text);
	fails_with("too long");
}

static void words_in_a_file(void **state)
{
	char text[CMDLINE_MAX + 1];

	start("cupel.efi");
	put_file(0, "\\EFI\\BOOT\\cupel.cmdline", "vm=hello\r\nx\n");
	assert_string_equal(cmdline(), "vm=hello  x ");
	start("vm=a"); /* what is said wins */
	put_file(0, "\\EFI\\BOOT\\cupel.cmdline", "vm=hello");
	assert_string_equal(cmdline(), "vm=a");
	start("");
	put_file(0, "\\EFI\\BOOT\\cupel.cmdline", "vm=\xc3\xa4");
	fails_with("cupel.cmdline");
	memset(text, 'a', CMDLINE_MAX);
	text[CMDLINE_MAX] = 0;
	start("");
	put_file(0, "\\EFI\\BOOT\\cupel.cmdline", text);
	fails_with("cupel.cmdline");
	start("");
	put_file(0, "\\EFI\\BOOT\\cupel.cmdline", "vm");
	fw.files[0].broken = true;
	fails_with("cupel.cmdline");
}

static void archive_of_the_loader(void **state)
{
	start("initrd=nothing");
	fw.initrd = "from the boot loader";
	put_file(0, "\\EFI\\BOOT\\guests.cpio", "from the volume");
	archive_is("from the boot loader");
}

static void loader_that_lies(void **state)
{
	static const u64 sizes[] = { ~0UL, ~0UL - 4095, 1UL << 63 };

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		start("");
		fw.initrd = "x";
		fw.initrd_size = sizes[i];
		fails_with("no memory");
	}
	start("");
	fw.initrd = "";
	fails_with("empty: the boot loader's initrd");
	start("");
	fw.initrd = "four";
	fw.initrd_read = 5000; /* more than it was given room for */
	fails_with("can't read the archive: the boot loader's initrd");
}

static void archive_by_a_quoted_name(void **state)
{
	static const char *const lines[] = { "vm=a initrd=\"my guests.cpio\" x",
					     "\"initrd=my guests.cpio\"",
					     "y=\"a initrd=b\" initrd=my\" \"guests.cpio" };

	for (u32 i = 0; i < ARRAY_SIZE(lines); i++) {
		start(lines[i]);
		put_file(0, "\\EFI\\BOOT\\my guests.cpio", "with a blank");
		archive_is("with a blank");
	}
	start("initrd=");
	fails_with("initrd= has no value");
	start("vm=a initrd=\"\"");
	fails_with("initrd= has no value");
}

static void paths_are_not_cut(void **state)
{
	char word[8 + 512] = "initrd=", path[1024];

	memset(word + 7, 'a', 512);
	word[7 + 511] = 0;
	start(word);
	strcpy(path, "\\EFI\\BOOT\\");
	strcat(path, word + 7);
	put_file(0, path, "a long one");
	archive_is("a long one");
	word[7 + 511] = 'a';
	start(word);
	put_file(0, path, "another file");
	fails_with("too long");
	memset(path, 'd', 600);
	path[0] = path[300] = '\\';
	path[600] = 0;
	start("");
	set_path(path, "\\X.EFI");
	path[301] = 0;
	strcat(path, "guests.cpio");
	put_file(0, path, "of another directory");
	archive_is(NULL);
	assert_non_null(strstr(fw.said, "path is too long"));
}

static void archive_by_name(void **state)
{
	start("vm=a initrd=/boot/my.cpio x");
	put_file(0, "\\boot\\my.cpio", "by its path");
	put_file(1, "\\EFI\\BOOT\\guests.cpio", "beside the image");
	archive_is("by its path");
	start("initrd=my.cpio");
	put_file(0, "\\EFI\\BOOT\\my.cpio", "by its name");
	archive_is("by its name");
	start("xinitrd=my.cpio");
	put_file(0, "\\EFI\\BOOT\\my.cpio", "by its name");
	archive_is(NULL);
	start("initrd=my.cpio");
	put_file(1, "\\EFI\\BOOT\\guests.cpio", "beside the image");
	fails_with("my.cpio");
}

static void archive_beside_the_image(void **state)
{
	start("");
	archive_is(NULL);
	assert_string_equal(fw.said, "");
	put_file(0, "\\EFI\\BOOT\\guests.cpio", "beside the image");
	start("");
	put_file(0, "\\EFI\\BOOT\\guests.cpio", "beside the image");
	archive_is("beside the image");
	start("");
	set_path("\\EFI\\", "BOOT\\X.EFI"); /* a path in two nodes is one path, 10.3.5.4 */
	put_file(0, "\\EFI\\BOOT\\guests.cpio", "beside the image");
	archive_is("beside the image");
	start("");
	set_path("X.EFI", NULL);
	put_file(0, "guests.cpio", "in the root");
	archive_is("in the root");
	start("");
	put_file(0, "\\EFI\\BOOT\\guests.cpio", "beside the image");
	fw.files[0].broken = true;
	fails_with("guests.cpio");
	start("");
	put_file(0, "\\EFI\\BOOT\\guests.cpio", "");
	fails_with("is empty: guests.cpio");
	start("");
	put_file(0, "\\EFI\\BOOT\\guests.cpio", "x");
	fw.files[0].directory = true;
	fails_with("is no file: guests.cpio");
}

/* From memory, as GRUB may load it: no volume, no path. */
/* Both architectures' applications may be in one directory. */
static void archive_of_the_architecture(void **state)
{
	start("");
	put_file(0, "\\EFI\\BOOT\\guests.cpio", "for whatever it is");
	put_file(1, "\\EFI\\BOOT\\guests-" ARCH_NAME ".cpio", "for this one");
	archive_is("for this one");
	start("");
	put_file(0, "\\EFI\\BOOT\\guests-other.cpio", "for another");
	archive_is(NULL);
}

static void no_volume(void **state)
{
	start("vm=a");
	fw.image.DeviceHandle = NULL;
	fw.image.FilePath = NULL;
	archive_is(NULL);
	start("initrd=x");
	fw.image.DeviceHandle = NULL;
	fails_with("x");
}

static void no_memory(void **state)
{
	start("");
	s.highest = 0xfff;
	fails_with("no memory");
	start("");
	put_file(0, "\\EFI\\BOOT\\guests.cpio", "x");
	fw.files[0].size = sizeof(pool);
	fails_with("no memory");
}

static void tables(void **state)
{
	start("");
	fw.tables[0] = (EFI_CONFIGURATION_TABLE){ ACPI_TABLE_GUID, (void *)0x1000 };
	fw.table.NumberOfTableEntries = 1;
	assert_int_equal(efi_stub_collect(&s), 0);
	assert_int_equal(s.info->rsdp, 0x1000);
	assert_int_equal(s.info->fdt, 0);
	fw.tables[1] = (EFI_CONFIGURATION_TABLE){ ACPI_20_TABLE_GUID, (void *)0x2000 };
	fw.tables[2] = (EFI_CONFIGURATION_TABLE){ EFI_DTB_TABLE_GUID, (void *)0x3000 };
	fw.tables[3] = fw.tables[0];
	fw.table.NumberOfTableEntries = 4;
	assert_int_equal(efi_stub_collect(&s), 0);
	assert_int_equal(s.info->rsdp, 0x2000);
	assert_int_equal(s.info->fdt, 0x3000);
	assert_int_equal(s.info->system_table, (u64)&fw.table);
}

static void leave(u32 stale, u32 grows)
{
	start("");
	assert_int_equal(efi_stub_collect(&s), 0);
	fw.stale = stale;
	fw.grows = grows;
	assert_int_equal(efi_stub_exit(&s), 0);
	assert_true(fw.exited);
	assert_false(fw.misused);
	assert_int_equal(s.info->memmap_size, fw.nr_map * DESC_SIZE);
	assert_int_equal(s.info->desc_size, DESC_SIZE);
	for (u32 i = 0; i < fw.nr_map; i++)
		assert_memory_equal((u8 *)s.info->memmap + i * DESC_SIZE, &fw.map[i],
				    sizeof(fw.map[i]));
}

static void the_map_may_change(void **state)
{
	leave(0, 0);
	leave(1, 1);
	leave(3, 20);
}

/* What is called then is memory services. */
static void firmware_that_never_lets_go(void **state)
{
	start("");
	put_file(0, "\\EFI\\BOOT\\guests.cpio", "beside the image");
	assert_int_equal(efi_stub_collect(&s), 0);
	fw.stale = 1000;
	fw.grows = 5;
	assert_true(efi_stub_exit(&s) & EFI_ERROR_MASK);
	efi_stub_release(&s);
	assert_int_equal(pages_out, 0);
	assert_false(fw.misused);
}

static void map_that_lies(void **state)
{
	static const u64 desc_sizes[] = { 0, 1, sizeof(EFI_MEMORY_DESCRIPTOR) - 1 };

	for (u32 i = 0; i < ARRAY_SIZE(desc_sizes); i++) {
		start("");
		assert_int_equal(efi_stub_collect(&s), 0);
		fw.desc_size = desc_sizes[i];
		assert_false(efi_stub_is_free(&s, 0x100000, 0x1000));
		assert_true(efi_stub_exit(&s) & EFI_ERROR_MASK);
		assert_non_null(strstr(fw.said, "no memory map"));
		start("");
		fw.desc_size = desc_sizes[i];
		fails_with("no memory map");
	}
	start("");
	fw.lies = true;
	fails_with("no memory map");
	start("");
	fw.never_enough = true;
	fails_with("no memory map");
}

static void free_ranges(void **state)
{
	start("");
	fw.nr_map = 0;
	add_range(EfiBootServicesData, 0x100000, 0x10);
	add_range(EfiConventionalMemory, 0x110000, 0x10);
	add_range(EfiLoaderData, 0x120000, 0x10);
	add_range(EfiConventionalMemory, 0x140000, 0x10);
	assert_int_equal(efi_stub_collect(&s), 0);
	assert_true(efi_stub_is_free(&s, 0x100000, 0x20000));
	assert_true(efi_stub_is_free(&s, 0x10f000, 0x2000));
	assert_false(efi_stub_is_free(&s, 0x100000, 0x20001)); /* ours, or firmware's */
	assert_false(efi_stub_is_free(&s, 0xff000, 0x2000)); /* nothing there */
	assert_false(efi_stub_is_free(&s, 0x130000, 0x20000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(options_of_another_kind),
		cmocka_unit_test(too_many_words),
		cmocka_unit_test(words_in_a_file),
		cmocka_unit_test(archive_of_the_loader),
		cmocka_unit_test(loader_that_lies),
		cmocka_unit_test(archive_by_name),
		cmocka_unit_test(archive_by_a_quoted_name),
		cmocka_unit_test(paths_are_not_cut),
		cmocka_unit_test(archive_beside_the_image),
		cmocka_unit_test(archive_of_the_architecture),
		cmocka_unit_test(no_volume),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(tables),
		cmocka_unit_test(the_map_may_change),
		cmocka_unit_test(firmware_that_never_lets_go),
		cmocka_unit_test(map_that_lies),
		cmocka_unit_test(free_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
