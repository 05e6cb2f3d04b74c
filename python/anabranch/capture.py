"""The torch.compile backend: Dynamo's graph → AOTAutograd → graph text → program.

Inference is captured without functionalization: program order and in-place writes stay as the user
wrote them. Training takes AOTAutograd's functionalized path.
"""

import functools
import itertools
import os

import torch
import torch._functorch.config
import torch._guards
import torch._inductor.config
from torch._functorch.aot_autograd import aot_module_simplified, make_boxed_func

from anabranch import dumps, log, progress
from anabranch.config import CompilerConfig
from anabranch.errors import ScopeTypeError
from anabranch.lower import drop_dead_code, lower
from anabranch.partition import partition
from anabranch.program import Program, make_options
from anabranch.regions import compile_with_regions
from anabranch.text import write_graph

_graph_ids = itertools.count(1)

# torch.compile's own modes that name no option of ours.
_MODES = {"default": "max-autotune", "max-autotune-no-cudagraphs": "max-autotune"}


def backend(*arguments, **keywords):
    """A backend for torch.compile.

    ``backend(config)`` makes one; ``backend="anabranch"`` and ``backend=anabranch.backend`` call it
    with a graph, with torch.compile's `options` and `mode` as keywords.
    """
    if arguments and isinstance(arguments[0], torch.fx.GraphModule):
        return _compile_with(*arguments, **keywords)
    return _make_backend(*arguments, **keywords)


def _make_backend(config=None, *, decompositions=None):
    config = check_config(config)

    def anabranch(graph_module, example_inputs, *, options=None, mode=None):
        chosen = _with_keywords(config, options, mode)
        return compile_graph(graph_module, example_inputs, chosen, decompositions)

    return anabranch


def _compile_with(graph_module, example_inputs, *, options=None, mode=None):
    config = _with_keywords(CompilerConfig(), options, mode)
    return compile_graph(graph_module, example_inputs, config)


def check_config(config):
    if config is None:
        return CompilerConfig()
    if not isinstance(config, CompilerConfig):
        raise ScopeTypeError(f"config must be a CompilerConfig, not {type(config).__name__}")
    return config


def _with_keywords(config, options, mode):
    chosen = dict(options or {})
    if mode is not None:
        chosen["mode"] = _MODES.get(mode, mode)
    return config.copy_with(chosen) if chosen else config


def get_compiler(compiler_config=None):
    """A compiler of ATen graphs, for use with AOTAutograd: `(graph, example_inputs) → callable`."""
    config = check_config(compiler_config)

    def compiler(graph_module, example_inputs):
        lower(graph_module)
        return compile_aten(graph_module, example_inputs, config)

    return compiler


def compile_graph(graph_module, example_inputs, config, decompositions=None):
    """Compiles one of Dynamo's graphs."""
    for option, value in config.idle().items():
        log.warn_once(f"option {option}", f"option {option} = {value!r} has no effect here")
    try:
        return _compile_lowered(graph_module, example_inputs, config, decompositions)
    finally:
        progress.end()


def _compile_lowered(graph_module, example_inputs, config, decompositions):
    lower(graph_module)
    compiler = functools.partial(compile_aten, config=config)
    inference_compiler = functools.partial(compile_aten, config=config, inference=True)
    progress.at("making ATen operators", len(graph_module.graph.nodes), "operators of the model")
    training = torch.is_grad_enabled() and any(
        isinstance(item, torch.Tensor) and item.requires_grad for item in example_inputs)
    # Without the first AOTAutograd takes random operators for pure and drops unused ones; eager draws
    # them. The second makes it take an output that shows an input as the graph returns it: replayed
    # views are those of another tensor when inputs share memory and one of them is written.
    with (torch._inductor.config.patch(fallback_random=True),
          torch._functorch.config.patch(view_replay_for_aliased_outputs=False)):
        compiled = aot_module_simplified(
            graph_module,
            example_inputs,
            fw_compiler=compiler,
            bw_compiler=compiler,
            partition_fn=partition,
            inference_compiler=inference_compiler,
            decompositions=decompositions,
            keep_inference_input_mutations=True,
            disable_functionalization=not training,
        )
    own = _returned_inputs(graph_module) if _share_memory(example_inputs) else {}
    return _returning_own(compiled, own) if own else compiled


def _share_memory(inputs):
    storages = [item.untyped_storage()._cdata for item in inputs if isinstance(item, torch.Tensor)]
    return len(set(storages)) < len(storages)


def _returned_inputs(graph_module):
    """{position among the outputs: position of the input that is returned there}."""
    nodes = list(graph_module.graph.nodes)
    inputs = [node for node in nodes if node.op == "placeholder"]
    return {position: inputs.index(output) for position, output in enumerate(nodes[-1].args[0])
            if output in inputs}


def _returning_own(compiled, own):
    """Of inputs that share memory AOTAutograd returns equal views; the user gets the tensors."""

    def call(*arguments):
        outputs = list(compiled(*arguments))
        for output, given in own.items():
            outputs[output] = arguments[given]
        return outputs

    return call


def compile_aten(graph_module, example_inputs, config, inference=False):
    """Compiles an ATen graph whose markers are lowered; returns a boxed function.

    Of a graph for inference the parameters are taken to stay what they are from call to call. That
    they do is checked in every call.
    """
    graph_id = next(_graph_ids)
    name = f"graph_{graph_id}"
    drop_dead_code(graph_module)
    progress.at("writing the graph", len(graph_module.graph.nodes), "operators")
    graph_text = write_graph(graph_module, name)
    if config.debug.run_eagerly:
        return make_boxed_func(graph_module.forward)
    multi_stream = _use_streams(graph_text, name, config)
    options = make_options(config, name, multi_stream)
    fuse = None
    if config.anabranch.fuse and not graph_text.dynamic:
        constants = _constants(graph_module) if inference else set()
        fuse = functools.partial(compile_with_regions, graph_module, graph_text, options, constants,
                                 config.anabranch.threads or torch.get_num_threads())
    progress.at("scheduling and verifying", len(graph_module.graph.nodes), "operators")
    program = Program(graph_text, options, fuse)
    program.log(name)
    dumps.write_dumps(functools.partial(_dump, graph_module, program), graph_id, config)
    return make_boxed_func(program)


def _constants(graph_module):
    """The placeholders of parameters and buffers."""
    context = torch._guards.TracingContext.try_get()
    facts = context.fw_metadata if context is not None else None
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    static = facts.static_input_indices if facts is not None else []
    return {placeholders[position] for position in static if position < len(placeholders)}


def _dump(graph_module, program, which, kind):
    if kind == "py":
        code = graph_module.code.strip() + "\n"
        if which == "optimized":
            schedule = program.compiled.text("schedule").rstrip().split("\n")
            code = "\n".join(f"# {line}" for line in schedule) + "\n" + code
        return code
    return program.compiled.dump(which, kind)


def _use_streams(graph_text, name, config):
    """A graph with symbolic sizes uses streams only when the environment says so."""
    if not graph_text.dynamic or os.environ.get("ENABLE_DYNAMIC_SHAPE_MULTI_STREAM") == "1":
        return True
    automatic = config.anabranch.auto_streams != "off"
    if graph_text.labels or automatic:
        idle = " and ".join(["its stream labels"] * bool(graph_text.labels)
                            + ["automatic streams"] * automatic)
        log.warn_once(
            "dynamic",
            f"{name} has symbolic sizes, so it runs on one stream and {idle} are idle; "
            "set ENABLE_DYNAMIC_SHAPE_MULTI_STREAM=1, or compile with dynamic=False, to use them")
    return False
