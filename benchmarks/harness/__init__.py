"""What `./dev bench` measures with: candidates, interleaved timing, bounds, memory, reports."""
