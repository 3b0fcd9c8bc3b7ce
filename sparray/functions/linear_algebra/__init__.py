"""Linear algebra: products, norms, and SciPy's solvers of sparse systems.

Products and norms are expressions for the compiler. What factorises a matrix is SciPy:
by SuperLU and ARPACK, which multiplies by compiled kernels.
"""
