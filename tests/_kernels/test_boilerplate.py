"""Which parts of a module are optimised less."""

import re

import pytest

from sparray._kernels.boilerplate import relax_boilerplate
from sparray._kernels.jit import _translate

SOURCE = """
cdef long long first(long long a) noexcept nogil:
    return a + 1

def call_first(long long a):
    return first(a)

cdef long long second(long long a) noexcept nogil:
    return a + 2

def call_second(long long a):
    return second(a)
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    pyx = tmp_path_factory.mktemp("boilerplate") / "sparray_kernel.pyx"
    pyx.write_text(SOURCE)
    _translate(pyx)
    return pyx.with_suffix(".c").read_text()


def level_after(before):
    """Return the level at which what follows a text is optimised."""
    stack = [None]
    for line in before.splitlines():
        if line == "#pragma GCC push_options":
            stack.append(stack[-1])
        elif line == "#pragma GCC pop_options":
            stack.pop()
        elif found := re.fullmatch(r'#pragma GCC optimize \("(\w+)"\)', line):
            stack[-1] = found[1]
    return stack[-1]


def level_of(text, name):
    """Return the level of the one function of a name."""
    heads = re.finditer(rf"^static [^;{{}}]*\b{name}\([^;{{}}]*\{{", text, re.MULTILINE)
    (level,) = {level_after(text[: head.start()]) for head in heads}
    return level


@pytest.mark.parametrize("name", ["first", "second"])
def test_kernels_are_compiled_as_the_command_line_says(text, name):
    assert level_of(text, f"__pyx_f_\\w*_{name}") is None


@pytest.mark.parametrize("name", ["call_first", "call_second"])
def test_functions_that_python_calls(text, name):
    assert level_of(text, f"__pyx_pf_\\w*{name}") == "O1"


def test_conversion_of_arguments(text):
    assert level_of(text, "__Pyx_PyLong_As_PY_LONG_LONG") is None


@pytest.mark.parametrize("name", ["__Pyx_AddTraceback", "__Pyx_check_binary_version"])
def test_what_runs_seldom(text, name):
    assert level_of(text, name) == "O0"


def test_nothing_else_changes(text):
    plain = re.sub(r"#pragma GCC (push_options|pop_options|optimize).*\n", "", text)
    assert text.count(" push_options") == text.count(" pop_options") > 3
    assert relax_boilerplate(plain) == text


def test_text_of_an_unknown_compiler_is_kept():
    assert relax_boilerplate("int main(void) { return 0; }\n").startswith("int main")
