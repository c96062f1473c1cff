# SPDX-License-Identifier: GPL-2.0-only
"""Cupel seen from gdb: where the image is, before and after its MMU comes on, and what its CPUs, VMs and
locks are at. Loaded by ./cupel run --gdb; `help cupel` lists the commands.

Memory is read by physical address where the debugger's other end can do that (QEMU): Cupel's map is an
identity, so that answers are the same whatever a CPU is in: firmware, a guest, the hypervisor. Nothing is
written, but for one instruction by `cupel lrs`, which is put back."""

import contextlib
import os
import re
import subprocess
import sys

import gdb

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import ram_search  # noqa: E402  (the path comes first)

ROOT = os.path.dirname(os.path.dirname(HERE))
# The one place that every boot comes through with Cupel's own MMU still off.
LAST_BEFORE_MMU = "mmu_switch"
GUEST_ELS = (0, 1)
EM_AARCH64 = 183
WORD = 0xffffffffffffffff


class Session:
    """What was attached to."""

    symbols = image = ram = emulator = None
    ram_base = 0
    base = 0


def physical(on):
    try:
        gdb.execute("maintenance packet Qqemu.PhyMemMode:%d" % on, to_string=True)
        gdb.execute("maintenance flush dcache", to_string=True)
    except gdb.error:
        pass  # not QEMU: then by the selected CPU's own translation


@contextlib.contextmanager
def looking():
    """Memory by physical address, and the selected thread as it was."""
    thread = gdb.selected_thread()
    physical(1)
    try:
        yield
    finally:
        physical(0)
        if thread and thread.is_valid():
            thread.switch()


def is_arm():
    return "aarch64" in gdb.selected_inferior().architecture().name()


def variable(name):
    """A global or static variable of the image."""
    symbol = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
    if symbol is None:
        raise gdb.GdbError("this image has no variable %s" % name)
    return symbol.value()


def struct(name):
    return gdb.lookup_type("struct " + name)


def at(address, of):
    return gdb.Value(int(address) & WORD).cast(of.pointer()).dereference()


def register(name):
    return int(gdb.newest_frame().read_register(name)) & WORD


def where(pc):
    """Function and line of an address, or nothing."""
    function = gdb.execute("info symbol %#x" % pc, to_string=True)
    found = re.match(r"(.+?) in section", function)
    if not found:
        return ""
    line = gdb.find_pc_line(pc)
    at_line = " at %s:%d" % (line.symtab.filename.replace("./", "", 1), line.line) if line.symtab else ""
    return found.group(1).replace(" ", "") + at_line


def in_image(pc):
    start, end = (int(gdb.parse_and_eval("(unsigned long)&" + n)) for n in ("__image_start", "__image_end"))
    return start <= pc < end


# --- Per-CPU variables -----------------------------------------------------------------------------
def offsets():
    """{CPU: offset of its copies}; the boot CPU's is 0 until it has an area of its own."""
    table = variable("percpu_offset")
    found = {}
    for cpu in range(int(variable("platform")["nr_cpus"]) or 1):
        offset = int(table[cpu])
        if offset or cpu == 0:
            found[cpu] = offset
    return found


def percpu(name, offset):
    value = variable(name)
    return at(int(value.address) + offset, value.type)


class Cpu:
    """A thread of gdb's, and which CPU of Cupel's it is; -1: none yet, or its guest hides it."""

    def __init__(self, thread, areas):
        thread.switch()
        self.thread = thread
        self.pc = register("pc")
        offset = register("TPIDR_EL2" if is_arm() else "gs_base")
        found = [cpu for cpu, area in areas.items() if area == offset]
        self.number = found[0] if found and (offset or in_image(self.pc)) else -1
        if is_arm():
            self.in_guest = self.number >= 0 and register("cpsr") >> 2 & 3 in GUEST_ELS
            return
        # A guest has a GS base of its own; so has firmware, on a CPU that has no vCPU yet.
        guess = thread.num - 1
        self.in_guest = self.number < 0 and bool(areas.get(guess)) and \
            bool(int(percpu("run_queue", areas[guess])["current"]))
        if self.in_guest:
            self.number = guess


def cpus():
    areas = offsets()
    threads = sorted(gdb.selected_inferior().threads(), key=lambda t: t.num)
    return [Cpu(thread, areas) for thread in threads], areas


# --- VMs and vCPUs ---------------------------------------------------------------------------------
def queued(areas):
    """The vCPUs that a CPU has or waits for, on every CPU."""
    for offset in areas.values():
        queue = percpu("run_queue", offset)
        for v in (queue["current"], queue["first"]):
            while int(v):
                yield v
                v = v["rq_next"]


def machines():
    """{address: VM}: every VM that has a vCPU on some CPU."""
    found = {int(v["vm"]): v["vm"] for v in queued(offsets())}
    return sorted(found.values(), key=lambda vm: int(vm["id"]))


def vcpus_of(vm):
    return [vm["vcpu"][i] for i in range(int(vm["nr_vcpus"]))]


def name_of(v):
    return "%s.%d" % (v["vm"]["config"]["name"].string(), int(v["id"]))


def chosen(words, kind=machines):
    """VMs, or vCPUs, that a command's words name: all of them, VM, or VM.VCPU."""
    if len(words) > 1:
        raise gdb.GdbError("one VM, or VM.VCPU")
    vms = machines()
    if words:
        name, dot, number = words[0].rpartition(".") if "." in words[0] else (words[0], "", "")
        vms = [vm for vm in vms if vm["config"]["name"].string() == name]
        if not vms or dot and not number.isdigit():
            raise gdb.GdbError("there is no %s now" % words[0])
        if dot and kind is not machines:
            if int(number) >= int(vms[0]["nr_vcpus"]):
                raise gdb.GdbError("%s has %d vCPUs" % (name, int(vms[0]["nr_vcpus"])))
            return [vms[0]["vcpu"][int(number)]]
    if not vms:
        raise gdb.GdbError("no VM has a vCPU on any CPU now")
    return vms if kind is machines else [v for vm in vms for v in vcpus_of(vm)]


def vcpu(words):
    return chosen(words, vcpu)


def enum(value, prefix):
    return str(value).replace(prefix, "").lower()


REQUESTS = ("preempt", "stop", "event", "tlb", "reset", "evtchn", "gpc", "sync", "time")


def requests(v):
    bits = int(v["requests"])
    return ",".join(name for bit, name in enumerate(REQUESTS) if bits >> bit & 1) or "-"


def vcpu_states():
    return {int(f.enumval): f.name[5:].lower() for f in gdb.lookup_type("enum vcpu_run_state").fields()}


# --- Locks -----------------------------------------------------------------------------------------
LOCKS = ("spinlock", "rwlock")


def holds_locks(of, known={}):
    """Whether a value of this type has a lock in it."""
    of = of.strip_typedefs()
    key = str(of)
    if key not in known:
        known[key] = False
        if of.code == gdb.TYPE_CODE_ARRAY:
            known[key] = holds_locks(of.target())
        elif of.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            known[key] = of.tag in LOCKS or any(holds_locks(f.type) for f in of.fields())
    return known[key]


def locks_in(value, path):
    of = value.type.strip_typedefs()
    if not holds_locks(of):
        return
    if of.code == gdb.TYPE_CODE_ARRAY:
        first, last = of.range()
        for i in range(first, last + 1):
            yield from locks_in(value[i], "%s[%d]" % (path, i))
    elif of.tag in LOCKS:
        yield path, value
    else:
        for f in of.fields():
            yield from locks_in(value[f], "%s.%s" % (path, f.name) if f.name else path)


def global_names():
    """Variables with a lock in them, as gdb lists them."""
    listed = gdb.execute("info variables -q -n .", to_string=True)
    for declared in re.findall(r"^\d+:\s+(.*);$", listed, re.M):
        name = re.search(r"(\w+)(\[[^]]*\])*$", declared)
        if name:
            yield name.group(1)


def is_percpu(address):
    start, stop = (int(gdb.parse_and_eval("(unsigned long)&" + n))
                   for n in ("__start_percpu", "__stop_percpu"))
    return start <= address < stop


def all_locks():
    areas = offsets()
    for name in sorted(set(global_names())):
        symbol = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
        if symbol is None or not holds_locks(symbol.type):
            continue
        value = symbol.value()
        if not is_percpu(int(value.address)):
            yield from locks_in(value, name)
            continue
        for cpu, offset in areas.items():
            yield from locks_in(at(int(value.address) + offset, value.type), "CPU %d %s" % (cpu, name))
    for vm in machines():
        yield from locks_of_vm(vm)


def locks_of_vm(vm):
    name = "vm " + vm["config"]["name"].string()
    yield from locks_in(vm.dereference(), name)
    for pointer in ("evtchn", "xen"):
        if int(vm[pointer]):
            yield from locks_in(vm[pointer].dereference(), "%s.%s" % (name, pointer))
    for field in vm["arch"].type.fields():
        value = vm["arch"][field]
        if value.type.code == gdb.TYPE_CODE_PTR and value.type.target().code == gdb.TYPE_CODE_STRUCT \
                and int(value) and value.type.target().fields():
            yield from locks_in(value.dereference(), "%s.arch.%s" % (name, field.name))
    cache = vm["gpcs"]
    while int(cache):
        yield from locks_in(cache.dereference(), "%s.gpc %#x" % (name, int(cache)))
        cache = cache["next"]


def state(lock):
    """How a lock is held; nothing when it is free. The words of a rwlock: core/lock.c."""
    if lock.type.strip_typedefs().tag == "spinlock":
        ahead = (int(lock["next"]) - int(lock["owner"])) & 0xffffffff
        return "held, %d waiting" % (ahead - 1) if ahead else ""
    asked, done = int(lock["asked"]), int(lock["done"])
    writers, readers = (asked - done) & 0xffff, ((asked >> 16) - (done >> 16)) & 0xffff
    return "%d writers and %d readers, in it or waiting" % (writers, readers) if writers or readers else ""


def holders(areas):
    """Debug builds keep what each CPU holds: (CPU, lock, where it was taken)."""
    if gdb.lookup_static_symbol("held_stack") is None:
        return
    for cpu, offset in areas.items():
        stack = percpu("held_stack", offset)
        for i in range(int(stack["count"])):
            site = stack["held"][i]["site"]
            yield cpu, int(stack["held"][i]["lock"]), "%s:%d" % (site["file"].string(), int(site["line"]))


# --- List registers --------------------------------------------------------------------------------
MRS_X0, LDR_W0_X0 = 0xd5300000, 0xb9400000
DAIF = 0xf << 6  # all interrupts masked (Arm ARM C5.2.2)


def mrs(op1, crn, crm, op2):
    """MRS X0, S3_op1_Cn_Cm_op2 (Arm ARM C6.2, MRS)."""
    return MRS_X0 | 1 << 19 | op1 << 16 | crn << 12 | crm << 8 | op2 << 5


@contextlib.contextmanager
def setting(name, value):
    """One of gdb's settings, for a while."""
    old = gdb.parameter(name)
    old = {None: "unlimited", True: "on", False: "off"}.get(old, old)
    gdb.execute("set %s %s" % (name, value))
    try:
        yield
    finally:
        gdb.execute("set %s %s" % (name, old))


def quietly():
    """Stops that are a command's own are not told."""
    return setting("suppress-cli-notifications", "on")


def step(pc):
    """One instruction. In a prologue it leaves gdb with frames that are not there, and it would look for the
    selected one among all of them: it is given this one only."""
    with setting("scheduler-locking", "on"), setting("backtrace limit", 1), quietly():
        gdb.execute("stepi", to_string=True)
    if register("pc") != pc + 4:
        raise gdb.GdbError("the CPU is at %#x after one instruction at %#x" % (register("pc"), pc))


def run_one(instruction, x0=0):
    """X0 after one instruction on the selected CPU, which must be at EL2: QEMU shows no ICH registers. An
    interrupt would be taken in its place, and what that does can't be taken back."""
    pc, old_x0, cpsr = register("pc"), register("x0"), register("cpsr")
    memory = gdb.selected_inferior()
    old = bytes(memory.read_memory(pc, 4))
    try:
        memory.write_memory(pc, instruction.to_bytes(4, "little"))
        gdb.execute("set $cpsr = %#x" % (cpsr | DAIF))
        gdb.execute("set $x0 = %d" % x0)
        step(pc)
        return register("x0")
    finally:
        memory.write_memory(pc, old)
        for name, value in (("x0", old_x0), ("cpsr", cpsr), ("pc", pc)):
            gdb.execute("set $%s = %#x" % (name, value))


def read_lrs(count, sysregs):
    if sysregs:
        return [run_one(mrs(4, 12, 12 + n // 8, n % 8)) for n in range(count)]
    base = int(variable("platform")["gic"]["hyp_if"]["base"])
    return [run_one(LDR_W0_X0, base + 0x100 + 4 * n) for n in range(count)]


LR_STATES = ("empty", "pending", "active", "pending and active")


def lr_text(value, sysregs):
    """ICH_LRn_EL2 (IHI 0069 12.4.10), or GICH_LRn (IHI 0048 5.3.4)."""
    if sysregs:
        text = "%s, priority %#x" % (LR_STATES[value >> 62], value >> 48 & 0xff)
        text += ", INTID %d" % (value & 0xffffffff)
        return text + (", host's %d" % (value >> 32 & 0x3ff) if value >> 61 & 1 else "")
    text = "%s, priority %#x" % (LR_STATES[value >> 28 & 3], (value >> 23 & 0x1f) << 3)
    text += ", INTID %d" % (value & 0x3ff)
    return text + (", host's %d" % (value >> 10 & 0x3ff) if value >> 31 else "")


def show_virqs(v):
    """What is known of the private interrupts that are not idle."""
    words = v["arch"]["vgic"]["irq"]
    names = ((0, "latched"), (1, "line"), (2, "active"), (6, "in a list register"), (31, "pending there"))
    for intid in range(32):
        word = int(words[intid])
        says = [name for bit, name in names if word >> bit & 1]
        if says:
            print("  INTID %d: %s%s" % (intid, ", ".join(says), "" if word >> 3 & 1 else ", disabled"))


def show_lrs(v, found):
    vgic, hw = v["arch"]["vgic"], variable("vgic_hw")
    used, count, sysregs = int(vgic["lr_used"]), int(hw["nr_lrs"]), bool(hw["sysregs"])
    print("%s: list registers in use: %#x of %d" % (name_of(v), used, count))
    cpu = next((c for c in found if c.number == int(v["cpu"])), None) if int(v["cpu"]) >= 0 else None
    if cpu and not cpu.in_guest:
        cpu.thread.switch()
        physical(0)
        values = read_lrs(count, sysregs)
        physical(1)
        for n, value in enumerate(values):
            print("  LR%d %#018x: %s" % (n, value, lr_text(value, sysregs)))
    else:
        if cpu:
            print("  CPU %d is in the guest: as they were filled" % cpu.number)
        for n in range(count):
            if used >> n & 1:
                print("  LR%d: INTID %d" % (n, int(vgic["lr_intid"][n])))
    show_virqs(v)


# --- Where the image is ----------------------------------------------------------------------------
def candidates():
    if not Session.ram:
        return []
    return ram_search.Search(Session.ram, Session.ram_base, Session.image).find()


def quoted(path):
    return re.sub(r"([\s'\"\\])", r"\\\1", path)


def load(base):
    gdb.execute("symbol-file %s -o %#x" % (quoted(Session.symbols), base), to_string=True)
    Session.base = base
    print("the image is at %#x" % base)


def find_image():
    """The one copy in memory, or the one that a CPU is in."""
    found, size = candidates(), os.path.getsize(Session.image)
    pcs = []
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        pcs.append(register("pc"))
    running = [base for base in found if any(base <= pc < base + size for pc in pcs)]
    for some in (running, found):
        if len(some) == 1:
            load(some[0])
            return
    raise gdb.GdbError("the image is at: %s. `cupel load ADDRESS` chooses" %
                       (", ".join("%#x" % base for base in found) or "no address yet; `cupel wait`"))


def run_until_new(known):
    """Let the machine run until it stops, or the image is at an address it was not at; all of those."""
    helper = subprocess.Popen(["/usr/bin/python3", os.path.join(HERE, "ram_search.py"), Session.ram,
                               "%#x" % Session.ram_base, Session.image, Session.emulator, str(os.getpid()),
                               *("%#x" % base for base in known)], text=True, stdout=subprocess.PIPE)
    try:
        with quietly():
            gdb.execute("continue", to_string=True)
    except gdb.error as error:
        raise gdb.GdbError("the machine ended before its image was found: %s" % error)
    finally:
        helper.terminate()
        said = helper.communicate()[0]
    return {int(word, 16) for word in said.split()}


def wait():
    """Let firmware load the image and start it, and stop when its own MMU is about to come on. Firmware may
    have it at several places (a file's buffer, then where it runs): whichever is entered is it."""
    gdb.execute("symbol-file %s -o 0" % quoted(Session.symbols), to_string=True)
    offset = int(gdb.parse_and_eval("(unsigned long)&" + LAST_BEFORE_MMU))
    stops = {}
    while True:
        found = run_until_new(stops) or set()
        pc = register("pc")
        if pc in [base + offset for base in stops]:
            break
        if not found - set(stops):
            raise gdb.GdbError("stopped at %#x, before the image was entered" % pc)
        for base in found - set(stops):
            stops[base] = gdb.Breakpoint("*%#x" % (base + offset), type=gdb.BP_HARDWARE_BREAKPOINT, internal=True)
    for stop in stops.values():
        stop.delete()
    load(pc - offset)


# --- Commands --------------------------------------------------------------------------------------
class Cupel(gdb.Command):
    """Cupel: where its image is, and what its CPUs, VMs and locks are at."""

    def __init__(self):
        super().__init__("cupel", gdb.COMMAND_DATA, prefix=True)


Cupel()


def command(function):
    """Makes `cupel NAME` of a function of its words."""
    def invoke(_self, argument, _from_tty):
        words = gdb.string_to_argv(argument)
        with looking():
            function(words)

    name = "cupel " + function.__name__[4:]
    kind = type(function.__name__, (gdb.Command,), {"invoke": invoke, "__doc__": function.__doc__})
    kind(name, gdb.COMMAND_DATA)
    return function


@command
def cmd_cpus(_words):
    """cupel cpus: where each CPU is, and which vCPU it has."""
    found, areas = cpus()
    for cpu in found:
        name = "CPU %d" % cpu.number if cpu.number >= 0 else "CPU ?"
        text = "in the guest at %#x" % cpu.pc if cpu.in_guest else "%#x %s" % (cpu.pc, where(cpu.pc))
        current = percpu("run_queue", areas[cpu.number])["current"] if cpu.number >= 0 else 0
        if cpu.number < 0 and not where(cpu.pc):
            text = "%#x, not in Cupel" % cpu.pc
        print("%s (thread %d): %s%s" % (name, cpu.thread.num, text,
                                       ", " + name_of(current) if int(current) else ""))


@command
def cmd_vcpus(words):
    """cupel vcpus [VM]: state, CPU, requests and exits of vCPUs."""
    states = vcpu_states()
    for v in chosen(words, vcpu):
        loaded = "loaded on CPU %d" % int(v["cpu"]) if int(v["cpu"]) >= 0 else "loaded nowhere"
        print("%s: %s, queue of CPU %d, %s%s, requests %s, %d loads, %d exits" % (
            name_of(v), states.get(int(v["run_state"]), "?"), int(v["sched_cpu"]), loaded,
            ", in the guest" if int(v["mode"]) else "", requests(v), int(v["loads"]),
            sum(int(v["exits"][i]) for i in range(v["exits"].type.range()[1] + 1))))


@command
def cmd_regs(words):
    """cupel regs VM.VCPU: its registers, as they were when it last came out of the guest."""
    for v in chosen(words, vcpu):
        arch = v["arch"]
        if is_arm():
            context = arch["cur"].dereference()
            rows = [("x%d" % n, context["regs"][n]) for n in range(31)]
            rows += [("pc", context["pc"]), ("pstate", context["pstate"])]
        else:
            names = gdb.lookup_type("enum gpr").fields()
            rows = [(f.name[4:].lower(), arch["gpr_ptr"][int(f.enumval)].dereference())
                    for f in names if f.name != "NR_GPRS"]
            save = vmcb_of(v)["save"]
            rows += [("rip", save["rip"]), ("rflags", save["rflags"])]
        print(name_of(v))
        for start in range(0, len(rows), 4):
            print(" " + "".join(" %-6s %016x" % (name, int(value)) for name, value in rows[start:start + 4]))


@command
def cmd_lrs(words):
    """cupel lrs [VM.VCPU]: arm64: list registers, and private interrupts that are not idle. Live ones are
    read on the CPU itself if that is in the hypervisor."""
    if not is_arm():
        raise gdb.GdbError("list registers are arm64's; here it is `cupel vmcb`")
    found, _ = cpus()
    for v in chosen(words, vcpu):
        show_lrs(v, found)


def vmcb_of(v):
    return v["arch"]["cur"]["control"].cast(struct("vmcb").pointer()).dereference()


def show_fields(value, name="", indent="  "):
    """The numbers of a structure that are not 0, four a line, and then the structures in it."""
    fields = [f for f in value.type.fields() if f.name and not re.match(r"rsvd|reserved|pad", f.name)]
    kinds = {f.name: value[f].type.strip_typedefs().code for f in fields}
    numbers = ["%s=%#x" % (f.name, int(value[f])) for f in fields
               if kinds[f.name] == gdb.TYPE_CODE_INT and int(value[f])]
    for start in range(0, len(numbers), 4):
        print(indent + "%-6s " % name + "  ".join(numbers[start:start + 4]))
    for f in fields:
        if kinds[f.name] == gdb.TYPE_CODE_STRUCT:
            show_fields(value[f], f.name, indent)


@command
def cmd_vmcb(words):
    """cupel vmcb [VM.VCPU]: x86: its control block, as of its last exit; fields that are 0 are left out."""
    if is_arm():
        raise gdb.GdbError("control blocks are x86's; here it is `cupel lrs`")
    for v in chosen(words, vcpu):
        print("%s: VMCB at %#x" % (name_of(v), int(v["arch"]["cur"]["control"])))
        show_fields(vmcb_of(v))


@command
def cmd_percpu(words):
    """cupel percpu NAME: a per-CPU variable, on every CPU."""
    if len(words) != 1:
        raise gdb.GdbError("which variable?")
    if not is_percpu(int(variable(words[0]).address)):
        raise gdb.GdbError("%s is no per-CPU variable" % words[0])
    for cpu, offset in offsets().items():
        value = percpu(words[0], offset)
        print("CPU %d: %s" % (cpu, value.format_string(max_elements=16)))


@command
def cmd_slots(words):
    """cupel slots [VM]: memory of VMs."""
    for vm in chosen(words):
        print("%s: generation %d" % (vm["config"]["name"].string(), int(vm["generation"])))
        slots = vm["slots"]
        for i in range(int(slots["count"]) if int(slots) else 0):
            slot = slots["slot"][i]
            flags = [name for bit, name in enumerate(("read-only", "dirty log")) if int(slot["flags"]) >> bit & 1]
            print("  %#x + %#x at %#x%s%s" % (
                int(slot["gpa"]), int(slot["size"]), int(slot["pa"]), "".join(", " + f for f in flags),
                ", pages have moved" if int(slot["frame"]) else ""))


@command
def cmd_locks(_words):
    """cupel locks: locks that are held; in a debug build also by which CPU, and where it was taken."""
    held = {lock: (cpu, site) for cpu, lock, site in holders(offsets())}
    seen, count = set(), 0
    for path, lock in all_locks():
        address = int(lock.address)
        if address in seen:
            continue
        seen.add(address)
        text = state(lock)
        if text:
            count += 1
            print("%s: %s%s" % (path, text, " by CPU %d, taken at %s" % held[address] if address in held else ""))
    print("%d of %d locks are held" % (count, len(seen)))


@command
def cmd_load(words):
    """cupel load ADDRESS: arm64: the symbols, for an image that was put there. Without an address: find it."""
    if words:
        load(int(gdb.parse_and_eval(words[0])))
    else:
        find_image()


@command
def cmd_wait(_words):
    """cupel wait: run firmware until it has loaded the image, which is about to turn on its own MMU."""
    if not Session.ram:
        raise gdb.GdbError("the machine's memory can't be searched: `cupel load ADDRESS`")
    physical(0)
    wait()


@command
def cmd_attach(words):
    """cupel attach SYMBOLS IMAGE TARGET [RAM-FILE RAM-BASE|pc PID-FILE]: what ./cupel run --gdb does."""
    Session.symbols, Session.image, target = words[:3]
    if len(words) > 3:
        Session.ram = words[3]
        with open(words[5], encoding="ascii") as file:
            Session.emulator = file.read().strip()
    with open(Session.symbols, "rb") as file:
        arm = file.read(20)[18] == EM_AARCH64
    for line in ("set confirm off", "set pagination off", "directory " + quoted(ROOT),
                 "set architecture aarch64" if arm else "symbol-file " + quoted(Session.symbols),
                 "target remote " + target):
        gdb.execute(line, to_string=True)
    if len(words) > 3:
        Session.ram_base = register("pc") if words[4] == "pc" else int(words[4], 16)
    if arm:
        with contextlib.suppress(gdb.GdbError):
            find_image()

