/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a guest begins: its image in place, and where a PC has its BIOS what its boot protocol promises:
 * PVH's start info, or Multiboot's information for an image that asks for it, and ACPI tables that list
 * the CPUs. Everything about the image is untrusted.
 *
 * PVH: xen/include/public/arch-x86/hvm/start_info.h. Multiboot 0.6.96. ACPI 6.5, chapter 5.
 */
#include <asm/virt.h>
#include <asm/vlapic.h>
#include <cupel/abi.h>
#include <cupel/errno.h>
#include <cupel/vm.h>
#include <string.h>

#define LOW_RAM_MAX   0xc0000000UL
#define HIGH_RAM_BASE 0x100000000UL
#define BASE_RAM_END  0xa0000 /* what follows, up to 1 MiB, guests leave alone */
#define BOOT_AREA     0xe0000
#define BOOT_AREA_END 0x100000
#define CMDLINE_AT    0x200 /* in the boot area; the tables come after it */
#define ACPI_AT	      0x400

#define PVH_MAGIC    0x336ec578
#define PVH_VERSION  1
#define MAP_RAM	     1
#define MAP_RESERVED 2
#define MAP_ACPI     3

struct pvh_start_info {
	u32 magic, version, flags, nr_modules;
	u64 modules, cmdline, rsdp, memmap;
	u32 memmap_entries, reserved;
};

struct pvh_map {
	u64 addr, size;
	u32 type, reserved;
};

struct pvh_area {
	struct pvh_start_info info;
	struct pvh_map map[5];
};

#define MB_MAGIC_HEADER 0x1badb002
#define MB_MAGIC_EAX	0x2badb002
#define MB_SEARCH	8192
#define MB_INFO_MEMORY	BIT32(0)
#define MB_INFO_CMDLINE BIT32(2)
#define MB_INFO_MAP	BIT32(6)

struct mb_info {
	u32 flags, mem_lower, mem_upper, boot_device, cmdline, mods_count, mods_addr;
	u32 syms[4];
	u32 mmap_length, mmap_addr;
	u32 rest[9];
};

struct mb_map {
	u32 size;
	u64 addr, len;
	u32 type;
} __packed;

struct mb_area {
	struct mb_info info;
	struct mb_map map[4];
};

struct boot_area {
	u8 *va;
	u64 low; /* end of RAM below 4 GiB */
	u64 high; /* bytes of RAM above */
};

static bool is_multiboot(const void *image, u64 size)
{
	u64 end = min(size, (u64)MB_SEARCH);
	u32 h[3];

	for (u64 at = 0; at + sizeof(h) <= end; at += 4) {
		memcpy(h, (const u8 *)image + at, sizeof(h));
		if (h[0] == MB_MAGIC_HEADER && !(h[0] + h[1] + h[2]))
			return true;
	}
	return false;
}

/* --- ACPI --------------------------------------------------------------------------------------- */

struct acpi_header {
	char signature[4];
	u32 length;
	u8 revision, checksum;
	char oem[6], oem_table[8];
	u32 oem_revision;
	char creator[4];
	u32 creator_revision;
} __packed;

struct acpi_rsdp {
	char signature[8];
	u8 checksum;
	char oem[6];
	u8 revision;
	u32 rsdt, length;
	u64 xsdt;
	u8 checksum2, reserved[3];
} __packed;

#define FADT_LENGTH	   276 /* revision 6 */
#define FADT_MINOR_AT	   131
#define FADT_FLAGS_AT	   112
#define FADT_XDSDT_AT	   140
#define FADT_HW_REDUCED	   BIT32(20)
#define MADT_XAPIC_LENGTH  8
#define MADT_X2APIC_LENGTH 16

struct madt_x2apic {
	u8 type, length;
	u16 reserved;
	u32 id, flags, uid;
} __packed;

static void set_checksum(void *table, u32 length, u8 *field)
{
	const u8 *p = table;
	u8 sum = 0;

	*field = 0;
	for (u32 n = 0; n < length; n++)
		sum += p[n];
	*field = -sum;
}

static struct acpi_header *new_table(u8 *at, const char *signature, u8 revision)
{
	struct acpi_header *h = (void *)at;

	memcpy(h->signature, signature, 4);
	h->length = sizeof(*h);
	h->revision = revision;
	memcpy(h->oem, "CUPEL ", 6);
	memcpy(h->oem_table, "CUPELVM ", 8);
	h->oem_revision = 1;
	memcpy(h->creator, "CPEL", 4);
	h->creator_revision = 1;
	return h;
}

static void append(struct acpi_header *h, const void *data, u32 size)
{
	memcpy((u8 *)h + h->length, data, size);
	h->length += size;
}

/* Returns where the next table may go. */
static u8 *close_table(struct acpi_header *h)
{
	set_checksum(h, h->length, &h->checksum);
	return (u8 *)h + ALIGN_UP(h->length, 64);
}

/* Local APICs up to id 254 in the short form, the rest as x2APICs. */
static u8 *make_madt(u8 *at, u32 vcpus)
{
	struct acpi_header *h = new_table(at, "APIC", 5);
	u32 head[2] = { VLAPIC_PAGE, 0 }; /* no 8259s */

	append(h, head, sizeof(head));
	for (u32 id = 0; id < vcpus; id++) {
		struct madt_x2apic x2 = { 9, MADT_X2APIC_LENGTH, 0, id, 1, id };
		u8 x[MADT_XAPIC_LENGTH] = { 0, MADT_XAPIC_LENGTH, id, id, 1 };

		if (id <= XAPIC_MAX_ID)
			append(h, x, sizeof(x));
		else
			append(h, &x2, sizeof(x2));
	}
	return close_table(h);
}

/* Hardware-reduced: there is no chipset. The DSDT it points to is empty. */
static u8 *make_fadt(u8 *at, gpaddr_t dsdt)
{
	struct acpi_header *h = new_table(at, "FACP", 6);
	u32 flags = FADT_HW_REDUCED;

	h->length = FADT_LENGTH;
	memcpy(at + FADT_FLAGS_AT, &flags, sizeof(flags));
	at[FADT_MINOR_AT] = 5;
	memcpy(at + FADT_XDSDT_AT, &dsdt, sizeof(dsdt));
	return close_table(h);
}

static gpaddr_t guest_address(const struct boot_area *b, const u8 *va)
{
	return BOOT_AREA + (u64)(va - b->va);
}

/* RSDP, XSDT, DSDT, FADT, MADT one after another; returns where the RSDP is. */
static gpaddr_t make_acpi(const struct boot_area *b, u32 vcpus)
{
	struct acpi_rsdp *rsdp = (void *)(b->va + ACPI_AT);
	struct acpi_header *xsdt = new_table(b->va + ACPI_AT + 64, "XSDT", 1);
	u8 *dsdt = b->va + ACPI_AT + 128;
	u8 *fadt = close_table(new_table(dsdt, "DSDT", 2));
	u8 *madt = make_fadt(fadt, guest_address(b, dsdt));
	u64 entry[2] = { guest_address(b, fadt), guest_address(b, madt) };

	make_madt(madt, vcpus);
	append(xsdt, entry, sizeof(entry));
	close_table(xsdt);
	memcpy(rsdp->signature, "RSD PTR ", 8);
	memcpy(rsdp->oem, "CUPEL ", 6);
	rsdp->revision = 2;
	rsdp->length = sizeof(*rsdp);
	rsdp->xsdt = BOOT_AREA + ACPI_AT + 64;
	set_checksum(rsdp, 20, &rsdp->checksum);
	set_checksum(rsdp, sizeof(*rsdp), &rsdp->checksum2);
	return BOOT_AREA + ACPI_AT;
}

/* --- Protocols ---------------------------------------------------------------------------------- */

static void make_pvh(struct vm *vm, const struct boot_area *b, gpaddr_t rsdp)
{
	struct pvh_area *p = (void *)b->va;

	p->info = (struct pvh_start_info){
		.magic = PVH_MAGIC,
		.version = PVH_VERSION,
		.cmdline = BOOT_AREA + CMDLINE_AT,
		.rsdp = rsdp,
		.memmap = BOOT_AREA + offsetof(struct pvh_area, map),
		.memmap_entries = b->high ? 5 : 4,
	};
	p->map[0] = (struct pvh_map){ 0, BASE_RAM_END, MAP_RAM, 0 };
	p->map[1] = (struct pvh_map){ BOOT_AREA, BOOT_AREA_END - BOOT_AREA, MAP_ACPI, 0 };
	p->map[2] = (struct pvh_map){ MIB(1), b->low - MIB(1), MAP_RAM, 0 };
	p->map[3] = (struct pvh_map){ GUEST_X86_ROM, PAGE_SIZE, MAP_RESERVED, 0 };
	p->map[4] = (struct pvh_map){ HIGH_RAM_BASE, b->high, MAP_RAM, 0 };
	vm->arch.boot_eax = 0;
}

static void make_multiboot(struct vm *vm, const struct boot_area *b)
{
	struct mb_area *m = (void *)b->va;

	m->info = (struct mb_info){
		.flags = MB_INFO_MEMORY | MB_INFO_CMDLINE | MB_INFO_MAP,
		.mem_lower = BASE_RAM_END >> 10,
		.mem_upper = (b->low - MIB(1)) >> 10,
		.cmdline = BOOT_AREA + CMDLINE_AT,
		.mmap_length = (b->high ? 4 : 3) * sizeof(m->map[0]),
		.mmap_addr = BOOT_AREA + offsetof(struct mb_area, map),
	};
	m->map[0] = (struct mb_map){ 20, 0, BASE_RAM_END, MAP_RAM };
	m->map[1] = (struct mb_map){ 20, BOOT_AREA, BOOT_AREA_END - BOOT_AREA, MAP_RESERVED };
	m->map[2] = (struct mb_map){ 20, MIB(1), b->low - MIB(1), MAP_RAM };
	m->map[3] = (struct mb_map){ 20, HIGH_RAM_BASE, b->high, MAP_RAM };
	vm->arch.boot_eax = MB_MAGIC_EAX;
}

/* Memory came zeroed and only the image has been put there: what is not zero is the image. */
static bool untouched(const u8 *p, u64 size)
{
	for (u64 n = 0; n < size; n += sizeof(u64))
		if (*(const u64 *)(p + n))
			return false;
	return true;
}

static int find_area(struct vm *vm, struct boot_area *b, const char **why)
{
	u64 size = BOOT_AREA_END - BOOT_AREA;

	b->low = min(vm->config.memory, LOW_RAM_MAX);
	b->high = vm->config.memory - b->low;
	b->va = vm_gpa_to_va(vm, BOOT_AREA, size, true);
	*why = "memory below 1 MiB is missing";
	if (!b->va || b->low < 2 * MIB(1))
		return -ENOMEM;
	*why = "image lies where the boot information goes";
	return untouched(b->va, size) ? 0 : -ENOEXEC;
}

int guest_boot_setup(struct vm *vm, const void *image, u64 size, const char **why)
{
	struct boot_area b;
	gpaddr_t end;
	int err = guest_load_image(vm, image, size, GUEST_X86_ENTRY, &vm->arch.entry, &end, why);

	if (!err)
		err = find_area(vm, &b, why);
	if (err)
		return err;
	*why = "more vCPUs than its tables have room for";
	if (vm->nr_vcpus * MADT_X2APIC_LENGTH > BOOT_AREA_END - BOOT_AREA - PAGE_SIZE)
		return -E2BIG;
	*why = "entry point above 4 GiB";
	if (vm->arch.entry >> 32)
		return -ENOEXEC;
	strlcpy((char *)b.va + CMDLINE_AT, vm->config.cmdline, ACPI_AT - CMDLINE_AT);
	vm->arch.boot_info = BOOT_AREA;
	if (is_multiboot(image, size))
		make_multiboot(vm, &b);
	else
		make_pvh(vm, &b, make_acpi(&b, vm->nr_vcpus));
	return 0;
}
