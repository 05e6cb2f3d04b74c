"""One region → steps: Inductor's code generation without its wrapper, its runtime and its compiler.

Inductor can describe what its wrapper would do as an FX graph (WrapperFxCodegen), for Triton kernels.
Two overridden methods make it do so for C++ kernels: their text is kept, their call becomes a node.
This is Inductor's internal interface, so all of it is for the torch versions that it was tested with.
"""

import ast
import hashlib
import re
import threading
from dataclasses import dataclass, field

import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import _disable_current_modes

from anabranch.values import DTYPES

TESTED = ("2.13.",)

_lock = threading.Lock()  # Inductor's configuration belongs to the process


class Refused(Exception):
    """The region has something that steps cannot express; the reason is the message."""


@dataclass
class Kernel:
    """A function of the kernel library: its symbol and its C++ text."""

    symbol: str
    text: str


@dataclass
class Steps:
    """The graph text of a region's steps, and the kernels that it calls."""

    text: str
    kernels: list = field(default_factory=list)


def check_version():
    """Raises Refused for a torch whose Inductor may be another one."""
    if not torch.__version__.startswith(TESTED):
        raise Refused(f"torch {torch.__version__} is none of {', '.join(TESTED)}*")


def lower(module, inputs, weights, cores):
    """The Steps of a region.

    `module` is a GraphModule of ATen operators, `inputs` has the (sizes, strides, dtype) of each
    placeholder, `weights` the numbers of those that are constant matrices. Results must get the
    strides that `module` itself gives them. Raises Refused, or whatever Inductor raises.
    """
    with _lock, _disable_current_modes():  # those of AOTAutograd, which is compiling
        return _Lowering(module, inputs, weights, cores).run()


class _Lowering:
    def __init__(self, module, inputs, weights, cores):
        self.inputs, self.weights, self.cores = inputs, weights, cores
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        with self.mode:
            self.fakes = [torch.empty_strided(*given[:2], dtype=given[2]) for given in inputs]
        self.module = module

    def run(self):
        from torch._inductor.decomposition import select_decomp_table

        with self.mode, torch.no_grad():
            traced = make_fx(self.module, decomposition_table=select_decomp_table())(*self.fakes)
        stand_ins = self._make_constant(traced)
        output = traced.graph.output_node()
        values = [node.meta["val"] for node in output.args[0]]
        output.meta["user_visible_output_idxs"] = range(len(values))
        output.meta["original_output_strides"] = [value.stride() for value in values]
        given = [fake for number, fake in enumerate(self.fakes) if number not in stand_ins]
        steps, bodies, packed = _generate(traced, given, self.mode, self.cores)
        owners = {(tensor.data_ptr(), tensor.shape, tensor.stride()): number
                  for number, tensor in stand_ins.items()}
        blocks = {}
        for result, (source, block) in packed.items():
            if source not in owners:
                raise Refused("a packed weight that is no input")
            blocks[result] = owners[source], block
        return _Printer(self.inputs, stand_ins, steps, bodies, blocks, values).run()

    def _make_constant(self, traced):
        """Puts tensors without contents in the place of the weights; {number of input: tensor}."""
        stand_ins = {}
        for number, node in enumerate(traced.graph.find_nodes(op="placeholder")):
            if number not in self.weights:
                continue
            sizes, strides, dtype = self.inputs[number]
            stand_ins[number] = torch.empty_strided(sizes, strides, dtype=dtype)
            name = f"weight{number}"
            traced.register_buffer(name, stand_ins[number], persistent=False)
            with traced.graph.inserting_before(node):
                constant = traced.graph.get_attr(name)
            constant.meta.update(node.meta)
            node.replace_all_uses_with(constant)
            traced.graph.erase_node(node)
        traced.recompile()
        return stand_ins


def kernel_step(symbol, arguments):
    """Stands for the call of a kernel in a graph of steps, and does nothing."""


def _generate(module, fakes, mode, cores):
    """(graph of steps, {kernel name: text}, {address of a packed weight: (its matrix, block)}).

    A matrix is named by address, sizes and strides.
    """
    from torch._inductor import config
    from torch._inductor.codegen import wrapper_fxir
    from torch._inductor.codegen.cpp_gemm_template import CppGemmTemplate
    from torch._inductor.debug import DebugContext
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V

    bodies, packed, kept = {}, {}, []

    class Converter(wrapper_fxir.FxConverter):
        def _generate_graph_constants(self):
            for name, value in V.graph.constants.items():
                self.gm.register_buffer(name, value, persistent=False)  # else get_attr warns
            super()._generate_graph_constants()

        def _generate_kernel_definition(self, line):
            bodies[line.kernel_name] = line.kernel_body

        def _generate_kernel_call(self, line):
            arguments = list(self._lookup_args(line.call_args))
            self.gm.graph.call_function(kernel_step, (line.kernel_name, arguments))

    class Wrapper(wrapper_fxir.WrapperFxCodegen):
        def compile_graph(self, gm):
            self.steps = gm
            return gm.forward

    class Lowering(GraphLowering):
        def init_wrapper_code(self, *arguments, **keywords):
            super().init_wrapper_code(*arguments, **keywords)
            self.wrapper_code = Wrapper()

    def block_weight(cls, weight, sizes, padding):
        """The packed form has the size of the real one and no contents: it is packed in C++."""
        if not isinstance(weight, torch.Tensor):
            return original(weight, sizes, padding)
        made = torch.empty(sizes, dtype=weight.dtype)
        packed[made.data_ptr()] = (weight.data_ptr(), weight.shape, weight.stride()), sizes[-1]
        kept.append(made)
        return made

    original = CppGemmTemplate.block_weight
    options = {
        "fx_wrapper": True, "fx_graph_cache": False, "size_asserts": False,
        "alignment_asserts": False, "allow_buffer_reuse": False, "inplace_buffers": False,
        "comprehensive_padding": False, "freezing": True, "max_autotune": True,
        "max_autotune_gemm_backends": "CPP", "cpp.threads": cores, "cpp.dynamic_threads": True,
    }
    converter = wrapper_fxir.FxConverter
    try:
        wrapper_fxir.FxConverter = Converter
        CppGemmTemplate.block_weight = classmethod(block_weight)
        with config.patch(options), torch.no_grad(), DebugContext(), V.set_fake_mode(mode):
            graph = Lowering(module, example_inputs=fakes, is_inference=True, fx_wrapper=True)
            with V.set_graph_handler(graph), V.set_extern_kernel_nodes([]):
                graph.run(*fakes)
                graph.codegen()
    finally:
        wrapper_fxir.FxConverter = converter
        CppGemmTemplate.block_weight = original
    return graph.wrapper_code.steps, bodies, packed


# `async_compile.cpp_pybinding(['const float*', 'float*'], r'''…''')` → types and text.
_CALLED = re.compile(r'extern\s+"C"\s+(?:\w+\s+)??void\s+kernel\s*\(')
_INCLUDE = re.compile(r"^[ \t]*#include[^\n]*\n", re.MULTILINE)
# Not thread-local: kernels of two streams would race for it. Only integer division reads it, which
# is never fused.
_FLAG = re.compile(r"^[^\n]*\binductor_cpu_integer_div_error\w*[^\n]*\n", re.MULTILINE)


def _parse_kernel(body):
    call = ast.parse(body.strip()).body[0].value
    if not isinstance(call, ast.Call) or call.func.attr != "cpp_pybinding":
        raise Refused("a kernel that is no C++ function")
    types, text = (ast.literal_eval(argument) for argument in call.args[:2])
    if any("*" not in kind for kind in types) or len(_CALLED.findall(text)) != 1:
        raise Refused("a kernel that takes more than addresses")
    return types, text


def make_kernel(types, text, order):
    """The Kernel that calls `text`; argument i is the address at place order[i]."""
    includes = "".join(_INCLUDE.findall(text))
    text = _FLAG.sub("", _INCLUDE.sub("", text))
    if "inductor_cpu_integer_div_error" in text:
        raise Refused("a kernel with integer division")
    digest = hashlib.sha256(repr((types, text, order)).encode()).hexdigest()[:24]
    symbol = f"anabranch_{digest}"
    function = _CALLED.sub("static void kernel(", text)
    arguments = ", ".join(f"static_cast<{kind.strip()}>(memory[{place}])"
                          for kind, place in zip(types, order, strict=True))
    return Kernel(symbol, f"""{includes}namespace {symbol}_space {{
{function}
}}
extern "C" __attribute__((visibility("default"))) void {symbol}(void* const* memory) {{
  {symbol}_space::kernel({arguments});
}}
""")


class _Printer:
    """Writes a graph of steps as graph text."""

    def __init__(self, inputs, stand_ins, steps, bodies, blocks, results):
        self.inputs, self.stand_ins, self.steps = inputs, stand_ins, steps
        self.kernels, self.blocks = {}, blocks
        self.parsed = {name: _parse_kernel(body) for name, body in bodies.items()}
        self.names = {}  # node → value, when it has one
        self.types = {}  # node → (sizes, strides, dtype, offset, buffer)
        self.block_of = {}  # node of a packed weight → columns of a block
        self.lines = []
        self.buffers = 0
        returned = steps.graph.output_node().args[0]
        self.returned = list(returned) if isinstance(returned, (list, tuple)) else [returned]
        self.wanted = dict(zip(self.returned, results, strict=True))  # node → the result it stands for

    def run(self):
        for number, given in enumerate(self.inputs):
            self.lines.append(f"%i{number} = input : {self._type(*given, 0, self._fresh())}")
        placeholders = iter(number for number in range(len(self.inputs))
                            if number not in self.stand_ins)
        for node in self.steps.graph.nodes:
            if node.op == "placeholder":
                self._bind(node, next(placeholders))
            elif node.op == "get_attr":
                self._weight(node)
            elif node.op == "output":
                self._output()
            elif node.target is torch.empty_strided:
                self._buffer(node)
            elif node.target is torch.as_strided:
                self._view(node)
            elif node.target is kernel_step:
                self._call(*node.args)
            else:
                raise Refused(f"a step of kind {node.target}")
        body = "\n".join("  " + line for line in self.lines)
        return Steps(f'anabranch 1\ngraph "steps" {{\n{body}\n}}\n', list(self.kernels.values()))

    def _fresh(self):
        self.buffers += 1
        return self.buffers - 1

    @staticmethod
    def _type(sizes, strides, dtype, offset, buffer):
        if dtype not in DTYPES:
            raise Refused(f"a step with dtype {dtype}")
        text = f"{DTYPES[dtype]}[{','.join(map(str, sizes))}]"
        if len(sizes):
            text += f"({','.join(map(str, strides))})"
        return text + (f"+{offset}" if offset else "") + f" @b{buffer}"

    def _bind(self, node, number):
        self.names[node] = f"%i{number}"
        self.types[node] = (*self.inputs[number], 0, number)

    def _weight(self, node):
        if not node.users:
            return
        tensor = getattr(self.steps, node.target)
        if tensor.data_ptr() not in self.blocks:
            raise Refused("a constant that is no packed weight")
        number, block = self.blocks[tensor.data_ptr()]
        self._bind(node, number)
        self.block_of[node] = block

    def _buffer(self, node):
        sizes, strides = node.args
        dtype = node.kwargs["dtype"]
        if node in self.wanted:
            strides = _captured_strides(sizes, strides, dtype, self.wanted[node])
        self.types[node] = (sizes, strides, dtype, 0, self._fresh())
        first = next(iter(node.users), None)
        writes = first is not None and first.target is kernel_step \
            and node in self._written(first)
        if not writes:  # filled in parts
            self.names[node] = f"%{node.name}"
            self.lines.append(f"%{node.name} = anabranch.buffer() : {self._type(*self.types[node])}")

    def _view(self, node):
        base, sizes, strides, offset = node.args
        _, _, dtype, _, buffer = self.types[base]
        self.types[node] = (sizes, strides, dtype, offset, buffer)
        self.names[node] = f"%{node.name}"
        self.lines.append(
            f"%{node.name} = view aten.as_strided.default({self.names[base]}, {list(sizes)}, "
            f"{list(strides)}, {offset}) : {self._type(*self.types[node])}")

    def _written(self, call):
        types, _ = self.parsed[call.args[0]]
        return [argument for kind, argument in zip(types, call.args[1], strict=True)
                if "const" not in kind]

    def _call(self, name, arguments):
        types, text = self.parsed[name]
        if not all(isinstance(argument, torch.fx.Node) for argument in arguments):
            raise Refused("a kernel that takes a number")
        made = [node for node in dict.fromkeys(arguments) if node not in self.names]
        operands = [node for node in dict.fromkeys(arguments) if node in self.names]
        place = {node: number for number, node in enumerate(operands + made)}
        kernel = make_kernel(types, text, [place[node] for node in arguments])
        self.kernels[kernel.symbol] = kernel
        written = [self.names[node] for kind, node in zip(types, arguments, strict=True)
                   if "const" not in kind and node in self.names]
        for node in made:
            self.names[node] = f"%{node.name}"
        given = ", ".join(self.names[node] for node in operands)
        blocks = ", ".join(str(self.block_of.get(node, 0)) for node in operands)
        left = ", ".join(self.names[node] for node in made) + " = " if made else ""
        line = f'{left}^k{len(self.lines)} anabranch.kernel("{kernel.symbol}", [{given}], [{blocks}])'
        if written:
            line += f" writes({', '.join(dict.fromkeys(written))})"
        if made:
            line += " : " + ", ".join(self._type(*self.types[node]) for node in made)
        self.lines.append(line)

    def _output(self):
        for step in self.returned:
            if not isinstance(step, torch.fx.Node) or step.target is not torch.empty_strided:
                raise Refused("a result that is no memory of its own")
        if len(self.wanted) != len(self.returned):
            raise Refused("one memory for two results")
        self.lines.append("return " + ", ".join(self.names[step] for step in self.returned))


def _captured_strides(sizes, strides, dtype, value):
    """The strides of the captured result; Refused unless they mean the same layout."""
    same = all(mine == wanted for size, mine, wanted in zip(sizes, strides, value.stride(),
                                                            strict=True) if size > 1)
    if tuple(sizes) != tuple(value.shape) or dtype != value.dtype or not same:
        raise Refused("a result with other strides than the operator gives")
    return value.stride()
