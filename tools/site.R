# make site: the README, the vignettes, the help pages and the news as a folder of HTML, site/, that needs no server and
# no network: reference by topic, articles, search, light and dark. pkgdown makes it where it is installed, else
# tools/site/plain.R does, with the same lists, the same looks and the same search.
#
#   Rscript tools/site.R [vignettes to be made, all if none is named]

# Help pages by task; those in none of these are listed last.
tasks <- list(
  "Begin" = c("kernweave-package", "Vi", "reduction", "explain", "kernweave_sitrep", "kernweave_options",
              "with_kernweave", "kernweave-conditions"),
  "Write formulas" = c("lazy-arithmetic", "lazy-operations", "ready-kernels", "haversine", "lazy_complex", "width",
                       "lazy-matrix", "lazy-print", "is_lazy", "plot.lazy_tensor", "kernel_op", "kernweave_operations"),
  "Reduce them" = c("lazy-reductions", "as.function.lazy_reduction", "as.matrix.lazy_reduction", "is_reduction",
                    "take_batch", "audit", "approximate",
                    "sparsify"),
  "Choose pairs" = c("restrict", "ranges", "grid_cluster"),
  "Differentiate" = c("vjp", "gradient", "objective", "pair-derivatives", "with_gradient"),
  "Solve systems" = c("solve.lazy_tensor", "solve.linear_op", "solve_report", "preconditioner", "least_squares",
                      "ridge_path", "logdet", "trace_estimate", "kernweave_estimate", "keigen", "spectra", "lowrank",
                      "linear_op", "operator-algebra", "operator-numbers", "root_op"),
  "Gaussian processes" = c("gp_fit", "gp_fit-methods", "conditional", "simulate.lazy_tensor"),
  "Compare samples" = c("two-samples", "independence", "permanova", "ksd_test", "kernweave_test"),
  "Fit densities, curves and surfaces" = c("kde_lazy", "local_reg", "kernel_ridge", "marginal_effects",
                                           "rbf_interpolate", "kernel_spec", "kernel-scales", "fit_control",
                                           "kernweave_fit", "tidy-fits", "autoplot-fits"),
  "Find neighbours, clusters, components" = c("knn", "kmeans_lazy", "silhouette_lazy", "kpca_lazy"),
  "Move mass" = c("sinkhorn", "transport_plan"),
  "Sort, join and group arrays" = c("par_order", "par_search", "par_reduce", "par_scan", "par_segments", "par_join",
                                    "par_merge", "par_set", "par_move", "par_expand", "par_insert", "par_remove",
                                    "index_add"),
  "Devices" = c("on_device", "lazy_set", "kernweave_clear_cache"),
  "Come from rkeops" = "rkeops"
)

# Vignettes by what one came for; those in none of these are listed last.
readings <- list(
  "Begin" = c("kernweave", "any-formula", "coming-from-keops"),
  "Compare samples" = c("two-samples", "dependence", "communities", "stein"),
  "Fit and predict" = c("densities", "house-prices", "own-kernel", "kriging", "points-on-a-map"),
  "Neighbours and transport" = c("neighbours", "moving-mass"),
  "Go further" = c("pairs", "millions", "solving", "fitting", "arrays", "extending")
)

root <- Sys.getenv("KERNWEAVE_SOURCE", ".")
site <- file.path(root, "site")
at_site <- function(...) file.path(site, ...)
unlink(site, recursive = TRUE)
for (folder in at_site(c("articles", "reference"))) dir.create(folder, recursive = TRUE)

named_files <- function(folder, ending) {
  files <- list.files(file.path(root, folder), paste0("[.]", ending, "$"), full.names = TRUE)
  stats::setNames(files, sub(paste0("[.]", ending, "$"), "", basename(files)))
}

vignettes <- named_files("vignettes", "Rmd")
titles <- vapply(vignettes, function(file) rmarkdown::yaml_front_matter(file)$title, "")
wanted <- commandArgs(TRUE)
if (!length(wanted)) wanted <- names(vignettes)

parsed <- lapply(named_files("man", "Rd"), tools::parse_Rd)
tagged <- function(rd, tag) {
  vapply(rd[vapply(rd, attr, "", "Rd_tag") == tag], function(part) trimws(paste(unlist(part), collapse = "")), "")
}
aliases <- lapply(parsed, tagged, "\\alias")
topic_titles <- vapply(parsed, tagged, "", "\\title")

# What a page is of for who looks for a function.
own_aliases <- function(name) {
  all <- aliases[[name]]
  setdiff(all, grep("-(class|method|package)$|,|^\\[|<-|[.](lazy_|kernweave_|linear_op$)", all, value = TRUE))
}

whole <- function(groups, all) {
  groups <- c(lapply(groups, intersect, all), list("More" = setdiff(all, unlist(groups))))
  groups[lengths(groups) > 0]
}
tasks <- whole(tasks, names(parsed))
readings <- whole(readings, names(vignettes))

with_pkgdown <- requireNamespace("pkgdown", quietly = TRUE)
invisible(file.copy(file.path(root, "tools/site", c("site.css", "site.js")), site))
source(file.path(root, "tools/site", if (with_pkgdown) "pkgdown.R" else "plain.R"))

# --- what the search looks through -----------------------------------------------------------------------------

# Headings of a page, which have an id to go to.
headings <- function(url) {
  html <- paste(readLines(at_site(url), encoding = "UTF-8"), collapse = "\n")
  found <- regmatches(html, gregexpr("(?s)<h[23][^>]*id=\"[^\"]+\"[^>]*>.*?</h[23]>", html, perl = TRUE))[[1]]
  id <- sub("(?s)^<h[23][^>]*id=\"([^\"]+)\".*", "\\1", found, perl = TRUE)
  data.frame(name = trimws(gsub("<[^>]*>", "", found)), url = sprintf("%s#%s", url, id))
}

places_of <- function(url, title) {
  at <- data.frame(name = title, url = url)
  transform(rbind(at, headings(url)), page = title)
}

topic_places <- function(name) {
  data.frame(name = c(own_aliases(name), topic_titles[[name]]), url = paste0("reference/", name, ".html"),
             page = topic_titles[[name]])
}

article_places <- function(name) places_of(paste0("articles/", name, ".html"), titles[[name]])

quoted <- function(text) {
  text <- gsub("&amp;", "&", gsub("&gt;", ">", gsub("&lt;", "<", text, fixed = TRUE), fixed = TRUE), fixed = TRUE)
  encodeString(text, quote = "\"")
}

places <- unique(do.call(rbind, c(lapply(names(parsed), topic_places), lapply(wanted, article_places),
                                  list(places_of("index.html", "kernweave")))))
rows <- sprintf("  { name: %s, page: %s, url: %s },", quoted(places$name), quoted(places$page), quoted(places$url))
writeLines(c("window.places = [", rows, "];"), at_site("places.js"), useBytes = TRUE)
message("site/index.html")
