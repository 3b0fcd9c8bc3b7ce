"""Schedule commands: CIN -> CIN, one file each, documented before → after."""
