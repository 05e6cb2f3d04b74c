"""Checks the include directions of docs/architecture.md: data flows one way through the folders.

Run by ctest and `./dev lint`. Prints every include that goes against the flow; exit 1 if any.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = {"base", "ir", "formats", "schedule", "analysis", "verify", "passes", "runtime"}
# folder → the folders it may include besides itself
MAY_INCLUDE = {
    "base": set(),
    "ir": {"base"},
    "formats": {"ir", "base"},
    "schedule": {"ir", "base"},
    "analysis": {"schedule", "ir", "base"},
    "verify": {"analysis", "schedule", "ir", "base"},
    "passes": {"verify", "analysis", "schedule", "ir", "base"},
    "runtime": {"schedule", "ir", "base"},
    "program": CORE,
    "trace": {"schedule", "base"},
    "backends/cpu": {"runtime", "schedule", "ir", "base"},
    "backends/torch": {"runtime", "schedule", "ir", "base"},
    "torch_ops": CORE | {"program", "trace", "backends/cpu", "backends/torch"},
}
TORCH_ALLOWED = {"backends/torch", "torch_ops"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
TORCH = re.compile(r"^(torch|ATen|c10)/")


def folder_of(path: str) -> str:
    """The layer that a path below anabranch/ belongs to ("backends/cpu/pool.h" → "backends/cpu")."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "backends" else parts[0]


def findings():
    """Yields one sentence for each include that is not allowed."""
    sources = [p for p in (ROOT / "anabranch").rglob("*") if p.suffix in (".h", ".cpp")]
    for source in sorted(sources):
        relative = source.relative_to(ROOT / "anabranch").as_posix()
        folder = folder_of(relative)
        if folder not in MAY_INCLUDE:
            yield f"anabranch/{relative}: the folder {folder} has no row in check_layers.py"
            continue
        for bracket, name in INCLUDE.findall(source.read_text()):
            if name.startswith("anabranch/"):
                target = folder_of(name.removeprefix("anabranch/"))
                if target != folder and target not in MAY_INCLUDE[folder]:
                    yield f"anabranch/{relative}: {folder} must not include {target} ({name})"
            elif TORCH.match(name) and folder not in TORCH_ALLOWED:
                yield f"anabranch/{relative}: only torch's folders may include torch ({name})"
            elif bracket == '"':
                yield f"anabranch/{relative}: include by the path from the repository root ({name})"
    for source in sorted((ROOT / "tools").rglob("*.cpp")):
        if any(TORCH.match(name) for _, name in INCLUDE.findall(source.read_text())):
            yield f"tools/{source.name}: the command line never uses torch"
    for source in sorted(ROOT.rglob("anabranch/**/*")):
        if source.stem in ("utils", "util", "helpers", "misc"):
            yield f"{source.relative_to(ROOT)}: a file is named after what it holds"


def main() -> int:
    found = list(findings())
    for line in found:
        print(line)
    print(f"{len(found)} include(s) against the flow" if found else "include directions: all right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
