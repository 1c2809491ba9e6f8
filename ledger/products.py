"""The reviewed list of hardware products whose names may be published.

A name read from a machine can hold anything (a virtual machine's owner, a serial number), so only
names that somebody has looked at are public. To add one, add a line: the name exactly as the driver
or the kernel prints it.
"""

from __future__ import annotations

PRODUCTS = frozenset(
    {
        "NVIDIA A100-SXM4-40GB",
        "NVIDIA A100-SXM4-80GB",
        "NVIDIA A10G",
        "NVIDIA B200",
        "NVIDIA GB10",
        "NVIDIA GeForce RTX 3090",
        "NVIDIA GeForce RTX 4090",
        "NVIDIA GeForce RTX 5090",
        "NVIDIA H100 80GB HBM3",
        "NVIDIA H100 PCIe",
        "NVIDIA H200",
        "NVIDIA L4",
        "NVIDIA L40S",
        "NVIDIA RTX 6000 Ada Generation",
        "NVIDIA RTX PRO 6000 Blackwell",
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
        "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "AMD Instinct MI300X",
        "AMD EPYC 9654 96-Core Processor",
        "AMD Ryzen 9 9950X 16-Core Processor",
        "AMD Ryzen Threadripper PRO 7995WX 96-Cores",
        "Intel(R) Xeon(R) Platinum 8480+",
        "Intel(R) Xeon(R) Platinum 8480C",
        "Intel(R) Xeon(R) Processor",
    }
)
