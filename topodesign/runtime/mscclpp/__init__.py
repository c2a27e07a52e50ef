"""MSCCL++ plans: parser, meaning and checks.

Imports base, collectives and what is shared with MSCCL in the folder above; nothing here knows how a plan was made.
``parse`` reads the JSON, ``steps`` says what threadblocks do, ``prove`` decides for all orders of execution and
``flat`` does so over arrays and tries some of them, ``check`` has it from end to end. The rules are those of MSCCL++
0.9 at commit 1f5f065d: ``src/core/executor`` and ``src/core/include/execution_kernel.hpp``.
"""
