# make site: the README, vignettes and articles, the help pages and the news as a folder of HTML, site/, that needs no
# server and no network: reference and articles by task, search, light and dark. pkgdown makes it where it is installed,
# else tools/site/plain.R does, with the lists of _pkgdown.yml, the same looks and the same search. A link that leads
# nowhere within the site is an error.
#
#   Rscript tools/site.R [articles to be made, such as kriging, all if none is named]

root <- normalizePath(Sys.getenv("KERNWEAVE_SOURCE", "."))
site <- file.path(root, "site")
at_site <- function(...) file.path(site, ...)
unlink(site, recursive = TRUE)
for (folder in at_site(c("articles", "reference"))) dir.create(folder, recursive = TRUE)

named_files <- function(folder, ending) {
  files <- list.files(file.path(root, folder), paste0("[.]", ending, "$"), full.names = TRUE)
  stats::setNames(files, sub(paste0("[.]", ending, "$"), "", basename(files)))
}

# The vignettes are articles like others on the site.
articles <- c(named_files("vignettes", "Rmd"), named_files("vignettes/articles", "Rmd"))
titles <- vapply(articles, function(file) rmarkdown::yaml_front_matter(file)$title, "")
wanted <- commandArgs(TRUE)
if (!length(wanted)) wanted <- names(articles)

# Titles of tasks with the pages of each, as _pkgdown.yml has them.
listed_pages <- function(what) {
  groups <- yaml::read_yaml(file.path(root, "_pkgdown.yml"))[[what]]
  contents <- lapply(groups, function(group) gsub("`|^articles/", "", unlist(group$contents)))
  stats::setNames(contents, vapply(groups, `[[`, "", "title"))
}
tasks <- listed_pages("reference")
readings <- listed_pages("articles")

parsed <- lapply(named_files("man", "Rd"), tools::parse_Rd)
tagged <- function(rd, tag) {
  vapply(rd[vapply(rd, attr, "", "Rd_tag") == tag], function(part) trimws(paste(unlist(part), collapse = "")), "")
}
aliases <- lapply(parsed, tagged, "\\alias")
topic_titles <- vapply(parsed, tagged, "", "\\title")

# Returns the aliases of a page under which a user looks for a function.
own_aliases <- function(name) {
  all <- aliases[[name]]
  setdiff(all, grep("-(class|method|package)$|,|^\\[|<-|[.](lazy_|kernweave_|linear_op$)", all, value = TRUE))
}

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

# --- links -----------------------------------------------------------------------------------------------------

page_files <- list.files(site, "[.]html$", recursive = TRUE)
page_texts <- vapply(page_files, function(page) {
  paste(readLines(at_site(page), encoding = "UTF-8", warn = FALSE), collapse = "\n")
}, "")
attributes_of <- function(text, pattern) {
  found <- regmatches(text, gregexpr(pattern, text, perl = TRUE))[[1]]
  unique(sub(".*=\\s*\"([^\"]*)\".*", "\\1", found))
}
page_ids <- lapply(page_texts, attributes_of, "(?<=\\s)(id|name)=\"[^\"]*\"")

# A path within the site, from the folder of the page that names it.
from_page <- function(page, path) {
  parts <- strsplit(file.path(dirname(page), path), "/", fixed = TRUE)[[1]]
  kept <- character()
  for (part in parts[parts != "."]) kept <- if (part == "..") utils::head(kept, -1) else c(kept, part)
  paste(kept, collapse = "/")
}

leads_nowhere <- function(link, page) {
  path <- utils::URLdecode(sub("#.*", "", link))
  target <- if (nzchar(path)) from_page(page, path) else page
  if (target %in% paste0("articles/", setdiff(names(articles), wanted), ".html")) return(FALSE)
  place <- if (grepl("#", link, fixed = TRUE)) utils::URLdecode(sub("^[^#]*#", "", link)) else ""
  !file.exists(at_site(target)) || (nzchar(place) && target %in% page_files && !place %in% page_ids[[target]])
}

dead <- unlist(lapply(page_files, function(page) {
  links <- attributes_of(page_texts[[page]], "(?<=\\s)(href|src)=\"[^\"]*\"")
  inner <- grep("^([a-z]+:|//|#?$)", links, value = TRUE, invert = TRUE)
  wrong <- Filter(function(link) leads_nowhere(link, page), inner)
  if (length(wrong)) paste(page, "->", wrong)
}))
message(paste(dead, collapse = "\n"))
if (length(dead)) stop("links lead nowhere: ", length(dead), call. = FALSE)
message("site/index.html: ", length(page_files), " pages, no dead link within them")
