// R's way to the verbs for arrays on a device: orders, groups, two sorted lists, joins, index_add().
#include <cstring>
#include "arrays/sorted.hpp"
#include "r_device_arrays.hpp"

namespace kernweave {
namespace {

SEXP integers(OnDevice& here, device::Block block, Index count) { return here.vector(INTSXP, std::move(block), count); }
SEXP integers(OnDevice& here, arrays::cuda::Made made) {
  return here.vector(INTSXP, std::move(made.block), made.count);
}

SEXPTYPE sexp_type_of(SEXP x) { return static_cast<SEXPTYPE>(TYPEOF(x)); }

// Is the last item missing? It is then of a list whose missing items come last, if one is.
bool ends_missing(OnDevice& here, const arrays::Whole& list) {
  if (list.count == 0) return false;
  const auto last = [&](const auto* items) {
    std::decay_t<decltype(*items)> item;
    here.gpu().download(&item, reinterpret_cast<device::Pointer>(items + list.count - 1), sizeof item);
    return arrays::is_missing(item);
  };
  return list.integers ? last(list.integers) : last(list.doubles);
}

arrays::cuda::AddTask add_task(const Rcpp::NumericVector& extents, const Rcpp::NumericVector& steps,
                               const std::string& op) {
  arrays::cuda::AddTask task{};
  task.shape = {static_cast<Index>(extents[0]), static_cast<Index>(extents[1]), static_cast<Index>(extents[2])};
  task.steps = {static_cast<Index>(steps[0]), static_cast<Index>(steps[1]), static_cast<Index>(steps[2])};
  task.op = op == "prod"  ? arrays::Combine::prod
            : op == "min" ? arrays::Combine::min
            : op == "max" ? arrays::Combine::max
                          : arrays::Combine::sum;
  task.mean = op == "mean";
  return task;
}

// A copy of an array, with its attributes.
SEXP copy_there(OnDevice& here, SEXP x) {
  const arrays::Whole from = here.whole(x);
  const std::size_t bytes = static_cast<std::size_t>(from.count) * (from.integers ? sizeof(int) : sizeof(double));
  device::Block block = here.gpu().allocate(bytes, "the result");
  const void* const first = from.integers ? static_cast<const void*>(from.integers) : from.doubles;
  here.verbs().copy_numbers(here.gpu(), first, bytes, device::address<void>(block.at()));
  const Rcpp::Shield<SEXP> out(here.vector(sexp_type_of(x), std::move(block), from.count));
  SHALLOW_DUPLICATE_ATTRIB(out, x);
  return out;
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
SEXP r_order_there(Rcpp::List columns, Rcpp::LogicalVector decreasing, SEXP offsets) {
  return kernweave::on_device_of(columns[0], [&](kernweave::OnDevice& here) -> SEXP {
    kernweave::arrays::cuda::OrderOf task;
    for (R_xlen_t c = 0; c < columns.size(); ++c) {
      task.columns.push_back(here.whole(columns[c]));
      task.decreasing.push_back(decreasing[c % decreasing.size()]);
    }
    task.offsets = here.whole(offsets);
    return kernweave::integers(here, here.verbs().order_of(here.gpu(), task), task.columns[0].count);
  });
}

// The items sorted; NULL where an order is needed for that.
// [[Rcpp::export(rng = false)]]
SEXP r_sort_there(SEXP x, bool decreasing) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) -> SEXP {
    auto sorted = here.verbs().sorted_items(here.gpu(), here.whole(x), decreasing);
    if (!sorted) return R_NilValue;
    return here.vector(kernweave::sexp_type_of(x), std::move(*sorted), Rf_xlength(x));
  });
}

// Groups of equal keys: an item of each, offsets, and of all items the group and the order.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_group_there(SEXP by) {
  return kernweave::on_device_of(by, [&](kernweave::OnDevice& here) {
    const kernweave::Index n = Rf_xlength(by);
    kernweave::arrays::cuda::Grouped found = here.verbs().groups_of(here.gpu(), here.whole(by));
    const Rcpp::RObject heads = kernweave::integers(here, std::move(found.heads)),
                        offsets = kernweave::integers(here, std::move(found.offsets)),
                        codes = kernweave::integers(here, std::move(found.codes), n),
                        order = kernweave::integers(here, std::move(found.order), n);
    return Rcpp::List::create(Rcpp::_["heads"] = heads, Rcpp::_["offsets"] = offsets, Rcpp::_["codes"] = codes,
                              Rcpp::_["order"] = order);
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_merge_there(SEXP x, SEXP y, bool rows) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) -> SEXP {
    const kernweave::arrays::Whole a = here.whole(x), b = here.whole(y);
    const kernweave::Index n = a.count + b.count;
    const bool doubles = !rows && a.doubles;
    kernweave::device::Block out = doubles ? here.room_for<double>(n) : here.room_for<int>(n);
    if (rows) here.verbs().merge_rows(here.gpu(), a, b, here.at<int>(out));
    else here.verbs().merge_items(here.gpu(), a, b, here.at<void>(out));
    return here.vector(rows ? INTSXP : kernweave::sexp_type_of(x), std::move(out), n);
  });
}

// NULL where items are missing: what becomes of these is not known here.
// [[Rcpp::export(rng = false)]]
SEXP r_set_there(SEXP x, SEXP y, int op, bool multiset) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) -> SEXP {
    const kernweave::arrays::Whole a = here.whole(x), b = here.whole(y);
    if (kernweave::ends_missing(here, a) || kernweave::ends_missing(here, b)) return R_NilValue;
    const auto which = static_cast<kernweave::arrays::SetOp>(op);
    kernweave::arrays::cuda::Made made = here.verbs().set_of(here.gpu(), which, multiset, a, b);
    return here.vector(kernweave::sexp_type_of(x), std::move(made.block), made.count);
  });
}

// Is the last item of a sorted list missing?
// [[Rcpp::export(rng = false)]]
bool r_ends_missing_there(SEXP x) {
  return kernweave::on_device_of(
      x, [&](kernweave::OnDevice& here) { return kernweave::ends_missing(here, here.whole(x)); });
}

// `sorted`: the needles are.
// [[Rcpp::export(rng = false)]]
SEXP r_search_there(SEXP needles, SEXP haystack, bool equal_too, bool sorted) {
  return kernweave::on_device_of(needles, [&](kernweave::OnDevice& here) -> SEXP {
    const kernweave::arrays::Whole a = here.whole(needles), b = here.whole(haystack);
    kernweave::device::Block out = here.room_for<int>(a.count);
    int* const at = here.at<int>(out);
    if (sorted) here.verbs().search_sorted(here.gpu(), a, b, equal_too, NA_INTEGER, {at, nullptr}, {});
    else here.verbs().search_each(here.gpu(), a, b, equal_too, NA_INTEGER, at);
    return here.vector(INTSXP, std::move(out), a.count);
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List r_search_both_there(SEXP needles, SEXP haystack, bool equal_too) {
  return kernweave::on_device_of(needles, [&](kernweave::OnDevice& here) {
    const kernweave::arrays::Whole a = here.whole(needles), b = here.whole(haystack);
    kernweave::device::Block at = here.room_for<int>(a.count), matched = here.room_for<int>(a.count),
                             hay_at = here.room_for<int>(b.count), hay_matched = here.room_for<int>(b.count);
    here.verbs().search_sorted(here.gpu(), a, b, equal_too, NA_INTEGER, {here.at<int>(at), here.at<int>(matched)},
                               {here.at<int>(hay_at), here.at<int>(hay_matched)});
    const Rcpp::RObject found = here.vector(INTSXP, std::move(at), a.count),
                        flags = here.vector(LGLSXP, std::move(matched), a.count),
                        hay_found = here.vector(INTSXP, std::move(hay_at), b.count),
                        hay_flags = here.vector(LGLSXP, std::move(hay_matched), b.count);
    return Rcpp::List::create(Rcpp::_["at"] = found, Rcpp::_["matched"] = flags, Rcpp::_["haystack_at"] = hay_found,
                              Rcpp::_["haystack_matched"] = hay_flags);
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List r_join_there(SEXP x, SEXP y, bool keep_x, bool keep_y, bool missing_match) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) {
    const kernweave::arrays::cuda::JoinOf task{here.whole(x), here.whole(y), keep_x, keep_y, missing_match, NA_REAL};
    kernweave::arrays::cuda::Pairs pairs = here.verbs().join(here.gpu(), task, NA_INTEGER);
    const Rcpp::RObject of_x = kernweave::integers(here, std::move(pairs.x), pairs.count),
                        of_y = kernweave::integers(here, std::move(pairs.y), pairs.count);
    return Rcpp::List::create(Rcpp::_["x"] = of_x, Rcpp::_["y"] = of_y);
  });
}

// An index sorted, and its items in that order.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_sort_index_there(SEXP index, double extent) {
  return kernweave::on_device_of(index, [&](kernweave::OnDevice& here) {
    const kernweave::Index n = Rf_xlength(index);
    kernweave::device::Block keys = here.room_for<int>(n), order = here.room_for<int>(n);
    here.verbs().sort_index(here.gpu(), here.whole(index).integers, n, static_cast<kernweave::Index>(extent),
                            here.at<int>(keys), here.at<int>(order));
    const Rcpp::RObject sorted = kernweave::integers(here, std::move(keys), n),
                        rows = kernweave::integers(here, std::move(order), n);
    return Rcpp::List::create(Rcpp::_["keys"] = sorted, Rcpp::_["order"] = rows);
  });
}

// As r_index_add(); `index` is of integers that are known to be right, `sorted` what r_sort_index_there() made of it,
// or NULL.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_index_add_there(SEXP x, bool own, SEXP index, SEXP source, Rcpp::NumericVector extents,
                             Rcpp::NumericVector steps, double alpha, std::string op, bool include, SEXP sorted) {
  return kernweave::on_device_of(x, [&](kernweave::OnDevice& here) {
    kernweave::arrays::cuda::AddTask task = kernweave::add_task(extents, steps, op);
    task.alpha = alpha;
    task.include = include;
    const kernweave::arrays::Whole numbers = here.whole(index), terms = here.whole(source);
    task.index = numbers.integers;
    task.count = numbers.count;
    if (!Rf_isNull(sorted)) {
      task.sorted_keys = here.whole(VECTOR_ELT(sorted, 0)).integers;
      task.order = here.whole(VECTOR_ELT(sorted, 1)).integers;
    }
    const Rcpp::Shield<SEXP> out(own ? x : kernweave::copy_there(here, x));
    const kernweave::arrays::Whole array = here.whole(out);
    bool overflow = false;
    if (array.integers)
      overflow = here.verbs().add_integers(here.gpu(), task, terms.integers, const_cast<int*>(array.integers));
    else here.verbs().add_doubles(here.gpu(), task, terms.doubles, const_cast<double*>(array.doubles));
    return Rcpp::List::create(Rcpp::_["x"] = static_cast<SEXP>(out), Rcpp::_["overflow"] = overflow);
  });
}
