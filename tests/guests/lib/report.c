/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Console output, test results and measured values. Under Cupel results and samples are hypercalls;
 * bare, KTAP lines and a summary on the console.
 */
#include <cupel/printk.h>
#include <guest.h>
#include <runtime.h>

#define TEXT_MAX 200

static u32 reported;
static u32 result_lock; /* bare: keeps the lines of two vCPUs apart */

static void put(const char *s)
{
	for (; *s; s++)
		arch_console_putc(*s);
}

void print(const char *fmt, ...)
{
	char buf[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	put(buf);
}

static void say_result(bool ok, const char *text)
{
	while (atomic_xchg_acquire(&result_lock, 1)) /* pairs with the release below */
		cpu_pause();
	if (!reported++)
		put("KTAP version 1\n");
	print("%s %u - %s\n", ok ? "ok" : "not ok", reported, text);
	store_release(&result_lock, 0); /* pairs with the acquire above */
}

void report(bool ok, const char *fmt, ...)
{
	char buf[TEXT_MAX + 1];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = min((size_t)vsnprintf(buf, sizeof(buf), fmt, ap), sizeof(buf) - 1);
	va_end(ap);
	if (!ok)
		count_failure();
	if (bare)
		say_result(ok, buf);
	else
		hypercall(HC_REPORT, ok, (u64)buf, n);
}

void skip(const char *fmt, ...)
{
	char buf[TEXT_MAX - 32];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	report(true, "%s # SKIP", buf);
}

void report_end(void)
{
	if (bare && reported)
		print("1..%u\n", reported);
}

void guest_die(const char *fmt, ...)
{
	char buf[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	put(buf);
	put("\n");
	guest_exit(125);
}

void series_name(u32 series, const char *name)
{
	if (bare)
		print("# series %u: %s\n", series, name);
	else
		hypercall(HC_SERIES, series, (u64)name, strlen(name));
}

static void sort(u64 *v, u32 n)
{
	for (u32 gap = n / 2; gap; gap /= 2)
		for (u32 i = gap; i < n; i++)
			for (u32 j = i; j >= gap && v[j - gap] > v[j]; j -= gap) {
				u64 t = v[j];

				v[j] = v[j - gap];
				v[j - gap] = t;
			}
}

void samples(u32 series, u64 *v, u32 n)
{
	if (bare) {
		sort(v, n);
		print("# samples %u: n %u min %lu median %lu max %lu\n", series, n, v[0], v[n / 2],
		      v[n - 1]);
		return;
	}
	for (u32 at = 0; at < n; at += 4096)
		hypercall(HC_SAMPLE, series, (u64)(v + at), min(n - at, 4096u));
}
