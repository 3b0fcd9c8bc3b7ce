"""What the scheduler, and what runs kernels, must know of how they are lowered."""
