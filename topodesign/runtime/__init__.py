"""What MSCCL runtimes accept and do: their limits, their parser, their interpreter, and a checker of programs.

Independent of the compiler: nothing here knows how a program was made.
"""

from topodesign.runtime.check import CheckReport, Usage, check_file, check_program
from topodesign.runtime.operations import Finding
from topodesign.runtime.parse import Program, XmlError, parse_xml
from topodesign.runtime.profiles import PROFILES, RuntimeProfile, get_profile

__all__ = [
    "PROFILES",
    "CheckReport",
    "Finding",
    "Program",
    "RuntimeProfile",
    "Usage",
    "XmlError",
    "check_file",
    "check_program",
    "get_profile",
    "parse_xml",
]
