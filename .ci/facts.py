"""Facts for the closing line of a gate, taken from its log.

A template such as "{results}, {sum:(\\d+) rows} rows" names members of `Facts`. A regular
expression follows the colon.
"""
import re

NAMES_PROGRAM = re.compile(r" +((?:Running|Doc-tests) .*)")
SKIPPED = re.compile(r"skipped: ([^ ]+): ")
RESULT = re.compile(r"test result: .* (\d+) passed; (\d+) failed; (\d+) ignored;")


class Facts:
    """Values of a log that templates may name."""

    def __init__(self, log):
        lines = log.splitlines()
        self.last = lines[-1] if lines else ""
        self.results = results(lines)
        self.timed = timed(lines)
        self.count = OfPattern(lambda pattern: sum(1 for line in lines if re.search(pattern, line)))
        self.sum = OfPattern(lambda pattern: sum(map(int, re.findall(pattern, log))))
        self.first = OfPattern(lambda pattern: first(pattern, log))


class OfPattern:
    """Formats as the value of the regular expression after the colon."""

    def __init__(self, value):
        self.value = value

    def __format__(self, pattern):
        return str(self.value(pattern))


def render(template, log):
    """Returns the template with the facts of the log."""
    return template.format_map(vars(Facts(log)))


def first(pattern, log):
    found = re.search(pattern, log, re.MULTILINE)
    return found[1] if found else "nothing"


def programs(lines):
    """Yields the name, closing line and skipped tests of each test program of a log.

    A program may run cargo and so print closing lines of others before its own: the last counts.
    A test that prints "skipped: NAME: REASON" passed without a check, and is counted apart.
    """
    name, last, skipped = None, None, set()
    for line in lines:
        if named := NAMES_PROGRAM.match(line):
            if last:
                yield name, last, len(skipped)
            name, last, skipped = named[1], None, set()
        elif skip := SKIPPED.match(line):
            skipped.add(skip[1])
        elif line.startswith("test result: "):
            last = line
    if last:
        yield name, last, len(skipped)


def closing_lines(log):
    """Returns two lines for each test program: its name, and its results."""
    found = programs(log.splitlines())
    return [line for name, last, skips in found for line in (name, f"{last}; {skips} skipped")]


def results(lines):
    """Returns the sums of all test programs."""
    passed = failed = skipped = count = 0
    for _, last, skips in programs(lines):
        found = RESULT.match(last)
        values = map(int, found.groups()) if found else (0, 0, 0)
        succeeded, broken, ignored = values
        passed += succeeded - skips
        failed += broken
        skipped += skips + ignored
        count += 1
    return f"{passed} passed, {failed} failed, {skipped} skipped in {count} programs"


def timed(lines):
    """Returns the seconds of a timed command and the number of packages that cargo compiled."""
    seconds = [line for line in lines if re.match(r"cargo .* s of CPU$", line)]
    compiled = sum(1 for line in lines if re.match(r" *Compiling ", line))
    return f"{'; '.join(seconds)}, {compiled} packages compiled"
