"""Back ends: each folder prints loop IR in one language and decides nothing."""
