"""Check whether an NVIDIA GPU can run JAX's CUDA variants, before anything is installed."""

from __future__ import annotations

import argparse
import ctypes
import os
import sys

UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h
LIBRARY = "libcuda.so.1"
# The CUDA version that a variant is built for: 12.0 came with driver 525, 13.0 with driver 580.
NEEDS = {"cuda12": (12, 0), "cuda13": (13, 0)}
CAUSES = {
    100: "the driver finds no CUDA device",
    803: "the driver and its library have different versions",
    804: "the driver is too old for its library",
}


class NoGpu(Exception):
    """No GPU can be used; the message gives the cause."""


def driver_version(library: str) -> tuple[int, int]:
    """The newest CUDA version that the driver runs; raises NoGpu if there is no driver or no device."""
    try:
        cuda = ctypes.CDLL(library)
    except OSError:
        raise NoGpu(f"the NVIDIA driver's library {library} cannot be loaded") from None
    code = cuda.cuInit(0)
    if code:
        raise NoGpu(CAUSES.get(code, f"the driver does not start (cuInit returns {code})"))
    devices, version = ctypes.c_int(0), ctypes.c_int(0)
    if cuda.cuDeviceGetCount(ctypes.byref(devices)) or not devices.value:
        raise NoGpu(CAUSES[100])
    if cuda.cuDriverGetVersion(ctypes.byref(version)):
        raise NoGpu("the driver does not report its version")
    return version.value // 1000, version.value % 1000 // 10


def verdict(variant: str, driver: tuple[int, int]) -> str:
    """One line: whether a driver for that CUDA version can run the variant."""
    (major, minor), (needs, zero) = driver, NEEDS[variant]
    if driver >= NEEDS[variant]:
        return f"{variant} can run: the driver is for CUDA {major}.{minor}"
    return f"{variant} is left out: the driver is for CUDA {major}.{minor} and it needs {needs}.{zero}"


def check(variants: list[str], library: str) -> list[str]:
    """The verdict on each variant; raises NoGpu if none can run."""
    driver = driver_version(library)
    lines = [verdict(variant, driver) for variant in variants]
    if all("left out" in line for line in lines):
        raise NoGpu(" and ".join(lines))
    return lines


def jax_device() -> str:
    """JAX's default device; exits with a message if it is not a GPU."""
    import jax

    if jax.default_backend() != "gpu":
        sys.exit(f"JAX runs on {jax.default_backend()}, not on the GPU.")
    return str(jax.devices()[0].device_kind)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"Exits {UNAVAILABLE} where none can run. $COGRID_LIBCUDA replaces {LIBRARY}.",
    )
    parser.add_argument(
        "variants", nargs="*", default=list(NEEDS), help=f"of {', '.join(NEEDS)}; default all"
    )
    parser.add_argument("--jax", action="store_true", help="after the install: print the GPU that JAX uses")
    parser.add_argument("--instead", default='nox -s "tests(jax-cpu)"', help="what to run on the CPU instead")
    arguments = parser.parse_args()
    if unknown := set(arguments.variants) - set(NEEDS):
        parser.error(f"unknown variant {min(unknown)!r}: choose from {', '.join(NEEDS)}")
    if arguments.jax:
        print(jax_device())
        return 0
    try:
        library = os.environ.get("COGRID_LIBCUDA", LIBRARY)
        print("\n".join(check(arguments.variants, library)))
    except NoGpu as cause:
        print(f"No GPU to run on: {cause}; on the CPU, run {arguments.instead}", file=sys.stderr)
        return UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
