"""From schedules to programs: the instruction IR, the lowering, and the XML of MSCCL runtimes."""

from topodesign.compile.ir import Program
from topodesign.compile.lower import lower
from topodesign.compile.msccl import compile_schedule, to_xml

__all__ = ["Program", "compile_schedule", "lower", "to_xml"]
