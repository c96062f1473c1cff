# SPDX-License-Identifier: GPL-2.0-only
# Fuzz targets: libFuzzer on the host, with ASan and UBSan. `make fuzz-targets` builds them;
# tests/fuzz/run makes the seeds and runs them.

FUZZ := build/host-fuzz
FUZZ_CC ?= clang
FUZZ_TARGETS := fdt acpi loaders archive cmdline conf elf line

# The code under test, and what it cannot be linked without.
FUZZ_SRCS_fdt := drivers/firmware/fdt.c core/platform.c tests/fuzz/platform_check.c
FUZZ_SRCS_acpi := $(wildcard drivers/firmware/acpi*.c) core/platform.c tests/fuzz/platform_check.c tests/fuzz/memory.c
FUZZ_SRCS_loaders := $(addprefix drivers/firmware/,multiboot.c multiboot2.c pvh.c linux.c efi.c firmware.c) \
	core/platform.c tests/fuzz/platform_check.c tests/fuzz/memory.c
FUZZ_SRCS_archive := core/archive.c
FUZZ_SRCS_cmdline := core/config.c
FUZZ_SRCS_conf := core/config.c core/vm_config.c
FUZZ_SRCS_elf := core/guest_image.c
FUZZ_SRCS_line := core/monitor_line.c
FUZZ_LIBS_fdt := -lfdt

FUZZ_CFLAGS := -std=gnu11 -O1 -g -Iinclude -Ihost/include -Wall -Wno-macro-redefined \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

$(FUZZ)/%.o: %.c Makefile tests/fuzz/fuzz.mk
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link $(FUZZ_INCLUDES) -MMD -MP -c $< -o $@

# The code under test sees its own C library headers, the targets those of the host.
$(FUZZ)/%.o: FUZZ_INCLUDES := -Iinclude/libc
$(FUZZ)/tests/fuzz/%.o: FUZZ_INCLUDES :=

define fuzz_rule
FUZZ_OBJS_$(1) := $(patsubst %.c,$(FUZZ)/%.o,tests/fuzz/fuzz_$(1).c tests/fuzz/host.c $(FUZZ_SRCS_$(1)))
$(FUZZ)/fuzz_$(1): $$(FUZZ_OBJS_$(1))
	$$(call say,LD,$$@)
	$$(Q)$$(FUZZ_CC) $$(FUZZ_CFLAGS) -fsanitize=fuzzer -o $$@ $$^ $$(FUZZ_LIBS_$(1))
-include $$(FUZZ_OBJS_$(1):.o=.d)
endef
$(foreach t,$(FUZZ_TARGETS),$(eval $(call fuzz_rule,$t)))

# Hypercalls need all of core/ and a machine below it: built as the unit tests are, with the fuzzer's eyes.
fuzz_machine_obj = $(patsubst %.c,$(FUZZ)/machine/%.o,$(1))
FUZZ_MACHINE := $(call fuzz_machine_obj,$(UNIT_CORE) $(UNIT_HOST))
FUZZ_OBJS_xen := $(call fuzz_machine_obj,tests/fuzz/fuzz_xen.c tests/fuzz/host.c)
FUZZ_MACHINE_CFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
fuzz_machine_flags = $(filter-out -Werror,$(if $(filter core/% bench/% drivers/%,$(1)),$(UNIT_CORE_CFLAGS),$(UNIT_CFLAGS))) \
	$(if $(filter core/string.c,$(1)),$(foreach f,$(UNIT_LIBC),-D$f=cupel_$f)) \
	$(if $(filter tests/fuzz/host.c,$(1)),-Dstrlcpy=fuzz_strlcpy)

$(FUZZ)/machine/%.o: %.c Makefile tests/tests.mk tests/fuzz/fuzz.mk
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)
	$(Q)$(FUZZ_CC) $(call fuzz_machine_flags,$<) -DCONFIG_DEBUG=1 $(FUZZ_MACHINE_CFLAGS) \
		-fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@

$(FUZZ)/machine.a: $(FUZZ_MACHINE)
	$(Q)rm -f $@ && ar rcs $@ $^

$(FUZZ)/fuzz_xen: $(FUZZ_OBJS_xen) $(FUZZ)/machine.a
	$(call say,LD,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_MACHINE_CFLAGS) -fsanitize=fuzzer -pthread -o $@ $^
-include $(FUZZ_MACHINE:.o=.d) $(FUZZ_OBJS_xen:.o=.d)

.PHONY: fuzz-targets
fuzz-targets: $(FUZZ_TARGETS:%=$(FUZZ)/fuzz_%) $(FUZZ)/fuzz_xen
