# SPDX-License-Identifier: GPL-2.0-only
# One build for both architectures, out of tree in build/.
#
#   make ARCH=arm64|x86 [BUILD=release|debug|ubsan] [CC=clang] [CROSS_COMPILE=prefix-] [V=1]
#   make ARCH=… guests      the test guests and their archive
#   make unit               core/ for the host, and its tests
#
# Sources are found by their place: core/, bench/, arch/$(ARCH)/ and the drivers listed below.

ARCH ?= arm64
BUILD ?= release
V ?= 0
Q := $(if $(filter 1,$(V)),,@)

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
else ifneq ($(findstring clang,$(CC)),)
CC += --target=$(triple_$(ARCH))
endif
LD := $(CROSS_COMPILE)ld
OBJCOPY := $(CROSS_COMPILE)objcopy
NM := $(CROSS_COMPILE)nm
HOSTCC ?= gcc

O := build/$(ARCH)-$(BUILD)

# Debian's libfdt for arm64: from the machine itself, or fetched into build/deps by `./cupel setup`.
DEPS_arm64 := $(firstword $(wildcard build/deps/arm64/usr) /usr)
LIBFDT_arm64 := $(DEPS_arm64)/lib/aarch64-linux-gnu/libfdt.a
LIBFDT_INC := $(DEPS_arm64)/include

drivers_arm64 := gic/* timer/arm_* uart/*pl011 uart/ns16550 firmware/fdt firmware/psci
drivers_x86 := apic/* timer/x86_* uart/ns16550 uart/v16550 firmware/acpi firmware/multiboot firmware/pvh
SRCS := $(sort $(wildcard core/*.c) $(wildcard bench/*.c) \
	$(wildcard arch/$(ARCH)/*.[cS] arch/$(ARCH)/*/*.[cS]) \
	$(foreach d,$(drivers_$(ARCH)),$(wildcard drivers/$d.c)))
OBJS := $(patsubst %,$(O)/%.o,$(basename $(SRCS)))
LIBS_arm64 = $(LIBFDT_arm64)

INCLUDES := -Iinclude -Iarch/$(ARCH)/include -Iinclude/libc
CPPFLAGS_arm64 := -idirafter $(LIBFDT_INC)
CPPFLAGS := -nostdinc -isystem $(shell $(CC) -print-file-name=include) $(INCLUDES) $(CPPFLAGS_$(ARCH))

CFLAGS_COMMON := -std=gnu11 -O2 -g -ffreestanding -fno-common -fno-strict-aliasing \
	-fno-asynchronous-unwind-tables -fno-omit-frame-pointer -fno-delete-null-pointer-checks \
	-Wall -Wextra -Wundef -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla \
	-Wno-unused-parameter -Wno-missing-field-initializers -Werror \
	-ffile-prefix-map=$(CURDIR)=. -ffunction-sections -fdata-sections
CFLAGS_arm64 := -mno-outline-atomics -mstrict-align -mgeneral-regs-only -fpie -fvisibility=hidden
CFLAGS_x86 := -m64 -mno-red-zone -mgeneral-regs-only -mcmodel=kernel -fno-pic -mno-mmx -mno-sse
ifneq ($(findstring clang,$(CC)),)
CFLAGS_arm64 := $(filter-out -mno-outline-atomics,$(CFLAGS_arm64)) -mno-outline-atomics -Wno-unused-command-line-argument
endif
CFLAGS_x86 := $(filter-out -mcmodel=kernel,$(CFLAGS_x86))
CFLAGS_HYP := -fstack-protector-strong -mstack-protector-guard=global
CFLAGS_release :=
CFLAGS_debug := -DCONFIG_DEBUG=1 -fsanitize=undefined -fno-sanitize=alignment
CFLAGS_ubsan := -fsanitize=undefined -fno-sanitize=alignment
CFLAGS := $(CFLAGS_COMMON) $(CFLAGS_$(ARCH)) $(CFLAGS_HYP) $(CFLAGS_$(BUILD))
ifneq ($(findstring clang,$(CC)),)
CFLAGS := $(filter-out -mstack-protector-guard=global,$(CFLAGS))
endif

LDFLAGS_arm64 := -static -pie --no-dynamic-linker -z notext -z text -Bsymbolic
LDFLAGS_x86 := -static -z max-page-size=4096
LDFLAGS := --build-id=sha1 --gc-sections --fatal-warnings -z noexecstack $(LDFLAGS_$(ARCH)) \
	-T linker/$(ARCH).lds

IMAGE_arm64 := $(O)/cupel.bin
IMAGE_x86 := $(O)/cupel.elf

.PHONY: all image guests clean
all: image guests
image: $(IMAGE_$(ARCH))

$(O)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC   $@")
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(O)/%.o: %.S Makefile
	@mkdir -p $(@D)
	$(if $(Q),@echo "  AS   $@")
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -D__ASSEMBLY__ -MMD -MP -c $< -o $@

$(O)/cupel.sym.elf: $(OBJS) linker/$(ARCH).lds $(LIBS_$(ARCH))
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(LD) $(LDFLAGS) -o $@ $(OBJS) $(LIBS_$(ARCH))

$(O)/cupel.bin: $(O)/cupel.sym.elf
	$(Q)$(OBJCOPY) -O binary $< $@

# QEMU's Multiboot loader takes 32-bit ELF only; the symbols stay in cupel.sym.elf.
$(O)/cupel.elf: $(O)/cupel.sym.elf
	$(Q)$(OBJCOPY) -O elf32-i386 --strip-all $< $@

$(LIBFDT_arm64):
	@echo "libfdt for arm64 is missing: install libfdt-dev:arm64, or run ./cupel setup once" >&2; exit 1

# --- Guests -------------------------------------------------------------------------------------
GUEST_LIB := $(wildcard tests/guests/lib/*.c tests/guests/lib/$(ARCH)/*.[cS])
GUEST_LIB_OBJS := $(patsubst %,$(O)/%.o,$(basename $(GUEST_LIB)))
GUEST_SRCS := $(wildcard tests/guests/*.c tests/guests/$(ARCH)/*.c)
GUESTS := $(patsubst %.c,$(O)/guests/%.elf,$(notdir $(GUEST_SRCS)))
GUEST_CFLAGS := $(CFLAGS_COMMON) $(filter-out -fpie,$(CFLAGS_$(ARCH))) -fno-pic -fno-stack-protector \
	-Itests/guests/lib -Itests/guests/lib/$(ARCH)
GUEST_LDFLAGS := -static --build-id=none --gc-sections -z noexecstack -z max-page-size=4096 \
	--no-warn-rwx-segments -T tests/guests/lib/$(ARCH)/guest.lds

$(O)/tests/guests/%.o: CFLAGS := $(GUEST_CFLAGS)

define guest_rule
$(O)/guests/$(basename $(notdir $(1))).elf: $(O)/$(basename $(1)).o $(GUEST_LIB_OBJS) \
		tests/guests/lib/$(ARCH)/guest.lds
	@mkdir -p $$(@D)
	$$(Q)$$(LD) $$(GUEST_LDFLAGS) -o $$@.sym $$(filter %.o,$$^) $$(LIBS_$(ARCH))
	$$(Q)$$(OBJCOPY) --strip-all $$@.sym $$@
endef
$(foreach g,$(GUEST_SRCS),$(eval $(call guest_rule,$g)))

guests: $(O)/guests.cpio
$(O)/guests.cpio: $(GUESTS) $(wildcard tests/guests/cupel.conf)
	@mkdir -p $(O)/guests
	$(Q)cp $(wildcard tests/guests/cupel.conf) $(O)/guests/ 2>/dev/null || true
	$(Q)cd $(O)/guests && touch -d @0 *.elf $(notdir $(wildcard tests/guests/cupel.conf)) && \
		ls *.elf $(notdir $(wildcard tests/guests/cupel.conf)) | LC_ALL=C sort | \
		cpio -o -H newc -R 0:0 --reproducible --quiet > ../guests.cpio

clean:
	rm -rf build/arm64-* build/x86-* build/host-*

-include tests/tests.mk
-include $(OBJS:.o=.d) $(GUEST_LIB_OBJS:.o=.d) $(patsubst %.c,$(O)/%.d,$(GUEST_SRCS))
