# SPDX-License-Identifier: GPL-2.0-only
"""The experiments there are, with the words each understands: read from where they are declared,
bench/*.c, so that no second list has to be kept."""

import glob
import os
import re
from dataclasses import dataclass

from . import ROOT

KEY = re.compile(r'^([a-z][\w.-]*) - (.+)$')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')

# Words that core and the architectures understand beside an experiment's own.
GENERAL = {
    "arm64.mode": "vhe or nvhe (arm64 only)",
    "nr_cpus": "use at most so many CPUs",
    "lockstat": "alone, without a value: count every lock from boot, and print the sites at the end",
}
# Those that take no value.
BARE = ("lockstat",)


@dataclass
class Experiment:
    name: str
    help: str
    keys: dict


def strings(text):
    """The string literals of an initialiser; adjacent ones are joined, as the compiler does."""
    return [re.sub(r'\\(.)', r'\1', "".join(STRING.findall(part)))
            for part in re.split(r",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", text) if STRING.search(part)]


def declared_in(text):
    arrays = {name: strings(body) for name, body in
              re.findall(r"char \*const (\w+)\[\] = \{(.*?)\n?\};", text, re.S)}
    for body in re.findall(r"struct experiment \w+ = \{(.*?)\n\};", text, re.S):
        field = {name: value.strip().rstrip(",")
                 for name, value in re.findall(r"\.(\w+) = (.*?)(?=,\s*\.|\s*\Z)", body, re.S)}
        keys = dict(m.groups() for m in map(KEY.match, arrays.get(field.get("keys"), [])) if m)
        yield Experiment("".join(strings(field["name"])), "".join(strings(field["help"])), keys)


def words_of_the_image():
    """Keys that mean something whatever is run, but for those of one architecture (ARCH.KEY)."""
    with open(os.path.join(ROOT, "core/config.c"), encoding="utf-8") as file:
        return {word for array in re.findall(r"char \*const \w+_words\[\] = \{(.*?)\};", file.read(), re.S)
                for word in STRING.findall(array)}


def all_experiments():
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "bench/*.c"))):
        with open(path, encoding="utf-8") as file:
            for experiment in declared_in(file.read()):
                found[experiment.name] = experiment
    return found
