"""Makes the pictures of README and docs again, from a real run: `./dev pictures`.

Needs Graphviz (`dot`) and headless Chromium, which `./dev pictures` installs when it may.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"


def anabranch() -> str:
    """The command line of this checkout, built by ./dev."""
    return str(pathlib.Path(os.environ["ANABRANCH_LIBRARY_DIR"]).parent / "bin" / "anabranch")


def screenshot(page: pathlib.Path, picture: pathlib.Path, size: str) -> None:
    """Renders a local page to PNG; `size` is "width,height" in CSS pixels."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("chromium is missing: sudo apt-get install chromium")
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--force-device-scale-factor=1.5", f"--window-size={size}", f"--screenshot={picture}",
         page.as_uri()],
        check=True, stderr=subprocess.DEVNULL)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        example = str(ROOT / "examples" / "two_streams.py")
        subprocess.run([anabranch(), "run", example], cwd=out, check=True)
        made = out / "two_streams_out"
        dump = next(made.glob("dynamo_original_graph_*.pbtxt"))
        drawing = str(PICTURES / "two_streams.svg")
        subprocess.run([anabranch(), "draw", str(dump), "-o", drawing], check=True)
        screenshot(made / "timeline.html", PICTURES / "timeline.png", "1400,620")
    folders = PICTURES / "architecture"
    subprocess.run(["dot", "-Tsvg", f"{folders}.dot", "-o", f"{folders}.svg"], check=True)


if __name__ == "__main__":
    main()
