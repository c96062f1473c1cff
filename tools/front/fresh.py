# SPDX-License-Identifier: GPL-2.0-only
"""./cupel check --fresh: both commands of the README in a Debian that has nothing on it, so that what is
needed beyond tools/packages comes to light. The chroot has mounts and processes of its own, which end with it."""

import os
import re
import shutil
import subprocess
import time

from . import ROOT, Failure, Usage, tied

HELP = """\
./cupel check --fresh [--in DIR] [--debian bookworm|trixie] [words of the check inside]

As root: put a bare Debian (debootstrap, minbase) into DIR (default build/fresh), a clone of HEAD into
that, and there run `./cupel run` and then `./cupel check`. Needs 4 GB of disk, the network, and half an
hour. DIR goes away when all has passed, and stays for a look when something has failed.

  --debian NAME   which release (default: this machine's)
  --in DIR        where; it must not be there yet
  other words     go to the check inside: `--fast`, or `--only "build arm64 release"`, for a part of it

The output is also in build/check/fresh.log."""

RELEASES = ("bookworm", "trixie")
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
INSIDE = "/root/cupel"

# Run in mount and process namespaces of its own: what is mounted and started here ends with the shell.
ENTER = """\
set -e
mount --make-rprivate /
mount -t proc proc "$1/proc"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
mkdir -p "$1/dev/shm"
mount -t tmpfs tmpfs "$1/dev/shm"
shift_root=$1
shift
exec chroot "$shift_root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \\
	${http_proxy:+http_proxy="$http_proxy"} /bin/sh -c 'cd %s && exec "$@"' cupel "$@"
""" % INSIDE


class Log:
    """Shows what a command says, and keeps it."""

    def __init__(self):
        path = os.path.join(ROOT, "build/check/fresh.log")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.file = open(path, "w", encoding="utf-8")

    def line(self, text):
        print(text, flush=True)
        self.file.write(text + "\n")
        self.file.flush()

    def run(self, argv, show=True):
        """Exit status of a command; its lines are shown as they come, or only kept."""
        with subprocess.Popen(tied(argv), cwd=ROOT, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as child:
            for line in child.stdout:
                self.file.write(line)
                if show:
                    print(line, end="", flush=True)
            self.file.flush()
        return child.returncode


def parse(words):
    options = {"--in": os.path.join(ROOT, "build/fresh"), "--debian": None}
    inner, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        if word not in options:
            inner.append(word)
            continue
        if not rest:
            raise Usage("%s needs a value" % word)
        options[word] = rest.pop(0)
    release = options["--debian"] or this_release()
    if release not in RELEASES:
        raise Usage("--debian is %s, not '%s'" % (" or ".join(RELEASES), release))
    return os.path.abspath(options["--in"]), release, inner


def this_release():
    with open("/etc/os-release", encoding="utf-8") as file:
        found = re.search(r"^VERSION_CODENAME=(\w+)$", file.read(), re.M)
    return found.group(1) if found else "unknown"


def mirror():
    """Where this machine gets its own packages from."""
    out = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Identifier: Packages",
                          "Release: " + this_release()], text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return (out.splitlines() or [MIRROR])[0]


def check_machine(place):
    if os.geteuid():
        raise Failure("a chroot needs root: run this as root, or with sudo")
    if not shutil.which("debootstrap"):
        raise Failure("debootstrap is not installed: ./cupel setup")
    if os.path.exists(place):
        raise Failure("%s is there already: remove it, or name another with --in" % place)


def make_chroot(log, place, release):
    log.line("a bare Debian %s in %s …" % (release, place))
    if log.run(["debootstrap", "--variant=minbase", "--keyring=" + KEYRING, release, place, mirror()],
               show=False):
        raise Failure("debootstrap failed: see build/check/fresh.log")
    if log.run(["git", "clone", "-q", "--no-hardlinks", ROOT, place + INSIDE]):
        raise Failure("there is no clone of this tree")
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, text=True, check=False,
                      stdout=subprocess.PIPE).stdout.strip():
        log.line("what is not committed is not in it")


def inside(log, place, *words):
    log.line("--- in it: %s" % " ".join(words))
    started = time.monotonic()
    status = log.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", ENTER,
                      "enter", place, *words])
    log.line("--- %s after %.0f s" % ("ended with %d" % status if status else "ok",
                                      time.monotonic() - started))
    return status


def main(words):
    place, release, inner = parse(words)
    check_machine(place)
    log = Log()
    make_chroot(log, place, release)
    failed = [" ".join(command) for command in (("./cupel", "run"), ("./cupel", "check", *inner))
              if inside(log, place, *command)]
    if failed:
        log.line("it is still in %s" % place)
        raise Failure("failed in a bare Debian: %s" % "; ".join(failed))
    shutil.rmtree(place)
    return 0
