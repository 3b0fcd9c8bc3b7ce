"""Spare the C compiler the optimisation of what Cython adds around a kernel.

A module's kernels are a few hundred lines of C; what makes it a Python module is 8,000
more, most of which runs once or never. Optimised like a kernel, they take two thirds of
the C compiler's time. They are marked here, in the C file, by pragmas that compilers
other than GCC ignore.
"""

import re

__all__ = ["relax_boilerplate"]

_FUNCTIONS = "/* #### Code section: module_code ### */"
_MODULE = "/* #### Code section: module_exttypes ### */"
_HELPERS = "/* #### Code section: utility_code_def ### */"
# A comment in the first column stands before each function, and before each helper.
_FUNCTION = re.compile(r"^(?=/\* )", re.MULTILINE)
_HELPER = re.compile(r"^(?=/\* \w+(?: \(used by [^)\n]*\))? \*/$)", re.MULTILINE)
_WRAPPER = "/* Python wrapper */"
# What turns an argument into an integer runs a dozen times in each call.
_CONVERSION = "/* CIntFromPy "

_PUSH = "#pragma GCC push_options\n"
_POP = "#pragma GCC pop_options\n"
_CALLED = f'{_PUSH}#pragma GCC optimize ("O1")\n'
_SELDOM = f'{_PUSH}#pragma GCC optimize ("O0")\n'


def relax_boilerplate(source: str) -> str:
    """Mark the parts of a C file of Cython's that are not worth optimising.

    Parameters
    ----------
    source : str
        The text of a C file that Cython wrote.

    Returns
    -------
    str
        The same program. Functions that Python calls are compiled with ``-O1``,
        module creation and helpers without optimisation; kernels, and the conversion
        of arguments, as the command line says. A text in which the parts are not
        found, as from an unknown version of Cython, is returned as it is.
    """
    functions, module, helpers = map(source.find, (_FUNCTIONS, _MODULE, _HELPERS))
    if not 0 <= functions < module < helpers:
        return source
    return "".join(
        [
            source[:functions],
            *map(_function, _FUNCTION.split(source[functions:module])),
            _SELDOM,
            source[module:helpers],
            *map(_helper, _HELPER.split(source[helpers:])),
            _POP,
        ]
    )


def _function(part: str) -> str:
    if part.startswith(_WRAPPER):
        return f"{_CALLED}{part}{_POP}"
    return part


def _helper(part: str) -> str:
    if part.startswith(_CONVERSION):
        return f"{_POP}{part}{_SELDOM}"
    return part
