"""One class per workload; see `docs/developer/performance.md`."""
