"""A compiled graph as a Python callable: arguments in, outputs out, errors with their place."""

import json
import logging
import struct

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack, _pop_mode_temporarily

from anabranch import library, times
from anabranch.errors import CompileError
from anabranch.log import logger


def make_options(config, name, multi_stream):
    """The options of the C++ program, from the configuration."""
    ordered = config.is_set("experimental_config.topology_sorting_strategy")
    return json.dumps({
        "name": name,
        "single_stream": config.ge_config.enable_single_stream,
        "multi_stream": multi_stream,
        "launch_order": config.experimental_config.topology_sorting_strategy if ordered else "",
        "aicore_num": config.ge_config.aicore_num,
        "threads": config.anabranch.threads,
        "max_workers": config.anabranch.max_workers,
        "verify": config.anabranch.verify,
        "auto_streams": config.anabranch.auto_streams,
        "fold": config.anabranch.fold,
        "costs": config.anabranch.costs,
        "pin": config.anabranch.pin,
        "small_memory": config.anabranch.memory == "small",
        "tune": config.anabranch.tune,
        "time_file": times.time_file(config.anabranch.threads or torch.get_num_threads()),
    })


_active_modes = torch._C._len_torch_dispatch_stack

# A host number from its 64 bits.
_NUMBERS = {"int": int, "bool": bool,
            "float": lambda bits: struct.unpack("d", struct.pack("q", bits))[0]}


class Program:
    """Calls the C++ program with the arguments of an ATen graph. Thread-safe."""

    def __init__(self, graph_text, options, fuse=None):
        """`fuse()` may make the C++ program in another way; None from it means no."""
        self.graph_text = graph_text
        try:
            self.compiled = fuse() if fuse is not None else None
            if self.compiled is None:
                self.compiled = library.program_class()(
                    graph_text.text, options, graph_text.constants)
        except RuntimeError as problem:
            raise CompileError(_without_frames(str(problem))) from None

        self._call = self.compiled.run
        self._only_tensors = all(kind == "tensor" for kind, _ in graph_text.outputs)
        self._tuning = self.compiled.tuning()
        self._name = ""

    def __call__(self, *arguments):
        graph = self.graph_text
        tensors = [arguments[position] for position in graph.tensors]
        integers = [arguments[position] if dimension is None
                    else arguments[position].size(dimension)
                    for position, dimension in graph.integers]
        library.calls.append(None)
        try:
            tensors, integers = self._run(tensors, integers)
        except Exception as problem:
            self._add_place(problem)
            raise
        finally:
            if library.calls:  # empty in a child that was forked inside this call
                library.calls.pop()
        if self._tuning and not self.compiled.tuning():
            self._tuning = False
            self._log_findings(self.compiled.diagnostics()[-1:])
            logger.debug("places of %s:\n%s", self._name, self.compiled.report())
        return tensors if self._only_tensors else self._assemble(iter(tensors), iter(integers))

    def _run(self, tensors, integers):
        # A dispatch mode must see every operator, which only the calling thread can offer. But the
        # modes of torch.compile itself (AOTAutograd checks custom operators at the first call) do not
        # look at what a compiled graph does inside.
        if _active_modes() and not self.graph_text.custom_operators:
            top = _get_current_dispatch_mode_stack()[-1]
            if type(top).ignore_compile_internals():
                with _pop_mode_temporarily():
                    return self._run(tensors, integers)
        return self._call(tensors, integers)

    def _assemble(self, tensors, integers):
        outputs = []
        for kind, literal in self.graph_text.outputs:
            if kind == "tensor":
                outputs.append(next(tensors))
            elif kind == "literal":
                outputs.append(literal)
            else:
                outputs.append(_NUMBERS[kind](next(integers)))
        return outputs

    def _add_place(self, problem):
        """Exceptions whose message cannot grow in C++ get the operator's place as a note."""
        place = self.compiled.last_error_context()
        if place and place.strip() not in str(problem):
            problem.add_note(place)

    def log(self, name):
        """Shows the graph and what was made of it at DEBUG, decisions at INFO, warnings always."""
        logger.debug("captured graph %s:\n%s", name, self.graph_text.text)
        logger.debug("streams and events of %s:\n%s", name, self.compiled.report())
        self._name = name
        self._log_findings(self.compiled.diagnostics())

    def _log_findings(self, findings):
        for finding in findings:
            level = logging.INFO if finding.startswith("note[") else logging.WARNING
            logger.log(level, "%s: %s", self._name, finding)


def _without_frames(message):
    """The diagnostics alone, without the C++ frames that torch appends."""
    return message.split("\nException raised from", 1)[0]
