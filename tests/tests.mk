# SPDX-License-Identifier: GPL-2.0-only
# Unit tests: core/, the parsers and bench/ for the host, each test_*.c a program of its own.
#
#   make unit [SAN=address|thread]     build and run; SAN=address includes UBSan
#   make unit TESTS="lock sched"       only these
#   make unit-asan, make unit-tsan     the same with a sanitizer
#
# SAN=release is the same without a test's checks, at -O2, for the host program (`make host`).
#
# A test that needs more than the archive below names it: UNIT_SRCS_<test> := file.c …

SAN ?= none
UNIT := build/host-$(SAN)
UNIT_SAN_none :=
UNIT_SAN_release :=
UNIT_SAN_address := -fsanitize=address,undefined -fno-sanitize-recover=undefined
UNIT_SAN_thread := -fsanitize=thread -Wno-tsan
ifeq ($(filter $(SAN),none release address thread),)
$(error SAN is '$(SAN)': none, release, address or thread)
endif

# Ours under names of their own, so that cmocka and the sanitizers keep theirs.
UNIT_RENAME := -Dsnprintf=cupel_snprintf -Dvsnprintf=cupel_vsnprintf
UNIT_LIBC := memcpy memmove memset memcmp memchr strlen strnlen strcmp strncmp strchr strrchr strstr \
	strtoul

UNIT_CFLAGS := -std=gnu11 $(if $(filter release,$(SAN)),-O2,-O1 -DCONFIG_DEBUG=1) -g -fno-common \
	-fno-strict-aliasing -fno-omit-frame-pointer -fno-delete-null-pointer-checks \
	-D_GNU_SOURCE $(UNIT_RENAME) -Iinclude -Ihost/include \
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wno-unused-parameter \
	-Wno-missing-field-initializers -Werror -pthread $(UNIT_SAN_$(SAN))
# The code under test sees the freestanding headers, the tests those of the host.
UNIT_CORE_CFLAGS := $(UNIT_CFLAGS) -ffreestanding -Iinclude/libc \
	-DBUILD_COMPILER='"$(HOSTCC)"' -DBUILD_FLAGS='"host-$(SAN): $(filter -O% -f% -DCONFIG%,$(UNIT_CFLAGS))"'

# core/ubsan.c would stand in for the sanitizer's own runtime.
UNIT_CORE := $(filter-out core/ubsan.c core/no_tests.c core/selftest_%.c,$(wildcard core/*.c)) $(wildcard bench/*.c) \
	$(wildcard drivers/firmware/fdt.c drivers/firmware/acpi*.c) drivers/firmware/firmware.c drivers/firmware/efi.c
UNIT_SELFTESTS := $(wildcard core/selftest_*.c)
UNIT_HOST := host/machine.c host/guest.c

UNIT_TESTS := $(patsubst tests/unit/test_%.c,%,$(sort $(wildcard tests/unit/test_*.c)))
ifneq ($(SAN),none)
UNIT_TESTS := $(filter-out ubsan,$(UNIT_TESTS))
endif
# The weak machine's CPUs are coroutines of one thread: nothing for the sanitizer of threads.
ifeq ($(SAN),thread)
UNIT_TESTS := $(filter-out srcu_weak evtchn_weak,$(UNIT_TESTS))
endif
TESTS ?= $(UNIT_TESTS)

UNIT_SRCS_loaders := drivers/firmware/multiboot.c drivers/firmware/multiboot2.c drivers/firmware/linux.c drivers/firmware/pvh.c
UNIT_SRCS_uart := drivers/uart/polled.c drivers/uart/ns16550.c
UNIT_SRCS_ubsan := core/ubsan.c
UNIT_SRCS_efi_stub := drivers/firmware/efi_stub.c
UNIT_SRCS_decode := arch/x86/decode.c
UNIT_SRCS_selftest := $(UNIT_SELFTESTS)
UNIT_SRCS_monitor := $(UNIT_SELFTESTS) $(wildcard core/torture_*.c)
UNIT_SRCS_srcu_weak := tests/unit/weak.c
UNIT_SRCS_evtchn_weak := tests/unit/weak.c
UNIT_SRCS_torture := $(wildcard core/torture_*.c)

unit_obj = $(patsubst %.c,$(UNIT)/%.o,$(1))

$(UNIT)/core/%.o $(UNIT)/bench/%.o $(UNIT)/drivers/%.o $(UNIT)/arch/%.o: UNIT_FLAGS = $(UNIT_CORE_CFLAGS)
$(UNIT)/tests/%.o $(UNIT)/host/%.o: UNIT_FLAGS = $(UNIT_CFLAGS)
# How often a race is raced: a sanitizer makes each round longer.
$(UNIT)/tests/unit/test_race.o: UNIT_FLAGS = $(UNIT_CFLAGS) -DROUNDS=$(if $(filter thread,$(SAN)),5000,200000)
$(UNIT)/tests/unit/test_evtchn_storm.o: UNIT_FLAGS = $(UNIT_CFLAGS) -DROUNDS=$(if $(filter thread,$(SAN)),3000,300000)
$(UNIT)/tests/unit/test_srcu_weak.o: UNIT_FLAGS = $(UNIT_CFLAGS) -DRUNS=$(if $(filter address,$(SAN)),500,12000)
$(UNIT)/tests/unit/test_ubsan.o: UNIT_FLAGS = $(UNIT_CFLAGS) -fsanitize=undefined
# EFI's headers and, on x86, its calling convention.
UNIT_EFI := -isystem /usr/include/efi -fshort-wchar -DGNU_EFI_USE_MS_ABI
$(UNIT)/drivers/firmware/efi_stub.o: UNIT_FLAGS = $(UNIT_CORE_CFLAGS) $(UNIT_EFI)
$(UNIT)/tests/unit/test_efi_stub.o: UNIT_FLAGS = $(UNIT_CFLAGS) $(UNIT_EFI)
# <asm/decode.h> is the decoder's own; whatever else is asm/ comes from the stand-in.
$(UNIT)/arch/x86/decode.o: UNIT_FLAGS = $(UNIT_CORE_CFLAGS) -idirafter arch/x86/include
$(UNIT)/tests/unit/test_decode.o: UNIT_FLAGS = $(UNIT_CFLAGS) -idirafter arch/x86/include
$(UNIT)/core/string.o: UNIT_FLAGS = $(UNIT_CORE_CFLAGS) $(foreach f,$(UNIT_LIBC),-D$f=cupel_$f)

$(UNIT)/%.o: %.c Makefile tests/tests.mk
	@mkdir -p $(@D)
	$(call say,HOSTCC,$@)
	$(Q)$(HOSTCC) $(UNIT_FLAGS) -MMD -MP -c $< -o $@

$(UNIT)/core.a: $(call unit_obj,$(UNIT_CORE) $(UNIT_HOST))
	$(Q)rm -f $@ && ar rcs $@ $^

define unit_rule
$(UNIT)/test_$(1): $(call unit_obj,tests/unit/test_$(1).c tests/unit/host.c $(UNIT_SRCS_$(1))) $(UNIT)/core.a
	$$(call say,LD,$$@)
	$$(Q)$$(HOSTCC) $(UNIT_CFLAGS) -o $$@ $$^ -lcmocka $(if $(filter fdt,$(1)),-lfdt)
endef
$(foreach t,$(UNIT_TESTS),$(eval $(call unit_rule,$t)))

# The host program: all of core/ and bench/, so that every experiment and self-test is in it.
HOST_SRCS := host/main.c host/guests.c $(UNIT_HOST) $(filter-out drivers/%,$(UNIT_CORE)) $(UNIT_SELFTESTS)
$(UNIT)/cupel-host: $(call unit_obj,$(HOST_SRCS))
	$(call say,LD,$@)
	$(Q)$(HOSTCC) $(UNIT_CFLAGS) -Wl,--build-id=sha1 -o $@ $^

.PHONY: host host-program
host: # SAN=thread, address or none: with that
	$(Q)$(MAKE) host-program SAN=$(if $(filter command,$(origin SAN)),$(SAN),release)
host-program: $(UNIT)/cupel-host

# What `./cupel archive` asks about an archive, of the code that will read it.
ARCHIVE_CHECK_SRCS := host/archive_check.c $(addprefix core/,archive.c config.c vm_config.c guest_image.c string.c)
$(UNIT)/archive-check: $(call unit_obj,$(ARCHIVE_CHECK_SRCS))
	$(call say,LD,$@)
	$(Q)$(HOSTCC) $(UNIT_CFLAGS) -o $@ $^
.PHONY: archive-check
archive-check: $(UNIT)/archive-check

# Threads of stand-in CPUs still run when a test program ends: that is no leak.
UNIT_ENV := TSAN_OPTIONS="halt_on_error=1 report_thread_leaks=0 $(TSAN_OPTIONS)" \
	ASAN_OPTIONS="detect_leaks=0 $(ASAN_OPTIONS)"

.PHONY: unit unit-asan unit-tsan unit-build $(TESTS:%=unit-run-%)
unit: $(TESTS:%=unit-run-%)
unit-build: $(TESTS:%=$(UNIT)/test_%)
$(TESTS:%=unit-run-%): unit-run-%: $(UNIT)/test_%
	$(Q)$(UNIT_ENV) timeout 120 $< >$<.log 2>&1; code=$$?; cat $<.log; \
	test $$code = 0 || { echo "$<: failed with $$code"; exit 1; }
unit-asan:
	$(Q)$(MAKE) unit SAN=address
unit-tsan:
	$(Q)$(MAKE) unit SAN=thread

-include $(patsubst %.o,%.d,$(call unit_obj,$(UNIT_CORE) $(UNIT_HOST) $(UNIT_SELFTESTS) core/ubsan.c \
	tests/unit/host.c host/main.c host/guests.c host/archive_check.c $(wildcard tests/unit/test_*.c)))
