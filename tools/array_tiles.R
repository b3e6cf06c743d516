# Prints how kernels of the verbs for arrays are cut, and where each number comes from: src/arrays/cuda/tuning.hpp.
#
#   Rscript tools/array_tiles.R

lines <- readLines(file.path(Sys.getenv("KERNWEAVE_SOURCE", "."), "src/arrays/cuda/tuning.hpp"))
pattern <- "^constexpr Tile k([A-Za-z]+)\\{([0-9]+), ([0-9]+)\\};\\s*// (.*)$"
found <- regmatches(lines, regexec(pattern, lines))
tiles <- do.call(rbind, found[lengths(found) > 0])[, -1]
cat(sprintf("%-12s %8s %6s %6s  %s\n", "tile", "threads", "each", "items", "origin"))
cat(sprintf("%-12s %8s %6s %6d  %s\n", tiles[, 1], tiles[, 2], tiles[, 3],
            as.integer(tiles[, 2]) * as.integer(tiles[, 3]), tiles[, 4]), sep = "")
