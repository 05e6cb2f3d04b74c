"""`.npu()`, device="npu" and torch.npu mean the device that anabranch runs on.

The names are installed in a process of their own: they change torch for the whole thread.
"""

import textwrap

from support import run_script

SCRIPT = """
    import torch, torch_npu
    import torchair
    import anabranch

    for x in (torch.ones(2).npu(), torch.ones(2).to("npu:0"), torch.zeros(2, device="npu"),
              torch.tensor([1.0], device="npu:0"), torch.rand(2, device=torch.device("npu"))):
        assert x.device.type == "cpu" and x.is_npu
    model = torch.nn.Linear(2, 2, device="npu").npu().to("npu:0")
    assert model.weight.device.type == "cpu"
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert model(torch.ones(2)).dtype == torch.bfloat16

    assert torch_npu.npu is torch.npu and torch.npu.is_available()
    assert torch.npu.device_count() == 1 and torch.npu.current_device() == 0
    torch.npu.set_device(0), torch.npu.set_device("npu:0"), torch.npu.synchronize()
    try:
        torch.npu.set_device("npu:1")
    except RuntimeError as error:
        assert "npu:0" in str(error)
    else:
        raise AssertionError("there is no npu:1")
    assert 0 < torch.npu.memory_allocated() <= torch.npu.max_memory_allocated()
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        assert torch.npu.current_stream() is side
    assert torch.npu.current_stream() is torch.npu.default_stream()
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record(), end.record(), side.wait_event(start)
    assert start.elapsed_time(end) >= 0 and end.query()
    torch.npu.manual_seed(5); a = torch.rand(3)
    torch.manual_seed(5); assert torch.equal(a, torch.rand(3))

    def f(x):
        with torchair.scope.npu_stream_switch("s"):
            y = x.npu() + torch.zeros(2, device="npu:0")
        return y * 2

    g = torch.compile(f, backend=torchair.get_npu_backend(), fullgraph=True, dynamic=False)
    assert torch.equal(g(torch.ones(2)), f(torch.ones(2)))
    print("all right")
"""


def test_names(tmp_path):
    script = tmp_path / "names.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all right\n"
