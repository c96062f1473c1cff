# SPDX-License-Identifier: GPL-2.0-only
"""Files that commands make: whole or not at all, and never in the place of what is no file."""

import contextlib
import os
import shutil
import tempfile

from . import Failure


def check(out):
    """Where OUT is, with links followed; it may be a file, or nothing yet."""
    path = os.path.realpath(out)
    if os.path.lexists(path) and not os.path.isfile(path):
        raise Failure("%s is no file: to write to a device, make a file and use dd" % out)
    return path


def mode_of(path):
    """What an open() for writing would leave it with."""
    if os.path.exists(path):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


@contextlib.contextmanager
def replaced(out):
    """The path of a new file beside OUT, under a name that nobody has. It becomes OUT when all has gone well,
    else it goes."""
    path = check(out)
    try:
        handle, unfinished = tempfile.mkstemp(prefix=".cupel-", dir=os.path.dirname(path))
    except OSError as error:
        raise Failure("%s: %s" % (out, error.strerror)) from error
    os.close(handle)
    try:
        yield unfinished
        os.chmod(unfinished, mode_of(path))
        os.replace(unfinished, path)
    except Failure as error:
        raise Failure(str(error).replace(unfinished, out)) from error
    except (OSError, shutil.Error) as error:
        raise Failure("%s: %s" % (out, getattr(error, "strerror", None) or error)) from error
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
