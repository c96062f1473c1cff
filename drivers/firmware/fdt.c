/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device tree -> struct platform, through libfdt. The tree is untrusted: a truncated or malformed one
 * gives an errno and a reason, whatever it says. Nothing here touches hardware or keeps a pointer into
 * the tree, and it is built for the host too. Layout: Devicetree Specification v0.4; nodes as in
 * Linux's Documentation/devicetree/bindings.
 */
#include <cupel/errno.h>
#include <cupel/platform.h>
#include <libfdt.h>
#include <string.h>

#define MAX_DEPTH   16 /* of buses between a device and the root */
#define NAME_LENGTH 64

enum { DEV_GICV3, DEV_GICV2, DEV_BCM2836, DEV_TIMER, DEV_PSCI, NR_DEVICES };

struct reader {
	const void *fdt;
	struct platform *p;
	const char *why;
	int device[NR_DEVICES]; /* node offsets, -1 = none */
	int gic; /* the one of the three that is used */
	int child, parent; /* what parent_of() found last: libfdt walks the whole tree for it */
};

static char machine_name[NAME_LENGTH];

static int bad(struct reader *r, int err, const char *why)
{
	r->why = why;
	return err;
}

/* --- Numbers -------------------------------------------------------------------------------- */

static bool prop_u32(const struct reader *r, int node, const char *name, u32 *out)
{
	int len;
	const fdt32_t *cell = fdt_getprop(r->fdt, node, name, &len);

	if (!cell || len != 4)
		return false;
	*out = fdt32_ld(cell);
	return true;
}

/* 1 or 2 cells as one number. */
static u64 cells_value(const fdt32_t *cell, int count)
{
	u64 value = 0;

	for (int i = 0; i < count; i++)
		value = value << 32 | fdt32_ld(cell + i);
	return value;
}

/* A property of one number of one or two cells. */
static bool read_address(const struct reader *r, int node, const char *name, u64 *out)
{
	int len;
	const fdt32_t *cell = fdt_getprop(r->fdt, node, name, &len);

	if (!cell || (len != 4 && len != 8))
		return false;
	*out = cells_value(cell, len / 4);
	return true;
}

struct cells {
	int address, size;
};

/* How a node's children write addresses. Sizes of zero cells are allowed (/cpus). */
static bool read_cells(const struct reader *r, int node, struct cells *c)
{
	c->address = fdt_address_cells(r->fdt, node);
	c->size = fdt_size_cells(r->fdt, node);
	return c->address >= 1 && c->address <= 2 && c->size >= 0 && c->size <= 2;
}

/* One entry of a "ranges": child address, parent address, length. True when it holds `addr`. */
static bool apply_range(const fdt32_t *entry, struct cells child, int parent_cells, u64 size,
			u64 *addr)
{
	u64 from = cells_value(entry, child.address);
	u64 to = cells_value(entry + child.address, parent_cells);
	u64 len = cells_value(entry + child.address + parent_cells, child.size);

	if (*addr < from || *addr - from >= len || size > len - (*addr - from))
		return false;
	return !__builtin_add_overflow(*addr - from, to, addr);
}

/* From the address space of `bus`'s children to that of `bus` itself. */
static bool translate_one(const struct reader *r, int bus, int parent, u64 size, u64 *addr)
{
	struct cells child, up;
	int len, entry;
	const fdt32_t *ranges = fdt_getprop(r->fdt, bus, "ranges", &len);

	if (!ranges)
		return false; /* not reachable from the CPU */
	if (len == 0)
		return true;
	if (!read_cells(r, bus, &child) || !read_cells(r, parent, &up))
		return false;
	entry = child.address + up.address + child.size;
	for (int i = 0; i + entry <= len / 4; i += entry) {
		if (apply_range(ranges + i, child, up.address, size, addr))
			return true;
	}
	return false;
}

static int parent_of(struct reader *r, int node)
{
	if (r->child != node) {
		r->parent = fdt_parent_offset(r->fdt, node);
		r->child = node;
	}
	return r->parent;
}

/* An address that `bus`'s children use, as the CPU sees it. */
static bool translate(const struct reader *r, int bus, u64 size, u64 *addr)
{
	for (int depth = 0; bus > 0 && depth < MAX_DEPTH; depth++) {
		int parent = fdt_parent_offset(r->fdt, bus);

		if (parent < 0 || !translate_one(r, bus, parent, size, addr))
			return false;
		bus = parent;
	}
	return bus == 0;
}

/* One may end at the last address. */
static bool wraps(u64 base, u64 size)
{
	return size && base + (size - 1) < base;
}

/* Entry `index` of "reg", as the CPU sees it. -ENOENT when there are fewer. */
static int read_reg(struct reader *r, int node, int index, struct mem_range *out)
{
	struct cells c;
	int len, entry;
	int parent = parent_of(r, node);
	const fdt32_t *reg = fdt_getprop(r->fdt, node, "reg", &len);

	if (!reg || parent < 0)
		return -ENOENT;
	if (!read_cells(r, parent, &c))
		return bad(r, -EINVAL, "bad #address-cells or #size-cells");
	entry = c.address + c.size;
	if (len % (4 * entry))
		return bad(r, -EINVAL, "a reg property of the wrong length");
	if (index >= len / (4 * entry))
		return -ENOENT;
	reg += index * entry;
	out->base = cells_value(reg, c.address);
	out->size = cells_value(reg + c.address, c.size);
	if (!translate(r, parent, out->size, &out->base))
		return bad(r, -EINVAL, "a reg property that no bus maps");
	if (wraps(out->base, out->size))
		return bad(r, -EINVAL, "a reg property that wraps");
	return 0;
}

static bool has_string(const struct reader *r, int node, const char *name, const char *value)
{
	int len;
	const char *s = fdt_getprop(r->fdt, node, name, &len);

	return s && len > 0 && s[len - 1] == '\0' && strcmp(s, value) == 0;
}

/* Devicetree Specification 2.3.4: no status means "okay". */
static bool status_okay(const struct reader *r, int node)
{
	return !fdt_getprop(r->fdt, node, "status", NULL) ||
	       has_string(r, node, "status", "okay") || has_string(r, node, "status", "ok");
}

/* --- Devices known by what they are compatible with ------------------------------------------ */

/* The 0.1 binding of PSCI, with function numbers of its own, is not spoken here. */
static const char *const device_names[NR_DEVICES][5] = {
	[DEV_GICV3] = { "arm,gic-v3" },
	[DEV_GICV2] = { "arm,gic-400", "arm,cortex-a15-gic", "arm,cortex-a9-gic",
			"arm,cortex-a7-gic" },
	[DEV_BCM2836] = { "brcm,bcm2836-l1-intc" },
	[DEV_TIMER] = { "arm,armv8-timer", "arm,armv7-timer" },
	[DEV_PSCI] = { "arm,psci-1.0", "arm,psci-0.2" },
};

static int device_of(const char *list, int len)
{
	for (int i = 0; i < NR_DEVICES; i++) {
		for (int j = 0; device_names[i][j]; j++) {
			if (fdt_stringlist_contains(list, len, device_names[i][j]))
				return i;
		}
	}
	return -1;
}

/* The first usable node of each. */
static void find_devices(struct reader *r)
{
	int node = -1;

	for (int i = 0; i < NR_DEVICES; i++)
		r->device[i] = -1;
	while ((node = fdt_next_node(r->fdt, node, NULL)) >= 0) {
		int len;
		const char *list = fdt_getprop(r->fdt, node, "compatible", &len);
		int device = list ? device_of(list, len) : -1;

		if (device >= 0 && r->device[device] < 0 && status_okay(r, node))
			r->device[device] = node;
	}
}

/* --- Memory --------------------------------------------------------------------------------- */

static int add_memory_node(struct reader *r, int node)
{
	struct mem_range range;
	int err;

	for (int i = 0; (err = read_reg(r, node, i, &range)) == 0; i++)
		platform_add_mem(r->p, range.base, range.size);
	return err == -ENOENT ? 0 : err;
}

static int read_memory(struct reader *r)
{
	int node, err;

	if (r->p->nr_mem)
		return 0; /* EFI's map knows better */
	fdt_for_each_subnode(node, r->fdt, 0) {
		if (!has_string(r, node, "device_type", "memory") || !status_okay(r, node))
			continue;
		err = add_memory_node(r, node);
		if (err)
			return err;
	}
	return r->p->nr_mem ? 0 : bad(r, -ENOENT, "no RAM");
}

static int reserve_node(struct reader *r, int node)
{
	struct mem_range range;
	int err = 0;

	for (int i = 0; err == 0; i++) {
		err = read_reg(r, node, i, &range);
		if (err == 0)
			platform_reserve_mem(r->p, range.base, range.size);
	}
	return err == -ENOENT ? 0 : err;
}

static int read_reservations(struct reader *r)
{
	int parent = fdt_path_offset(r->fdt, "/reserved-memory");
	int count = fdt_num_mem_rsv(r->fdt);
	int node, err;

	for (int i = 0; i < count; i++) {
		u64 base, size;

		if (fdt_get_mem_rsv(r->fdt, i, &base, &size))
			return bad(r, -EINVAL, "a broken memory reservation block");
		platform_reserve_mem(r->p, base, size);
	}
	if (parent < 0)
		return 0;
	fdt_for_each_subnode(node, r->fdt, parent) {
		err = reserve_node(r, node);
		if (err)
			return err;
	}
	return 0;
}

/* --- CPUs ----------------------------------------------------------------------------------- */

/*
 * How it is started. A CPU that spins is "disabled" by the specification (0.4, 3.8.1), and those that
 * trees in use say nothing of. Its word, and the code beside it, are not ours to use for anything else.
 */
static int read_method(struct reader *r, int node, struct cpu_info *c)
{
	if (has_string(r, node, "enable-method", "psci")) {
		c->method = CPU_METHOD_PSCI;
		c->enabled = status_okay(r, node);
	} else if (has_string(r, node, "enable-method", "spin-table") &&
		   read_address(r, node, "cpu-release-addr", &c->release_addr)) {
		if (c->release_addr % sizeof(u64))
			return bad(r, -EINVAL, "a CPU with an odd cpu-release-addr");
		c->method = CPU_METHOD_SPIN_TABLE;
		c->enabled = !has_string(r, node, "status", "fail");
		platform_reserve_mem(r->p, c->release_addr, sizeof(u64));
	}
	return 0;
}

static int add_cpu(struct reader *r, int node, int address_cells)
{
	struct platform *p = r->p;
	int len;
	const fdt32_t *reg = fdt_getprop(r->fdt, node, "reg", &len);
	u64 hwid;

	if (!reg || len != 4 * address_cells)
		return bad(r, -EINVAL, "a CPU without a proper reg");
	if (p->nr_cpus == NR_CPUS)
		return 0; /* those beyond what we have room for stay off */
	hwid = cells_value(reg, address_cells);
	for (u32 i = 0; i < p->nr_cpus; i++) {
		if (p->cpus[i].hwid == hwid)
			return bad(r, -EINVAL, "two CPUs with the same reg");
	}
	p->cpus[p->nr_cpus].hwid = hwid;
	return read_method(r, node, &p->cpus[p->nr_cpus++]);
}

static int read_cpus(struct reader *r)
{
	int cpus = fdt_path_offset(r->fdt, "/cpus");
	int cells, node, err;

	if (cpus < 0)
		return bad(r, -ENOENT, "no /cpus node");
	cells = fdt_address_cells(r->fdt, cpus);
	if (cells < 1 || cells > 2)
		return bad(r, -EINVAL, "bad #address-cells in /cpus");
	fdt_for_each_subnode(node, r->fdt, cpus) {
		if (!has_string(r, node, "device_type", "cpu"))
			continue;
		err = add_cpu(r, node, cells);
		if (err)
			return err;
	}
	return r->p->nr_cpus ? 0 : bad(r, -ENOENT, "no CPUs");
}

/* --- What the loader chose ------------------------------------------------------------------ */

static bool in_ram(const struct platform *p, u64 base, u64 size)
{
	for (u32 i = 0; i < p->nr_mem; i++) {
		if (base >= p->mem[i].base && size <= p->mem[i].size &&
		    base - p->mem[i].base <= p->mem[i].size - size)
			return true;
	}
	return false;
}

/* Before the reservations: loaders put it into one of them, too. */
static int read_initrd(struct reader *r)
{
	struct platform *p = r->p;
	int chosen = fdt_path_offset(r->fdt, "/chosen");
	u64 start, end;

	if (p->nr_modules || !read_address(r, chosen, "linux,initrd-start", &start) ||
	    !read_address(r, chosen, "linux,initrd-end", &end) || start == end)
		return 0;
	if (end < start)
		return bad(r, -EINVAL, "an initrd that ends before it starts");
	if (!in_ram(p, start, end - start))
		return bad(r, -EINVAL, "an initrd that is not in RAM");
	p->modules[p->nr_modules++] = (struct module){ .base = start, .size = end - start };
	platform_reserve_mem(p, start, end - start);
	return 0;
}

static int read_cmdline(struct reader *r, int chosen)
{
	int len;
	const char *args = fdt_getprop(r->fdt, chosen, "bootargs", &len);

	if (!args || len == 0 || r->p->cmdline[0])
		return 0;
	if (args[len - 1] != '\0')
		return bad(r, -EINVAL, "a command line without an end");
	if (strlcpy(r->p->cmdline, args, CMDLINE_MAX) >= CMDLINE_MAX)
		return bad(r, -E2BIG, "the command line is too long");
	return 0;
}

/* What a node that is compatible with this is, and how far apart its registers are unless it says so. */
static const struct {
	const char *name;
	u8 kind, reg_shift;
} uarts[] = {
	{ "arm,pl011", UART_PL011, 2 },
	{ "arm,sbsa-uart", UART_SBSA, 2 },
	{ "brcm,bcm2835-aux-uart", UART_BCM_MINI, 2 },
	{ "xlnx,xuartps", UART_CADENCE, 2 },
	{ "cdns,uart-r1p12", UART_CADENCE, 2 },
	{ "fsl,imx6q-uart", UART_IMX, 2 },
	{ "fsl,imx21-uart", UART_IMX, 2 },
	{ "nuvoton,npcm750-uart", UART_16550, 2 },
	{ "snps,dw-apb-uart", UART_16550, 0 },
	{ "ns16550a", UART_16550, 0 },
	{ "ns16550", UART_16550, 0 },
};

static int read_uart(struct reader *r, int node)
{
	struct uart_info *u = &r->p->uart;
	struct mem_range range;
	u32 i = 0;
	int err;

	r->p->uart_note = "no known kind of UART";
	while (i < ARRAY_SIZE(uarts) && fdt_node_check_compatible(r->fdt, node, uarts[i].name))
		i++;
	if (i == ARRAY_SIZE(uarts))
		return 0;
	err = read_reg(r, node, 0, &range);
	if (err)
		return err == -ENOENT ? bad(r, -EINVAL, "a console without a reg") : err;
	r->p->uart_note = NULL;
	u->base = range.base;
	u->reg_shift = uarts[i].reg_shift;
	u->reg_width = u->reg_shift ? 4 : 1;
	u->kind = uarts[i].kind;
	if (u->kind != UART_16550)
		return 0;
	prop_u32(r, node, "reg-shift", &u->reg_shift);
	prop_u32(r, node, "reg-io-width", &u->reg_width);
	if (u->reg_shift > 4 || (u->reg_width != 1 && u->reg_width != 2 && u->reg_width != 4)) {
		u->kind = UART_NONE;
		return bad(r, -EINVAL, "a 16550 with odd registers");
	}
	return 0;
}

/* "path-or-alias:options". libfdt 1.6 follows aliases of aliases for ever: here one leads to a path. */
static int console_node(const struct reader *r, int chosen)
{
	int len, aliases = fdt_path_offset(r->fdt, "/aliases");
	const char *path = fdt_getprop(r->fdt, chosen, "stdout-path", &len);
	const char *colon;

	if (!path)
		path = fdt_getprop(r->fdt, chosen, "linux,stdout-path", &len);
	if (!path)
		return -ENOENT;
	r->p->uart_note = "stdout-path names no node";
	if (len <= 0 || path[len - 1] != '\0')
		return -EINVAL;
	colon = strchr(path, ':');
	len = colon ? (int)(colon - path) : (int)strlen(path);
	if (*path == '/')
		return fdt_path_offset_namelen(r->fdt, path, len);
	path = fdt_getprop_namelen(r->fdt, aliases, path, len, &len);
	if (!path || len <= 0 || *path != '/' || path[len - 1] != '\0')
		return -EINVAL;
	return fdt_path_offset(r->fdt, path);
}

static int read_chosen(struct reader *r)
{
	int chosen = fdt_path_offset(r->fdt, "/chosen");
	int node, err, console;

	if (chosen < 0)
		return 0;
	node = console_node(r, chosen);
	console = node >= 0 ? read_uart(r, node) : 0;
	/* Whatever is wrong with the one: the other may say how the machine ends. */
	err = read_cmdline(r, chosen);
	return console ? console : err;
}

/* --- Interrupt controller, timer, PSCI ------------------------------------------------------ */

/*
 * Entry `index` of "interrupts" as an INTID; 0 when it is not there. "#interrupt-cells" is the GIC's. A
 * BCM2836 has no kinds, and its numbers are those of its sources: they follow the SGIs.
 */
static u32 read_intid(const struct reader *r, int node, u32 index)
{
	bool bcm = r->p->gic.kind == GIC_BCM2836;
	u32 cells, kind, number;
	int len;
	const fdt32_t *list = fdt_getprop(r->fdt, node, "interrupts", &len);

	if (r->gic < 0 || !prop_u32(r, r->gic, "#interrupt-cells", &cells))
		return 0;
	if (bcm ? cells < 1 || cells > 2 : cells < 3 || cells > 4)
		return 0;
	if (!list || (index + 1) * cells > (u32)len / 4)
		return 0;
	kind = bcm ? 1 : fdt32_ld(list + index * cells);
	number = fdt32_ld(list + index * cells + !bcm);
	if (kind == 1)
		return number < 16 ? number + 16 : 0;
	return kind == 0 && number < 988 ? number + 32 : 0;
}

static int read_gicv3(struct reader *r)
{
	struct gic_info *g = &r->p->gic;
	u32 regions = 1;
	int err = read_reg(r, r->gic, 0, &g->dist);

	prop_u32(r, r->gic, "#redistributor-regions", &regions);
	if (regions < 1 || regions > PLATFORM_MAX_REDISTS)
		return bad(r, -EINVAL, "a GICv3 with too many redistributor regions");
	while (!err && g->nr_redist < regions) {
		err = read_reg(r, r->gic, (int)g->nr_redist + 1, &g->redist[g->nr_redist]);
		if (!err)
			g->nr_redist++;
	}
	if (err)
		return err == -ENOENT ? bad(r, -EINVAL, "a GIC with too few reg entries") : err;
	read_address(r, r->gic, "redistributor-stride", &g->redist_stride);
	if (g->redist_stride % KIB(64) || (g->redist_stride && g->redist_stride < KIB(128)))
		return bad(r, -EINVAL, "a GICv3 with an odd redistributor-stride");
	g->kind = GIC_V3;
	return 0;
}

static int read_gicv2(struct reader *r)
{
	struct gic_info *g = &r->p->gic;
	int err = read_reg(r, r->gic, 0, &g->dist);

	if (!err)
		err = read_reg(r, r->gic, 1, &g->cpu_if);
	if (err)
		return err == -ENOENT ? bad(r, -EINVAL, "a GIC with too few reg entries") : err;
	/* Without virtualization the last two are left out. */
	err = read_reg(r, r->gic, 2, &g->hyp_if);
	if (!err)
		err = read_reg(r, r->gic, 3, &g->vcpu_if);
	g->kind = GIC_V2;
	return err == -ENOENT ? 0 : err;
}

static int read_bcm2836(struct reader *r)
{
	int err = read_reg(r, r->gic, 0, &r->p->gic.local);

	r->p->gic.kind = GIC_BCM2836;
	return err == -ENOENT ? bad(r, -EINVAL, "a BCM2836 without a reg") : err;
}

static int read_gic(struct reader *r)
{
	int err;

	if (r->device[DEV_GICV3] >= 0) {
		r->gic = r->device[DEV_GICV3];
		err = read_gicv3(r);
	} else if (r->device[DEV_GICV2] >= 0) {
		r->gic = r->device[DEV_GICV2];
		err = read_gicv2(r);
	} else if (r->device[DEV_BCM2836] >= 0) {
		r->gic = r->device[DEV_BCM2836];
		err = read_bcm2836(r);
	} else {
		return 0;
	}
	r->p->gic.maint_intid = read_intid(r, r->gic, 0);
	return err;
}

static void read_timer(struct reader *r)
{
	struct arm_timer_info *t = &r->p->timer;
	int node = r->device[DEV_TIMER];

	if (node < 0)
		return;
	/* Secure physical, non-secure physical, virtual, EL2 physical, EL2 virtual. */
	t->phys_ns = read_intid(r, node, 1);
	t->virt = read_intid(r, node, 2);
	t->hyp_phys = read_intid(r, node, 3);
	t->hyp_virt = read_intid(r, node, 4);
	prop_u32(r, node, "clock-frequency", &t->clock_hz);
}

static void read_psci(struct reader *r)
{
	int node = r->device[DEV_PSCI];

	if (node < 0)
		return;
	if (has_string(r, node, "method", "smc"))
		r->p->psci = PSCI_SMC;
	else if (has_string(r, node, "method", "hvc"))
		r->p->psci = PSCI_HVC;
}

static void read_machine(struct reader *r)
{
	int len;
	const char *model = fdt_getprop(r->fdt, 0, "model", &len);

	if (!model || len <= 0 || model[len - 1] != '\0')
		model = fdt_getprop(r->fdt, 0, "compatible", &len);
	if (!model || len <= 0 || model[len - 1] != '\0')
		model = "";
	strlcpy(machine_name, model, sizeof(machine_name));
	r->p->machine = machine_name;
	r->p->firmware = r->p->firmware ? "efi+fdt" : "fdt";
}

/*
 * The order matters: first where complaints are printed and how the machine ends, RAM before what is cut
 * out of it, the GIC before what names its interrupts.
 */
static int read_tree(struct reader *r)
{
	int err;

	find_devices(r);
	read_psci(r);
	err = read_chosen(r);
	if (!err)
		err = read_memory(r);
	if (!err)
		err = read_initrd(r);
	if (!err)
		err = read_reservations(r);
	if (!err)
		err = read_cpus(r);
	if (!err)
		err = read_gic(r);
	if (err)
		return err;
	read_timer(r);
	read_machine(r);
	return 0;
}

/* Devicetree Specification 0.4, 5.2: what all since 2005 is compatible with. */
#define FDT_OLDEST_VERSION 16

int fdt_read_platform(const void *fdt, size_t max_size, struct platform *p, const char **why)
{
	struct reader r = { .fdt = fdt, .p = p, .gic = -1, .child = -1 };
	int err;

	*why = NULL;
	if (max_size < sizeof(struct fdt_header) || fdt_magic(fdt) != FDT_MAGIC) {
		*why = "no device tree";
		return -ENOENT;
	}
	/* Older trees name their nodes another way, and libfdt 1.6 falls over one that does not. */
	if (fdt_version(fdt) < FDT_OLDEST_VERSION) {
		*why = "the device tree is older than version 16";
		return -EINVAL;
	}
	if (fdt_check_full(fdt, max_size)) {
		*why = fdt_totalsize(fdt) > max_size ? "the device tree is truncated" :
						       "the device tree is malformed";
		return -EINVAL;
	}
	err = read_tree(&r);
	*why = r.why;
	return err;
}
