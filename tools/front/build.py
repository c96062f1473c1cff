# SPDX-License-Identifier: GPL-2.0-only
"""Getting the machine ready and the image built, before anything is booted."""

import os
import subprocess

from . import ROOT, Failure


def setup():
    """Says and installs what is missing; silent and quick when nothing is."""
    result = subprocess.run([os.path.join(ROOT, "tools/setup")],
                            env=dict(os.environ, CUPEL_QUIET="1"), check=False)
    if result.returncode:
        raise Failure("the machine is not ready: see above")


def directory(arch, build="release"):
    return os.path.join(ROOT, "build", "%s-%s" % (arch, build))


def make(*words, quiet=True):
    """make, with its output shown only if it fails (or as it comes, when not quiet)."""
    argv = ["make", "--no-print-directory", "-j%d" % (os.cpu_count() or 2), *words]
    result = subprocess.run(argv, cwd=ROOT, text=True, check=False,
                            stdout=subprocess.PIPE if quiet else None,
                            stderr=subprocess.STDOUT if quiet else None)
    if result.returncode:
        if quiet:
            print(result.stdout, end="")
        raise Failure("%s failed" % " ".join(argv))


def image(arch, build="release"):
    make("ARCH=" + arch, "BUILD=" + build)
