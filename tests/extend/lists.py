# SPDX-License-Identifier: BSD-2-Clause
"""The files that a patch touches, and those that docs/HACKING.md names for it."""
import re


def places(page, name):
    """What the paragraph about NAME.patch names: {text: pattern of paths}."""
    paragraph = re.search(rf"^\*\*[^*]+\*\* \(`{name}\.patch`\).*?\n\n", page, re.M | re.S)
    if not paragraph:
        return {}
    spans = re.findall(r"`([^`\s]+/[^`\s]*|[^`\s]+\.md)`", paragraph[0])
    spans += ["docs/" + page for page in re.findall(r"\]\(([\w-]+\.md)\)", paragraph[0])]
    return {span: re.compile(re.escape(span).replace("NAME", "[^/]+")
                             + (".*" if span.endswith("/") else "")) for span in spans}


def touched(patch):
    """The files that a patch changes or makes."""
    return re.findall(r"^\+\+\+ b/(.*)$", patch, re.M)


def strays(page, name, patch):
    """Yields where the patch and the page differ."""
    files, named = touched(patch), places(page, name)
    for path in files:
        if not any(pattern.fullmatch(path) for pattern in named.values()):
            yield f"{name}.patch touches {path}, which docs/HACKING.md does not name"
    for span, pattern in named.items():
        if not any(pattern.fullmatch(path) for path in files):
            yield f"docs/HACKING.md names {span}, which {name}.patch does not touch"
