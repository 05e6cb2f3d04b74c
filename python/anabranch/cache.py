"""Where things that were measured or compiled are kept for the next process."""

import os


def cache_folder():
    """The path of ANABRANCH_CACHE_DIR, or of `anabranch` in the user's cache folder; may not exist."""
    own = os.environ.get("ANABRANCH_CACHE_DIR")
    if own:
        return own
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(user, "anabranch")
