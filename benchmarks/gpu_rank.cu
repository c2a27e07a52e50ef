// Run MSCCL++ plans as one rank: every launch has data of its own, and every element of it is compared.
//
// This becomes a library with the executor inside it, of which each rank loads its own copy: the executor counts the
// launches of all ranks that share a copy together, and ranks must agree on the count. benchmarks/gpu.py builds it,
// starts the ranks (as processes or as threads of one), and reads the lines that they print.

#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <mscclpp/core.hpp>
#include <mscclpp/executor.hpp>
#include <mscclpp/gpu_data_types.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

enum Collective { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Reduce };

struct Call {
  int collective, rank, ranks, root;
  uint32_t part;  // elements that a rank has of the whole
};

void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}

__host__ __device__ uint32_t value_of(uint32_t rank, uint32_t launch, uint32_t index) {
  uint32_t mixed = index * 0x9E3779B1u ^ rank * 0x85EBCA77u ^ launch * 0xC2B2AE3Du;
  mixed = (mixed ^ mixed >> 15) * 0x2C1B3C6Du;
  mixed = (mixed ^ mixed >> 12) * 0x297A2D39u;
  return mixed ^ mixed >> 15;
}

__global__ void fill(uint32_t* place, uint32_t count, uint32_t rank, uint32_t launch) {
  for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x)
    place[at] = value_of(rank, launch, at);
}

__global__ void tarry(long long cycles) {
  for (long long begin = clock64(); clock64() - begin < cycles;) __nanosleep(200);
}

__global__ void compare(const uint32_t* place, uint32_t count, Call call, uint32_t launch, unsigned long long* wrong) {
  for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x) {
    uint32_t wanted = 0;
    if (call.collective == AllGather) {
      wanted = value_of(at / call.part, launch, at % call.part);
    } else if (call.collective == AllToAll) {
      wanted = value_of(at / call.part, launch, call.rank * call.part + at % call.part);
    } else if (call.collective == Broadcast) {
      wanted = value_of(call.root, launch, at);
    } else {
      uint32_t index = call.collective == ReduceScatter ? call.rank * call.part + at : at;
      for (int rank = 0; rank < call.ranks; ++rank) wanted += value_of(rank, launch, index);
    }
    if (place[at] != wanted) {
      atomicAdd(&wrong[0], 1ull);
      atomicMin(&wrong[1], (unsigned long long)launch << 32 | at);
    }
  }
}

int collective_of(const std::string& name) {
  const char* names[] = {"allreduce", "allgather", "reduce-scatter", "all-to-all", "broadcast", "reduce"};
  for (int at = 0; at < 6; ++at)
    if (name == names[at]) return at;
  throw std::runtime_error("unknown collective " + name);
}

// Run one line of the list of jobs: number, plan, collective, root, in place, packet bytes, bytes, launches, timed ones.
void run_job(std::istringstream& line, int rank, int ranks, mscclpp::Bootstrap& meeting, mscclpp::Executor& executor,
             cudaStream_t stream) {
  std::string number, path, name;
  int root, inplace, packet, launches, timed;
  uint32_t bytes;
  line >> number >> path >> name >> root >> inplace >> packet >> bytes >> launches >> timed;
  Call call{collective_of(name), rank, ranks, root, bytes / 4 / ranks};
  uint32_t whole = bytes / 4;
  uint32_t sends = call.collective == AllGather ? call.part : whole;
  uint32_t receives = call.collective == ReduceScatter ? call.part : whole;
  uint32_t *source, *target;
  check(cudaMalloc(&source, (inplace ? whole : sends) * 4), "cudaMalloc");
  uint32_t* base = source;
  if (inplace) {
    target = call.collective == ReduceScatter ? base + rank * call.part : base;
    source = call.collective == AllGather ? base + rank * call.part : base;
  } else {
    check(cudaMalloc(&target, receives * 4), "cudaMalloc");
  }
  unsigned long long* wrong;
  unsigned long long counts[2] = {0, ~0ull};
  check(cudaMalloc(&wrong, sizeof(counts)), "cudaMalloc");
  check(cudaMemcpyAsync(wrong, counts, sizeof(counts), cudaMemcpyHostToDevice, stream), "cudaMemcpy");
  check(cudaStreamSynchronize(stream), "setup");
  mscclpp::ExecutionPlan plan(path, rank);
  auto kind = packet == 8 ? mscclpp::PacketType::LL8 : mscclpp::PacketType::LL16;
  auto launch = [&] {
    executor.execute(rank, source, target, sends * 4, receives * 4, mscclpp::DataType::UINT32, plan, stream, kind);
  };
  // Captured and thrown away, the first launch sets up what it needs, and nothing spins on the card meanwhile.
  cudaGraph_t unused;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capture");
  launch();
  check(cudaStreamEndCapture(stream, &unused), "capture");
  check(cudaGraphDestroy(unused), "capture");
  meeting.barrier();
  bool compared = call.collective != Reduce || rank == root;
  for (int at = 1; at <= launches; ++at) {
    if (inplace && call.collective == AllGather) fill<<<64, 256, 0, stream>>>(base, whole, ranks + 1, at);
    if (!inplace) fill<<<64, 256, 0, stream>>>(target, receives, ranks + 1, at);
    fill<<<64, 256, 0, stream>>>(source, sends, rank, at);
    uint32_t late = value_of(rank, at, 7) % 64;
    tarry<<<1, 1, 0, stream>>>(late < 4 ? 400000 : late * 800);
    launch();
    if (compared) compare<<<64, 256, 0, stream>>>(target, receives, call, at, wrong);
  }
  check(cudaStreamSynchronize(stream), "launches");
  check(cudaMemcpyAsync(counts, wrong, sizeof(counts), cudaMemcpyDeviceToHost, stream), "cudaMemcpy");
  check(cudaStreamSynchronize(stream), "comparison");
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  for (int at = 0; timed > 0 && at < 3; ++at) launch();
  check(cudaStreamSynchronize(stream), "warming");
  meeting.barrier();
  check(cudaEventRecord(begin, stream), "cudaEventRecord");
  for (int at = 0; at < timed; ++at) launch();
  check(cudaEventRecord(end, stream), "cudaEventRecord");
  check(cudaStreamSynchronize(stream), "timed launches");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  char said[256];
  int length = snprintf(said, sizeof(said), "job %s %d %llu %llu %llu %.3f\n", number.c_str(), rank, counts[0],
                        counts[0] ? counts[1] >> 32 : 0, counts[0] ? counts[1] & 0xFFFFFFFFull : 0,
                        timed > 0 ? milliseconds * 1000 / timed : 0.0);
  if (write(1, said, length) != length) throw std::runtime_error("cannot write");
  meeting.barrier();
}

}  // namespace

extern "C" int run_rank(int rank, int ranks, const char* address, const char* jobs) {
  try {
    check(cudaSetDevice(0), "cudaSetDevice");
    check(cudaFree(nullptr), "the card");
    auto meeting = std::make_shared<mscclpp::TcpBootstrap>(rank, ranks);
    meeting->initialize(address, 60);
    auto communicator = std::make_shared<mscclpp::Communicator>(meeting);
    mscclpp::Executor executor(communicator);
    cudaStream_t stream;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    std::ifstream list(jobs);
    for (std::string text; std::getline(list, text);) {
      std::istringstream line(text);
      run_job(line, rank, ranks, *meeting, executor, stream);
    }
    return 0;
  } catch (const std::exception& fault) {
    dprintf(1, "fault %d %s\n", rank, fault.what());
    return 1;
  }
}
