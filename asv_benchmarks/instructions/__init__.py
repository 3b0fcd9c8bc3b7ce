"""How many instructions kernels take: a guard that a noisy machine does not disturb."""
