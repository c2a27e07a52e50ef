"""From schedules to programs: the instruction IR, the lowering, and the XML of MSCCL runtimes."""

from topodesign.compiler.ir import Program
from topodesign.compiler.msccl import compile_schedule, to_xml
from topodesign.compiler.rounds import lower

__all__ = ["Program", "compile_schedule", "lower", "to_xml"]
