// Chunks are merged in order, then blocks in order: so it makes no difference who has computed them, or when.
#include "cpu/found.hpp"

namespace kernweave {

Found::Found(const PassRun& job) : job_(job) {
  for (std::size_t p = 0; p < job.shape->parts.size(); ++p) folds_rows_ = folds_rows_ || folds_rows(p);
}

void Found::begin(const Piece& piece, bool kept) {
  piece_ = piece;
  kept_ = kept;
  const auto tasks = static_cast<std::size_t>(piece.tasks());
  if (piece.chunks.size() > 1 || kept) rows_.resize(tasks);
  if (folds_rows_) totals_.resize(tasks);
}

std::int64_t Found::rows_of(std::int64_t block) const {
  return std::min(job_.pass->tiling.rows, job_.lanes - block * job_.pass->tiling.rows);
}

std::size_t Found::place(std::int64_t block, std::int64_t chunk) const {
  return static_cast<std::size_t>((block - piece_.blocks.from) * piece_.chunks.size() + chunk - piece_.chunks.from);
}

void Found::take(std::int64_t block, std::int64_t chunk, RowStates* states) {
  const std::size_t task = place(block, chunk);
  if (folds_rows_) {
    totals_[task].init(*job_.shape, 1);
    for (std::size_t p = 0; p < job_.shape->parts.size(); ++p)
      if (folds_rows(p)) totals_[task].merge_rows(*states, rows_of(block), p);
  }
  if (piece_.chunks.size() > 1 || kept_) std::swap(rows_[task], *states);
  else finish_rows(block, states);
}

void Found::finish() {
  const std::int64_t chunks = piece_.chunks.size();
  for (std::int64_t b = 0; b < piece_.blocks.size() && (chunks > 1 || kept_); ++b) {
    RowStates& first = rows_[static_cast<std::size_t>(b * chunks)];
    for (std::int64_t c = 1; c < chunks; ++c) first.merge(rows_[static_cast<std::size_t>(b * chunks + c)]);
    if (!kept_) finish_rows(piece_.blocks.from + b, &first);
  }
  if (kept_ || !folds_rows_) return;
  std::vector<RowStates*> in_order;
  for (RowStates& total : totals_) in_order.push_back(&total);
  finish_totals(in_order);
}

PassStates Found::give() {
  PassStates states{piece_, {}, std::move(totals_)};
  for (std::int64_t b = 0; b < piece_.blocks.size(); ++b)
    states.rows.push_back(std::move(rows_[static_cast<std::size_t>(b * piece_.chunks.size())]));
  rows_.clear();
  totals_.clear();
  return states;
}

void Found::finish_all(std::vector<PassStates>* pieces) {
  std::vector<RowStates*> totals;
  for (std::size_t first = 0, end = 0; first < pieces->size(); first = end) {
    std::vector<RowStates>& rows = (*pieces)[first].rows;
    const Range blocks = (*pieces)[first].piece.blocks;
    for (end = first + 1; end < pieces->size() && (*pieces)[end].piece.blocks.from == blocks.from; ++end)
      for (std::size_t b = 0; b < rows.size(); ++b) rows[b].merge((*pieces)[end].rows[b]);
    for (std::int64_t b = 0; b < blocks.size(); ++b) {
      finish_rows(blocks.from + b, &rows[static_cast<std::size_t>(b)]);
      for (std::size_t p = first; p < end && folds_rows_; ++p) {
        const std::int64_t chunks = (*pieces)[p].piece.chunks.size();
        for (std::int64_t c = 0; c < chunks; ++c)
          totals.push_back(&(*pieces)[p].totals[static_cast<std::size_t>(b * chunks + c)]);
      }
    }
  }
  if (folds_rows_) finish_totals(totals);
}

void Found::finish_totals(const std::vector<RowStates*>& in_order) {
  all_.init(*job_.shape, 1);
  for (RowStates* total : in_order) all_.merge(*total);
  for (std::size_t p = 0; p < job_.shape->parts.size(); ++p)
    if (folds_rows(p)) all_.finish(p, 1, 0, 1, result(p));
}

void Found::finish_rows(std::int64_t block, RowStates* states) {
  for (std::size_t p = 0; p < job_.shape->parts.size(); ++p)
    if (!folds_rows(p)) states->finish(p, rows_of(block), block * job_.pass->tiling.rows, job_.lanes, result(p));
}

}  // namespace kernweave
