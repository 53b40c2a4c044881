"""Counts the words of a text file and prints the most frequent ones as JSON."""

import json
import re
import sys
from collections import Counter
from pathlib import Path


def main() -> None:
    words = re.findall(r"[a-z]+", Path(sys.argv[1]).read_text().lower())
    print(json.dumps({"words": len(words), "most": Counter(words).most_common(3)}))


if __name__ == "__main__":
    main()
