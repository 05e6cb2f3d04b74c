"""Collectives in graphs."""


def patch_for_hcom():
    """Does nothing: torch.distributed's functional collectives are captured as they are."""
