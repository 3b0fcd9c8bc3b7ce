"""The loop IR: scalar code over flat buffers, the last IR before printed kernels."""
