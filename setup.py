"""Render the kernel manifest and compile it; the metadata is in pyproject.toml."""

import os
import shutil
import sys
from pathlib import Path

from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

# Absolute, since an isolated build runs this file by a relative name; and first, or
# a sparray that is installed already would render its own manifest.
ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

WRITTEN = (
    "sparray._kernels.addresses",
    "sparray._kernels.blocks",
    "sparray.io.compiled",
)
BUILT = Path("sparray", "_kernels", "built")


class KernelDistribution(Distribution):
    """A distribution whose extensions are not known before they are rendered."""

    def has_ext_modules(self):
        return True


class BuildKernels(build_ext):
    """Render the kernels of every target and compile them."""

    def initialize_options(self):
        super().initialize_options()
        self.rendered = False

    def finalize_options(self):
        # With the extensions at hand, which an sdist or the metadata does without.
        if self.rendered:
            super().finalize_options()
        else:
            self.extensions = []

    def run(self):
        self.set_undefined_options("build", ("build_temp", "build_temp"))
        in_sources = self.inplace or self.editable_mode
        folder = BUILT if in_sources else Path(self.build_temp, "built")
        self.distribution.ext_modules = self._render(folder)
        self.rendered = True
        self.finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        super().run()
        if not in_sources:
            self._copy_sources(folder)

    def build_extension(self, ext):
        try:
            super().build_extension(ext)
        except OSError as error:
            # No compiler at all: setuptools itself allows for one that fails.
            raise CompileError(f"the C compiler does not run: {error}") from error

    def _render(self, folder):
        from Cython.Build import cythonize

        from sparray._kernels.build import render_rows, requested_targets
        from sparray._kernels.built_in import folder_name
        from sparray._kernels.manifest import ROWS

        package = ".".join(BUILT.parts)
        extensions = [
            Extension(
                f"{package}.{folder_name(target)}.{module.name}",
                [str(module.path)],
                # Python's own flags ask for debug information: half the time.
                extra_compile_args=["-g0", *module.flags],
                extra_link_args=["-fopenmp"],
            )
            for target in requested_targets()
            for module in render_rows(ROWS, target, folder)
        ]
        extensions += [
            Extension(name, [name.replace(".", "/") + ".pyx"]) for name in WRITTEN
        ]
        directory = str(Path(self.build_temp, "cython"))
        extensions = cythonize(extensions, build_dir=directory, quiet=True)
        for extension in extensions:
            # Without a C compiler the package works, with the interpreter. Set here,
            # since Cython makes new extensions without it.
            extension.optional = True
        return extensions

    def _copy_sources(self, folder):
        """Copy the sources and indices to where the libraries were built."""
        for path in [*folder.glob("*/*.pyx"), *folder.glob("*/*.json")]:
            target = Path(self.build_lib, BUILT, path.relative_to(folder))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


setup(distclass=KernelDistribution, cmdclass={"build_ext": BuildKernels})
