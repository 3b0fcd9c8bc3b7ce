"""Render the kernel manifest and compile it; the metadata is in pyproject.toml."""

import os
import shutil
import sys
from pathlib import Path

from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext

# Absolute, since an isolated build runs this file by a relative name; and first, or
# a sparray that is installed already would render its own manifest.
ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

BUILT = Path("sparray", "_kernels", "built")


class KernelDistribution(Distribution):
    """A distribution whose extensions are not known before they are rendered."""

    def has_ext_modules(self):
        return True


class BuildKernels(build_ext):
    """Render the kernels of every target and compile them."""

    def run(self):
        # Not earlier: making an sdist or the metadata finalizes this command too.
        self.parallel = self.parallel or os.cpu_count()
        folder = BUILT if self.inplace else Path(self.build_temp, "built")
        self.distribution.ext_modules = self._render(folder)
        self.finalize_options()
        super().run()
        if not self.inplace:
            self._copy_sources(folder)

    def _render(self, folder):
        from Cython.Build import cythonize

        from sparray._kernels.build import render_rows, requested_targets
        from sparray._kernels.built_in import folder_name
        from sparray._kernels.manifest import ROWS

        package = ".".join(BUILT.parts)
        extensions = [
            # Optional: without a C compiler the package works, with the interpreter.
            Extension(
                f"{package}.{folder_name(target)}.{module.name}",
                [str(module.path)],
                extra_compile_args=list(module.flags),
                extra_link_args=["-fopenmp"],
                optional=True,
            )
            for target in requested_targets()
            for module in render_rows(ROWS, target, folder)
        ]
        directory = str(Path(self.build_temp, "cython"))
        return cythonize(extensions, build_dir=directory, quiet=True)

    def _copy_sources(self, folder):
        """Copy the sources and indices to where the libraries were built."""
        for path in [*folder.glob("*/*.pyx"), *folder.glob("*/*.json")]:
            target = Path(self.build_lib, BUILT, path.relative_to(folder))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


setup(distclass=KernelDistribution, cmdclass={"build_ext": BuildKernels})
