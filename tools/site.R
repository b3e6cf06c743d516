# make site: the README, the vignettes, the help pages and the news as a folder of HTML, site/, that needs no server and
# no network. The help pages are listed by what one wants to do.
#
#   Rscript tools/site.R [vignettes to be made, all if none is named]

# Help pages by task; those in none of these are listed last.
tasks <- list(
  "Begin" = c("kernweave-package", "Vi", "reduction", "explain", "kernweave_sitrep", "kernweave_options",
              "with_kernweave", "kernweave-conditions"),
  "Write formulas" = c("lazy-arithmetic", "lazy-operations", "ready-kernels", "haversine", "lazy_complex", "width",
                       "lazy-matrix", "lazy-print", "is_lazy", "plot.lazy_tensor", "kernel_op", "kernweave_operations"),
  "Reduce them" = c("lazy-reductions", "as.function.lazy_reduction", "as.matrix.lazy_reduction", "is_reduction",
                    "take_batch", "audit", "approximate"),
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

root <- Sys.getenv("KERNWEAVE_SOURCE", ".")
site <- file.path(root, "site")
unlink(site, recursive = TRUE)
for (folder in file.path(site, c("articles", "reference"))) dir.create(folder, recursive = TRUE)

style <- "
body { max-width: 46em; margin: 0 auto; padding: 0 1em 3em; font: 16px/1.5 system-ui, sans-serif; color: #222; }
nav { border-bottom: 1px solid #ddd; padding: 1em 0; margin-bottom: 1em; } nav a { margin-right: 1.5em; }
a { color: #2166ac; text-decoration: none; } a:hover { text-decoration: underline; }
pre { background: #f6f6f4; padding: .7em; overflow-x: auto; font-size: 13.5px; line-height: 1.4; }
code { font-size: 90%; } pre code { font-size: 100%; }
table { border-collapse: collapse; } td, th { padding: .2em .8em .2em 0; text-align: left; vertical-align: top; }
img { max-width: 100%; } h1 { font-size: 1.7em; } h2 { font-size: 1.3em; margin-top: 1.6em; }
"
writeLines(style, file.path(site, "site.css"))

escaped <- function(text) gsub("<", "&lt;", gsub("&", "&amp;", text, fixed = TRUE), fixed = TRUE)
link <- function(to, text) sprintf("<a href=\"%s\">%s</a>", to, text)

# A page; `up` is the way from its folder to the first page.
navigation <- function(up) {
  paste0("<nav>", link(paste0(up, "index.html"), "<b>kernweave</b>"),
         link(paste0(up, "articles/index.html"), "Articles"), link(paste0(up, "reference/index.html"), "Reference"),
         link(paste0(up, "news.html"), "News"), "</nav>")
}

head_of <- function(title, up) {
  c("<!DOCTYPE html>", "<html lang=\"en\"><head><meta charset=\"utf-8\">",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
    sprintf("<title>%s</title>", title), sprintf("<link rel=\"stylesheet\" href=\"%ssite.css\">", up), "</head><body>",
    navigation(up))
}

# A vignette that is named is one that can be read.
vignette_links <- function(html, up) {
  gsub("(<code[^>]*>vignette\\((&quot;|\")([a-z-]+)(&quot;|\")\\)</code>)",
       sprintf("<a href=\"%sarticles/\\3.html\">\\1</a>", up), html)
}

write_page <- function(file, title, body, up = "") {
  body <- vignette_links(body, up)
  writeLines(c(head_of(title, up), body, "</body></html>"), file.path(site, file), useBytes = TRUE)
}

# --- pages of markdown -----------------------------------------------------------------------------------------

html_of <- function(markdown, folder) {
  out <- tempfile(fileext = ".html")
  rmarkdown::pandoc_convert(normalizePath(markdown), to = "html", from = "gfm", output = out, wd = folder)
  readLines(out, encoding = "UTF-8")
}

write_page("index.html", "kernweave", html_of(file.path(root, "README.md"), root))
write_page("news.html", "kernweave: news", html_of(file.path(root, "NEWS.md"), root))

# --- vignettes -------------------------------------------------------------------------------------------------

header_of <- function(file) rmarkdown::yaml_front_matter(file)$title

vignettes <- list.files(file.path(root, "vignettes"), "[.]Rmd$", full.names = TRUE)
names(vignettes) <- sub("[.]Rmd$", "", basename(vignettes))
vignettes <- vignettes[c("kernweave", setdiff(names(vignettes), "kernweave"))]

wanted <- commandArgs(TRUE)
for (name in if (length(wanted)) wanted else names(vignettes)) {
  before <- tempfile(fileext = ".html")
  writeLines(navigation("../"), before)
  rmarkdown::render(
    vignettes[[name]], quiet = TRUE, output_dir = file.path(site, "articles"), intermediates_dir = tempfile(),
    envir = new.env(parent = globalenv()),
    output_format = rmarkdown::html_vignette(css = file.path(site, "site.css"),
                                             includes = rmarkdown::includes(before_body = before))
  )
  message("articles/", name)
}
titles <- vapply(vignettes, header_of, "")
write_page("articles/index.html", "kernweave: articles", up = "../", c(
  "<h1>Articles</h1>", "<ul>", sprintf("<li>%s</li>", link(paste0(names(titles), ".html"), titles)), "</ul>"))

# --- help pages ------------------------------------------------------------------------------------------------

pages <- list.files(file.path(root, "man"), "[.]Rd$", full.names = TRUE)
names(pages) <- sub("[.]Rd$", "", basename(pages))
parsed <- lapply(pages, tools::parse_Rd)
tagged <- function(rd, tag) {
  vapply(rd[vapply(rd, attr, "", "Rd_tag") == tag], function(part) trimws(paste(unlist(part), collapse = "")), "")
}
aliases <- lapply(parsed, tagged, "\\alias")
links <- stats::setNames(paste0(rep(names(aliases), lengths(aliases)), ".html"), unlist(aliases))

elsewhere <- tools::findHTMLlinks(level = 1)

# Pages of R's own packages are where R's manuals are; others are named without a link.
other_links <- function(html) {
  base <- rownames(utils::installed.packages(priority = "base"))
  html <- gsub(sprintf("href=\"../../(%s)/html/", paste(base, collapse = "|")),
               "href=\"https://stat.ethz.ch/R-manual/R-release/library/\\1/html/", html)
  gsub("<a href=\"../../[^\"]*\">(.*?)</a>", "\\1", html, perl = TRUE)
}

for (name in names(parsed)) {
  out <- tempfile()
  tools::Rd2HTML(parsed[[name]], out, package = "kernweave", Links = links, Links2 = elsewhere, dynamic = FALSE)
  html <- other_links(readLines(out, encoding = "UTF-8"))
  body <- seq(grep("<h2>", html)[1], grep("</body>", html)[1] - 1)
  write_page(paste0("reference/", name, ".html"), paste("kernweave:", name), html[body], up = "../")
}

listed <- function(name) {
  own <- setdiff(aliases[[name]], grep("-(class|method|package)$|,|^\\[|<-|[.]lazy_|[.]kernweave_", aliases[[name]],
                                       value = TRUE))
  shown <- if (length(own)) paste0("<code>", escaped(own), "</code>") else paste0("<code>", name, "</code>")
  if (length(shown) > 8) shown <- c(shown[1:8], "...")
  sprintf("<tr><td>%s</td><td>%s</td></tr>", link(paste0(name, ".html"), paste(shown, collapse = " ")),
          escaped(tagged(parsed[[name]], "\\title")))
}

tasks <- c(tasks, list("More" = setdiff(names(pages), unlist(tasks))))
body <- unlist(lapply(names(tasks), function(task) {
  there <- intersect(tasks[[task]], names(pages))
  if (length(there)) c(sprintf("<h2>%s</h2>", task), "<table>", vapply(there, listed, ""), "</table>")
}))
write_page("reference/index.html", "kernweave: reference", c("<h1>Reference</h1>", body), up = "../")
message("site/index.html")
