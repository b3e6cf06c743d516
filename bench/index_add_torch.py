# Measures torch.index_add_ for the shapes of bench/arrays_gpu.R, in place, by events: medians, as lines of a file.
# Calls of few items follow each other: a share of twenty.
#
#   python3 bench/index_add_torch.py OUT.csv [least items] [most items]
import sys
import torch


def index_of(like, extent, items):
    if like == "first":
        return torch.randint(min(extent, 1024), (items,), device="cuda")
    index = torch.randint(extent, (items,), device="cuda")
    if like == "hot":
        return torch.where(torch.rand(items, device="cuda") < 0.5, torch.zeros_like(index), index)
    if like == "zipf":
        least = extent**-0.1
        rank = torch.rand(items, device="cuda", dtype=torch.float64).mul(1 - least).add(least).pow(-10).floor()
        return rank.clamp(max=extent).long() - 1
    return index


def milliseconds(call, turns, calls):
    took = []
    for turn in range(turns + 2):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        took.append(begin.elapsed_time(end) / calls)
    return sorted(took[2:])[turns // 2]


cases = [("1", 1, 2**25, 15, "first"), ("2", 1024, 32768, 15, "first"), ("3", 2**20, 32, 15, "first"),
         ("4", 1, 2**25, 1024, "first"), ("5", 1024, 32768, 1024, "first"), ("6", 128, 1720000, 7770000, "hot"),
         ("7", 128, 1720000, 7770000, "zipf"), ("8", 128, 100000, 500000, "uniform"),
         ("9", 128, 4000000, 4000000, "uniform"), ("10-10", 1, 10, 100000000, "uniform"),
         ("10-1000", 1, 1000, 100000000, "uniform"), ("10-1000000", 1, 1000000, 100000000, "uniform")]

least, most = [float(x) for x in sys.argv[2:4] + ["0", "inf"][len(sys.argv[2:4]):]]
torch.manual_seed(1)
with open(sys.argv[1], "w") as out:
    out.write("case,type,mode,ms\n")
    for name, before, extent, items, like in cases:
        if not least <= items <= most:
            continue
        index = index_of(like, extent, items)
        for kind in ("float64", "float32"):
            x = torch.zeros(extent, before, device="cuda", dtype=getattr(torch, kind)).squeeze()
            source = torch.rand(items, before, device="cuda", dtype=getattr(torch, kind)).squeeze()
            for mode in ("atomic", "deterministic") if kind == "float64" else ("atomic",):
                torch.use_deterministic_algorithms(mode == "deterministic")
                try:
                    ms = milliseconds(lambda: x.index_add_(0, index, source), 7, 20 if items < 2000 else 1)
                    out.write(f"{name},{kind},{mode},{ms:.4f}\n")
                except RuntimeError as error:
                    print(name, kind, mode, error)
            del x, source
            torch.cuda.empty_cache()
print("torch", torch.__version__, torch.version.cuda)
