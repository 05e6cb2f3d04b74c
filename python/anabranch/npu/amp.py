"""torch.npu.amp: automatic mixed precision on the device that anabranch runs on."""

import torch

from anabranch import log


class autocast(torch.autocast):
    """torch.autocast on this device; as on an NPU, half precision is the default."""

    def __init__(self, enabled=True, dtype=torch.float16, cache_enabled=True):
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler on this device. Options of the NPU's own have no effect."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, enabled=True, **options):
        if options:
            log.warn_once("GradScaler", f"torch.npu.amp.GradScaler ignores {sorted(options)}")
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval,
                         enabled)
