"""CompilerConfig: every option, with its default and its valid values, in one table."""

from anabranch.errors import OptionError


class _Choice:
    def __init__(self, *values):
        self.values = values

    def accepts(self, value):
        return any(value == v and type(value) is type(v) for v in self.values)

    def __str__(self):
        return ", ".join(repr(value) for value in self.values)


class _Kind:
    def __init__(self, text, check):
        self.text, self.accepts = text, check

    def __str__(self):
        return self.text


def _is_streams(value):
    if value in ("off", "cv", "auto"):
        return True
    policy, _, count = str(value).partition(":")
    number = count.isascii() and count.isdecimal()
    return policy in ("LoadBalance", "MainStream") and number and 1 <= int(count) <= 64


def _is_core_limit(value):
    if value is None:
        return True
    parts = value.split("|") if isinstance(value, str) else []
    return len(parts) == 2 and all(p.isascii() and p.isdecimal() and int(p) > 0 for p in parts)


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_FLAG = _Choice(False, True)
_COUNT = _Kind("an integer, 0 for the default", _is_count)
_PATH = _Kind("a path", lambda value: isinstance(value, str))
_PATH_OR_NONE = _Kind("a path or None", lambda value: value is None or isinstance(value, str))

# name → (default, valid values). Defaults of counts are 0: decided when the program is made.
OPTIONS = {
    "mode": ("max-autotune", _Choice("max-autotune", "reduce-overhead")),
    "ge_config.enable_single_stream": (False, _FLAG),
    "ge_config.aicore_num": (None, _Kind(
        '"AIC|AIV", two numbers of at least 1 such as "8|16", or None', _is_core_limit)),
    "experimental_config.topology_sorting_strategy": (
        "DFS", _Choice("BFS", "DFS", "RDFS", "StableRDFS")),
    "experimental_config.cc_parallel_enable": (False, _FLAG),
    "debug.graph_dump.type": (None, _Choice(None, "pbtxt", "txt", "py")),
    "debug.graph_dump.path": (".", _PATH),
    "debug.run_eagerly": (False, _FLAG),
    "anabranch.auto_streams": (
        "off", _Kind("off, cv, LoadBalance:N, MainStream:N (N from 1 to 64), auto", _is_streams)),
    "anabranch.costs": (None, _PATH_OR_NONE),
    "anabranch.fold": (True, _FLAG),
    "anabranch.fuse": (False, _FLAG),
    "anabranch.tune": ("quick", _Choice("off", "quick", "full")),
    "anabranch.freeze": (False, _FLAG),
    "anabranch.memory": ("parallel", _Choice("parallel", "small")),
    "anabranch.threads": (0, _COUNT),
    "anabranch.max_workers": (0, _COUNT),
    "anabranch.pin": (False, _FLAG),
    "anabranch.verify": (True, _FLAG),
    "anabranch.trace": (None, _PATH_OR_NONE),
}


# Options that change nothing yet, with the values that hold all the same.
IDLE = {
    "experimental_config.cc_parallel_enable": (False,),
    "anabranch.tune": ("off", "quick"),
    "anabranch.freeze": (False,),
    "anabranch.trace": (None,),
}


def _valid_names(prefix):
    depth = len(prefix)
    return sorted({name[depth:].partition(".")[0] for name in OPTIONS if name.startswith(prefix)})


class _Values(dict):
    """Values by dotted name, and which of them somebody set."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.chosen = set()


class _Section:
    """One level of the option tree: `config.debug.graph_dump`."""

    def __init__(self, values, prefix):
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_prefix", prefix)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        full = self._prefix + name
        if full in OPTIONS:
            return self._values[full]
        if any(option.startswith(full + ".") for option in OPTIONS):
            return _Section(self._values, full + ".")
        raise _unknown(full, self._prefix)

    def __setattr__(self, name, value):
        _set(self._values, self._prefix + name, value, self._prefix)

    def __dir__(self):
        return _valid_names(self._prefix)


class _UnknownOption(OptionError, AttributeError):
    """So that hasattr and copy see a missing attribute, and users a ValueError."""


def _unknown(name, prefix):
    valid = ", ".join(option for option in OPTIONS if option.startswith(prefix))
    return _UnknownOption(f"unknown option '{name}'; valid options: {valid}")


def _set(values, name, value, prefix=""):
    if name not in OPTIONS:
        raise _unknown(name, prefix)
    valid = OPTIONS[name][1]
    if not valid.accepts(value):
        raise OptionError(f"option '{name}' cannot be {value!r}; valid values: {valid}")
    values[name] = value
    values.chosen.add(name)


class CompilerConfig(_Section):
    """Options of the compiler. Unknown names and invalid values are ValueErrors."""

    def __init__(self):
        super().__init__(_Values({name: default for name, (default, _) in OPTIONS.items()}), "")

    def as_dict(self):
        """{dotted name: value} of every option; torch.compile's `options` takes the same names.

        Given there, every option counts as set, the topological order too.
        """
        return dict(self._values)

    def idle(self):
        """{dotted name: value} of the options that were set and have no effect."""
        return {name: self._values[name] for name, holds in IDLE.items()
                if self._values[name] not in holds}

    def is_set(self, name):
        """True if the option was set, be it to its default: some act only then."""
        return name in self._values.chosen

    def copy_with(self, options):
        """A copy with `{dotted name: value}` set on top."""
        copy = CompilerConfig()
        copy._values.update(self._values)
        copy._values.chosen |= self._values.chosen
        for name, value in options.items():
            _set(copy._values, name, value)
        return copy
