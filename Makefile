# SPDX-License-Identifier: GPL-2.0-only
# One build for both architectures, out of tree in build/.
#
#   make ARCH=arm64|x86 [BUILD=release|debug|ubsan] [CC=clang] [CROSS_COMPILE=prefix-] [V=1]
#                           the image, the test guests and their archive
#   make unit               core/ for the host, and its tests (tests/tests.mk)
#   make lint               everything that judges the text; changes nothing
#   make format             lay the sources out as lint wants them
#   make compile_commands.json
#
# Sources are found by their place: core/, bench/, arch/$(ARCH)/ and the drivers listed below. The
# same tree and tools give the same bytes, wherever and whenever they run.

ARCH ?= arm64
BUILD ?= release
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(Q),@printf '  %-6s %s\n' $(1) $(2))

ifeq ($(filter $(ARCH),arm64 x86),)
$(error ARCH is '$(ARCH)': arm64 or x86)
endif
ifeq ($(filter $(BUILD),release debug ubsan),)
$(error BUILD is '$(BUILD)': release, debug or ubsan)
endif

HOST := $(shell uname -m)
triple_arm64 := aarch64-linux-gnu
triple_x86 := x86_64-linux-gnu
native_arm64 := aarch64
native_x86 := x86_64
ifeq ($(HOST),$(native_$(ARCH)))
CROSS_COMPILE ?=
else
CROSS_COMPILE ?= $(triple_$(ARCH))-
endif

ifeq ($(origin CC),default)
CC := $(CROSS_COMPILE)gcc
endif
CLANG := $(findstring clang,$(CC))
ifneq ($(CLANG),)
override CC += --target=$(triple_$(ARCH))
endif
LD := $(CROSS_COMPILE)ld
OBJCOPY := $(CROSS_COMPILE)objcopy
HOSTCC ?= gcc

O := build/$(ARCH)-$(BUILD)$(addprefix -,$(CLANG))

# Debian's libfdt for arm64 and EFI's headers: from the machine itself, or fetched into build/deps by `./cupel setup`.
DEPS_arm64 := $(firstword $(wildcard build/deps/arm64/usr) /usr)
DEPS_x86 := $(firstword $(wildcard build/deps/amd64/usr) /usr)
DEPS := $(DEPS_$(ARCH))
LIBS_arm64 := $(DEPS_arm64)/lib/aarch64-linux-gnu/libfdt.a

drivers_arm64 := gic/* timer/arm_* uart/vpl011 uart/polled uart/ns16550 firmware/fdt firmware/psci \
	firmware/acpi firmware/acpi_arm firmware/firmware firmware/efi*
drivers_x86 := apic/* timer/x86_* uart/ns16550 uart/v16550 firmware/acpi firmware/acpi_x86 firmware/multiboot* \
	firmware/pvh firmware/linux firmware/firmware firmware/efi*
SRCS := $(sort $(wildcard core/*.c) $(wildcard bench/*.c) \
	$(wildcard arch/$(ARCH)/*.[cS] arch/$(ARCH)/*/*.[cS]) \
	$(foreach d,$(drivers_$(ARCH)),$(wildcard drivers/$d.c)))
OBJS := $(patsubst %,$(O)/%.o,$(basename $(SRCS)))
# What only the test image carries, and what says so in the other: the image that is measured has no room.
TEST_SRCS := $(wildcard core/selftest*.c core/torture*.c arch/$(ARCH)/selftest_*.c)
NO_TESTS := $(O)/core/no_tests.o
TEST_OBJS := $(patsubst %,$(O)/%.o,$(basename $(TEST_SRCS)))

CPPFLAGS_arm64 := -idirafter $(DEPS_arm64)/include
CPPFLAGS := -nostdinc -isystem $(shell $(CC) -print-file-name=include) \
	-Iinclude -Iarch/$(ARCH)/include -Iinclude/libc $(CPPFLAGS_$(ARCH))

CFLAGS_COMMON := -std=gnu11 -O2 -g -ffreestanding -fno-common -fno-strict-aliasing \
	-fno-asynchronous-unwind-tables -fno-unwind-tables -fno-omit-frame-pointer \
	-fno-delete-null-pointer-checks \
	-Wall -Wextra -Wundef -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla \
	-Wno-unused-parameter -Wno-missing-field-initializers -Werror \
	-ffile-prefix-map=$(CURDIR)=. -ffunction-sections -fdata-sections
CFLAGS_CODE_arm64 := -mno-outline-atomics -mstrict-align -mgeneral-regs-only \
	-falign-functions=4 -fno-align-loops -fno-align-jumps
CFLAGS_CODE_x86 := -m64 -mno-red-zone -mgeneral-regs-only -mno-mmx -mno-sse -fno-pic
CFLAGS_HYP_arm64 := -fpie -fvisibility=hidden -include include/cupel/hidden.h \
	$(if $(CLANG),,-mstack-protector-guard=global)
CFLAGS_HYP_x86 := -mstack-protector-guard=global
# Per-CPU pointers leave the object they are computed from: no object-size checks.
UBSAN := -fsanitize=undefined -fno-sanitize=alignment,object-size
CFLAGS_debug := -DCONFIG_DEBUG=1 $(UBSAN)
CFLAGS_ubsan := $(UBSAN)
ifneq ($(CLANG),)
CFLAGS_COMMON += -Wno-unused-command-line-argument -Wno-ignored-optimization-argument
endif
CFLAGS := $(CFLAGS_COMMON) $(CFLAGS_CODE_$(ARCH)) -fstack-protector-strong $(CFLAGS_HYP_$(ARCH)) \
	$(CFLAGS_$(BUILD))
# What a record says of its build; no path, so that two builds of a commit are the same bytes.
BUILD_SAYS := -DBUILD_COMPILER='"$(notdir $(firstword $(CC))) "__VERSION__' \
	-DBUILD_FLAGS='"$(BUILD): $(filter-out -W% -ffile-prefix-map=%,$(CFLAGS))"'

LDFLAGS_arm64 := -static -pie --no-dynamic-linker -z text -Bsymbolic
LDFLAGS_x86 := -static -z max-page-size=4096
LDFLAGS := --build-id=sha1 --gc-sections --fatal-warnings -z noexecstack $(LDFLAGS_$(ARCH)) \
	-T linker/$(ARCH).lds

IMAGE_arm64 := $(O)/cupel.bin $(O)/cupel-test.bin
IMAGE_x86 := $(O)/cupel.elf $(O)/cupel-test.elf $(O)/cupel.efi $(O)/cupel-test.efi
IMAGE_LIMIT := 262144

.PHONY: all image guests clean lint format list-commands
all: image guests
image: $(IMAGE_$(ARCH))

$(O)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(O)/bench/origin.o: CPPFLAGS += $(BUILD_SAYS)
# EFI's headers are gnu-efi's. Its calling convention on x86 is Microsoft's; on arm64 x18 is firmware's. A
# smashed stack could not be told of: there is no console of ours yet. From 3.0.18 on its CHAR16 is wchar_t.
EFI_FLAGS_arm64 := -ffixed-x18
# There the rest of the image is bound to its place, what runs before it is there is not.
EFI_FLAGS_x86 := -DGNU_EFI_USE_MS_ABI -fpie -include include/cupel/hidden.h -fno-sanitize=all
EFI_SRCS := drivers/firmware/efi_stub.c arch/x86/boot_efi.c
EFI_FLAGS := -isystem $(DEPS)/include/efi -fshort-wchar -fno-stack-protector $(EFI_FLAGS_$(ARCH))
$(EFI_SRCS:%.c=$(O)/%.o): CFLAGS += $(EFI_FLAGS)

# What is measured, or runs inside a measurement, is built for speed; all else is built small, which
# leaves the image room for one more experiment.
HOT := $(filter-out drivers/gic/bcm2836.c drivers/gic/vgic_soft.c,$(wildcard arch/arm64/hyp_*.c \
	arch/x86/svm/*.c drivers/gic/*.c drivers/apic/vlapic*.c)) \
	$(addprefix arch/arm64/,stage2.c stage2_vmid.c sysregs.c trap_irq.c vcpu.c world.c) \
	$(addprefix arch/x86/,decode.c vcpu.c vcpu_cpuid.c vcpu_fpu.c vcpu_insn.c vcpu_io.c vcpu_mmio.c \
	vcpu_msr.c vcpu_walk.c vcpu_xen.c) \
	$(addprefix core/,clock.c evtchn.c evtchn_2l.c evtchn_fifo.c gpc.c hypercall.c irq.c lock.c sched.c \
	slots.c srcu.c steal.c string.c vcpu.c vm.c xen.c) \
	$(addprefix drivers/timer/,arm_timer.c arm_vtimer.c x86_timer.c) \
	drivers/uart/vpl011.c drivers/uart/v16550.c \
	$(addprefix bench/,hist.c lockcost.c reader.c select_cost.c)
$(patsubst %.c,$(O)/%.o,$(filter-out $(HOT),$(filter %.c,$(SRCS)))): CFLAGS += -Os

$(O)/%.o: %.S Makefile
	@mkdir -p $(@D)
	$(call say,AS,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -D__ASSEMBLY__ -MMD -MP -c $< -o $@

$(O)/cupel.sym.elf: $(filter-out $(TEST_OBJS),$(OBJS))
$(O)/cupel-test.sym.elf: $(filter-out $(NO_TESTS),$(OBJS))
$(O)/cupel.sym.elf $(O)/cupel-test.sym.elf: linker/$(ARCH).lds $(LIBS_$(ARCH))
	$(call say,LD,$@)
	$(Q)$(LD) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS_$(ARCH))

# A release image that outgrew its limit is no image.
check_size = size=$$(stat -c %s $@); if [ $(BUILD) = release ] && [ $(notdir $(basename $@)) = cupel ] && \
	[ $$size -gt $(IMAGE_LIMIT) ]; then \
	echo "$@ is $$size bytes, above the limit of $(IMAGE_LIMIT)" >&2; mv $@ $@.too-large; exit 1; fi

$(O)/%.bin: $(O)/%.sym.elf tools/pack-image
	$(Q)tools/pack-image $< $@
	$(Q)$(check_size)

# QEMU's Multiboot loader takes 32-bit ELF only; the symbols stay in the .sym.elf.
$(O)/cupel.elf $(O)/cupel-test.elf: $(O)/%.elf: $(O)/%.sym.elf
	$(Q)$(OBJCOPY) -O elf32-i386 --strip-all $< $@
	$(Q)$(check_size)

# The same bytes without the ELF around them: a PE image, with Multiboot 2 only. With the older header QEMU would
# not give the file to the UEFI that it runs, but what it makes of it.
$(O)/%.efi: $(O)/%.sym.elf
	$(Q)$(OBJCOPY) -O binary -R .multiboot $< $@
	$(Q)$(check_size)

$(LIBS_arm64):
	@echo "libfdt for arm64 is missing: run ./cupel setup once, or install libfdt-dev:arm64" >&2; exit 1

# --- Guests -------------------------------------------------------------------------------------
GUEST_LIB := $(sort $(wildcard tests/guests/lib/*.c tests/guests/lib/$(ARCH)/*.[cS]))
GUEST_LIB_OBJS := $(patsubst %,$(O)/%.o,$(basename $(GUEST_LIB)))
GUEST_SRCS := $(sort $(wildcard tests/guests/*.c tests/guests/$(ARCH)/*.c))
GUESTS := $(patsubst %.c,$(O)/guests/%.elf,$(notdir $(GUEST_SRCS)))
GUEST_CFLAGS := $(CFLAGS_COMMON) $(CFLAGS_CODE_$(ARCH)) -fno-pic -fno-pie -fno-stack-protector \
	-Itests/guests/lib -Itests/guests/lib/$(ARCH)
GUEST_LDFLAGS := -static --build-id=none --gc-sections -z noexecstack -z max-page-size=4096 \
	--no-warn-rwx-segments -T tests/guests/lib/$(ARCH)/guest.lds

$(O)/tests/guests/%.o: CFLAGS := $(GUEST_CFLAGS)

define guest_rule
$(O)/guests/$(basename $(notdir $(1))).elf: $(O)/$(basename $(1)).o $(GUEST_LIB_OBJS) \
		tests/guests/lib/$(ARCH)/guest.lds
	@mkdir -p $$(@D)
	$$(call say,GUEST,$$@)
	$$(Q)$$(LD) $$(GUEST_LDFLAGS) -o $$@.sym $$(filter %.o,$$^) $$(LIBS_$(ARCH))
	$$(Q)$$(OBJCOPY) --strip-all $$@.sym $$@
endef
$(foreach g,$(GUEST_SRCS),$(eval $(call guest_rule,$g)))

guests: $(O)/guests.cpio
# The VMs of both architectures, then those of this one.
GUEST_CONF := $(wildcard tests/guests/cupel.conf tests/guests/$(ARCH)/vms.conf)
GUEST_FILES = $(sort $(notdir $(GUESTS)) $(if $(GUEST_CONF),cupel.conf))
# cpio keeps times and modes: they are set, so that the archive depends on nothing but its files.
$(O)/guests.cpio: $(GUESTS) $(GUEST_CONF) Makefile
	@mkdir -p $(O)/archive
	$(call say,CPIO,$@)
	$(Q)rm -f $(O)/archive/*
	$(Q)$(if $(GUESTS),cp $(GUESTS) $(O)/archive/)
	$(Q)$(if $(GUEST_CONF),cat $(GUEST_CONF) > $(O)/archive/cupel.conf)
	$(Q)cd $(O)/archive && $(if $(GUEST_FILES),touch -d @0 $(GUEST_FILES) && chmod 644 $(GUEST_FILES) &&) \
		printf '%s\n' $(GUEST_FILES) | cpio -o -H newc -R 0:0 --reproducible --quiet > ../guests.cpio

# --- The text -----------------------------------------------------------------------------------
# One "file<TAB>command" a line, for compile_commands.json and clang-tidy.
list-commands:
	@:$(foreach s,$(filter %.c,$(SRCS)),$(info $s	$(CC) $(CPPFLAGS) $(if $(filter bench/origin.c,$s),$(BUILD_SAYS)) \
		$(CFLAGS) $(if $(filter $(EFI_SRCS),$s),$(EFI_FLAGS)) -c $s))
	@:$(foreach s,$(filter %.c,$(GUEST_LIB) $(GUEST_SRCS)),$(info $s	$(CC) $(CPPFLAGS) $(GUEST_CFLAGS) -c $s))

compile_commands.json: $(SRCS) $(GUEST_SRCS) $(GUEST_LIB) Makefile
	$(Q)tools/compile-commands > $@

lint: compile_commands.json
	$(Q)tools/lint

format:
	$(Q)tools/lint --format

clean:
	rm -rf build/arm64-* build/x86-* build/host-*

-include tests/tests.mk
include tests/fuzz/fuzz.mk
-include $(OBJS:.o=.d) $(GUEST_LIB_OBJS:.o=.d) $(patsubst %.c,$(O)/%.d,$(GUEST_SRCS))
