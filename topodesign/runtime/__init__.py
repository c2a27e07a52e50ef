"""What MSCCL runtimes accept and do: their limits, their parser, their interpreter, and a checker of programs.

Imports base and collectives alone: nothing here knows how a program was made. To add a runtime of the same XML, list
its :class:`~topodesign.runtime.profiles.RuntimeProfile` in ``PROFILES``; what it calls a collective is said there, in
``labels`` of the collective.
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
