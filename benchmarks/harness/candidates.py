"""The ways to run a row's model: eager, the peers, and ours in four forms.

Every candidate is a callable without arguments that returns the model's results as a list of
tensors, already compiled and warm. What cannot run is a Failure with the reason.
"""

import dataclasses
import functools
import os
import types

import torch

import anabranch
from workloads import twin

NAMES = ("eager", "inductor", "inductor_max", "onnxruntime", "streams", "one_stream",
         "aten_streams", "aten_one_stream")
OURS = NAMES[4:]
QUICK = ("eager", "aten_streams", "aten_one_stream")  # compiled within a second or two
ORT_REST = 0.12  # seconds: its pools spin for 60 to 100 ms after a call
_FUSED = {"anabranch.fuse": True}
_ONE = {"ge_config.enable_single_stream": True}
_AS_EAGER = {"anabranch.tune": "off"}  # no measuring, no products in parts
_TUNED = 32  # calls after which tuning has ended


@dataclasses.dataclass
class Failure:
    """Why a candidate did not run."""

    reason: str


@dataclasses.dataclass
class Models:
    """One row's model in the forms that candidates need; all share their parameters."""

    plain: torch.nn.Module
    labelled: torch.nn.Module
    other_forms: dict[str, torch.nn.Module]
    inputs: list[torch.Tensor]
    threads: int

    @classmethod
    def of(cls, plain_row, labelled_row, threads):
        plain = plain_row.make().eval()
        forms = {name: twin(make, plain) for name, make in plain_row.other_forms.items()}
        return cls(plain, twin(labelled_row.make, plain), forms, plain_row.inputs, threads)


def as_list(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def fresh(model):
    """`model` as a function with a code object of its own.

    Dynamo keeps what it compiled for a code object in one list, so candidates that share one would
    search each other's entries on every call.
    """
    def call(*inputs):
        return model(*inputs)

    return types.FunctionType(call.__code__.replace(), call.__globals__, closure=call.__closure__)


def _compiled(model, inputs, calls=2, **keywords):
    function = torch.compile(fresh(model), dynamic=False, fullgraph=True, **keywords)
    for _ in range(calls):
        function(*inputs)
    return lambda: as_list(function(*inputs))


def eager(models):
    return lambda: as_list(models.plain(*models.inputs))


def inductor(models, form=None):
    return _compiled(models.other_forms[form] if form else models.plain, models.inputs)


def inductor_max(models, form=None):
    # Dynamo reads `freezing` from the global configuration, the compiler from its options.
    options = {"max_autotune": True, "freezing": True}
    with torch._inductor.config.patch(options):
        return _compiled(models.other_forms[form] if form else models.plain, models.inputs,
                         options=options)


def onnxruntime(models, folder):
    """Sequential execution with `threads` intra-op threads; the exported file goes to `folder`."""
    import onnxruntime as ort

    model = next(iter(models.other_forms.values()), models.plain)
    path = os.path.join(folder, "model.onnx")
    torch.onnx.export(model, tuple(models.inputs), path, dynamo=True, verbose=False,
                      external_data=True)
    options = ort.SessionOptions()
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.intra_op_num_threads, options.inter_op_num_threads = models.threads, 1
    options.log_severity_level = 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {given.name: value.numpy()
            for given, value in zip(session.get_inputs(), models.inputs, strict=True)}
    return lambda: [torch.from_numpy(result) for result in session.run(None, feed)]


def ours(models, labelled, options):
    config = anabranch.CompilerConfig().copy_with(options)
    return _compiled(models.labelled if labelled else models.plain, models.inputs,
                     calls=_TUNED, backend=anabranch.backend(config))


def makers(models, folder):
    """{name: function that makes the candidate}"""
    found = {
        "eager": functools.partial(eager, models),
        "inductor": functools.partial(inductor, models),
        "inductor_max": functools.partial(inductor_max, models),
        "onnxruntime": functools.partial(onnxruntime, models, folder),
        "streams": functools.partial(ours, models, True, _FUSED),
        "one_stream": functools.partial(ours, models, False, _FUSED | _ONE),
        "aten_streams": functools.partial(ours, models, True, {}),
        "aten_one_stream": functools.partial(ours, models, False, _ONE | _AS_EAGER),
    }
    for form in models.other_forms:
        found[f"inductor_{form}"] = functools.partial(inductor, models, form)
        found[f"inductor_max_{form}"] = functools.partial(inductor_max, models, form)
    return found


def make(name, maker, expected):
    """The candidate, or the Failure: it does not compile, or its results differ from eager's."""
    try:
        call = maker()
        difference = compare(name, call(), expected)
    except Exception as problem:  # a peer may fail in any way; the row says how
        lines = str(problem).strip().splitlines() or [""]
        return Failure(f"{type(problem).__name__}: {lines[0][:200]}")
    return Failure(f"wrong results: {difference}") if difference else call


def compare(name, results, expected):
    """What is wrong with the results, or "". ATen's kernels on one stream give eager's bits."""
    if len(results) != len(expected):
        return f"{len(results)} results instead of {len(expected)}"
    for position, (got, want) in enumerate(zip(results, expected, strict=True)):
        got = got.reshape(want.shape) if got.numel() == want.numel() else got
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"result {position} is {got.dtype}{list(got.shape)}"
        if name == "aten_one_stream":
            if not torch.equal(got, want):
                return f"result {position} is not bit for bit eager's"
        elif not _close(got, want):
            worst = (got.double() - want.double()).abs().max() / want.double().abs().max()
            return f"result {position} differs by {worst:.1e} of the largest value"
    return ""


def _close(got, want):
    if not want.is_floating_point():
        return torch.equal(got, want)
    relative = 1e-3 if want.dtype == torch.float32 else 1e-2
    scale = want.double().abs().max().clamp(min=1e-6)
    return bool(((got.double() - want.double()).abs() <= relative * scale).all())
