"""Print a command of the README: that of the code block below its marker."""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def readme_command(name: str) -> str:
    """Return the lines of the code block that follows ``<!-- command: name -->``."""
    pattern = rf"<!-- command: {name} -->\s*```bash\n(.*?)```"
    found = re.findall(pattern, README.read_text(encoding="utf-8"), re.DOTALL)
    if len(found) != 1:
        sys.exit(f"README.md: expected one command {name!r}, got {len(found)}")
    return "\n".join(line.strip() for line in found[0].splitlines())


if __name__ == "__main__":
    print(readme_command(sys.argv[1]))
