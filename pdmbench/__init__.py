"""Certified benchmarks of large-margin linear classifiers.

Reproduces the experiments of C. Panagiotakopoulos and P. Tsampouka, *The Perceptron with Dynamic
Margin* (arXiv 1105.6041). Data flows through the rooms in this order::

    data -> problem -> solvers (over kernels) -> bench -> report
"""

__version__ = "0.1.0"
