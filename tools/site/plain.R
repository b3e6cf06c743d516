# The site without pkgdown, by rmarkdown and R's own writer of help pages. Sourced by tools/site.R.

escaped <- function(text) gsub("<", "&lt;", gsub("&", "&amp;", text, fixed = TRUE), fixed = TRUE)
link <- function(to, text) sprintf("<a href=\"%s\">%s</a>", to, text)

# A page; `up` is the way from its folder to the first page.
navigation <- function(up) {
  paste0("<nav>", link(paste0(up, "index.html"), "<b>kernweave</b>"),
         link(paste0(up, "articles/index.html"), "Articles"), link(paste0(up, "reference/index.html"), "Reference"),
         link(paste0(up, "news.html"), "News"),
         "<div class=\"seeker\"><input type=\"search\" placeholder=\"Search\" aria-label=\"Search\"></div></nav>")
}

looks <- function(up) {
  c(sprintf("<link rel=\"stylesheet\" href=\"%ssite.css\">", up), sprintf("<script src=\"%splaces.js\"></script>", up),
    sprintf("<script src=\"%ssite.js\" data-up=\"%s\"></script>", up, up))
}

head_of <- function(title, up) {
  c("<!DOCTYPE html>", "<html lang=\"en\"><head><meta charset=\"utf-8\">",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
    sprintf("<title>%s</title>", title), looks(up), "</head><body class=\"plain\">", navigation(up))
}

# An article that is named can be read: a vignette as R calls it, others by their titles in quotes, whole or up to a
# colon.
article_links <- function(html, up) {
  html <- paste(html, collapse = "\n")
  html <- gsub("(<code[^>]*>vignette\\((&quot;|\")([a-z-]+)(&quot;|\")\\)</code>)",
               sprintf("<a href=\"%sarticles/\\3.html\">\\1</a>", up), html)
  for (name in names(titles)) {
    spaced <- gsub(" ", "\\\\s+", sub("(:.*)", "(?:\\\\1)?", titles[[name]]))
    quoted <- sprintf("(&quot;|\u201c|[\\s(>]\")(%s)(&quot;|\u201d|\"(?=[\\s,.;:)<]))", spaced)
    html <- gsub(quoted, sprintf("\\1<a href=\"%sarticles/%s.html\">\\2</a>\\3", up, name), html, perl = TRUE)
  }
  html
}

write_page <- function(file, title, body, up = "") {
  body <- article_links(body, up)
  writeLines(c(head_of(title, up), body, "</body></html>"), file.path(site, file), useBytes = TRUE)
}

# --- pages of markdown -----------------------------------------------------------------------------------------

html_of <- function(markdown, folder) {
  out <- tempfile(fileext = ".html")
  rmarkdown::pandoc_convert(normalizePath(markdown), to = "html", from = "gfm", output = out, wd = folder)
  readLines(out, encoding = "UTF-8")
}

invisible(file.copy(file.path(root, "man/figures"), at_site("reference"), recursive = TRUE))
first_page <- gsub("man/figures/", "reference/figures/", html_of(file.path(root, "README.md"), root), fixed = TRUE)
write_page("index.html", "kernweave", first_page)
write_page("news.html", "kernweave: news", html_of(file.path(root, "NEWS.md"), root))

# --- articles --------------------------------------------------------------------------------------------------

# An article's own page with what others have.
as_article <- function(html) {
  html <- sub("</head>", paste(c(looks("../"), "</head>"), collapse = "\n"), html, fixed = TRUE)
  html <- sub("<body>", paste0("<body class=\"plain\">", navigation("../")), html, fixed = TRUE)
  article_links(with_ids(html), "../")
}

# An id is the heading's own, as elsewhere, not that of a section around it.
with_ids <- function(html) {
  gsub("<div( id=\"[^\"]*\") class=\"section (level[23])\">\n<(h[23])>", "<div class=\"section \\2\">\n<\\3\\1>", html)
}

options(rmarkdown.html_vignette.check_title = FALSE)
for (name in wanted) {
  file <- rmarkdown::render(articles[[name]], rmarkdown::html_vignette(css = at_site("site.css")), quiet = TRUE,
                            output_dir = at_site("articles"), intermediates_dir = tempfile(),
                            envir = new.env(parent = globalenv()))
  writeLines(as_article(paste(readLines(file, encoding = "UTF-8"), collapse = "\n")), file, useBytes = TRUE)
  message("articles/", name)
}
listed_article <- function(name) sprintf("<li>%s</li>", link(paste0(name, ".html"), titles[[name]]))
write_page("articles/index.html", "kernweave: articles", up = "../", c("<h1>Articles</h1>", unlist(lapply(
  names(readings), function(group) {
    c(sprintf("<h2>%s</h2>", group), "<ul>", vapply(readings[[group]], listed_article, ""), "</ul>")
  }))))

# --- help pages ------------------------------------------------------------------------------------------------

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
  html <- grep("00Index.html", other_links(readLines(out, encoding = "UTF-8")), value = TRUE, invert = TRUE)
  body <- seq(grep("<h2>", html)[1], grep("</body>", html)[1] - 1)
  write_page(paste0("reference/", name, ".html"), paste("kernweave:", name), html[body], up = "../")
}

listed <- function(name) {
  own <- own_aliases(name)
  shown <- if (length(own)) paste0("<code>", escaped(own), "</code>") else paste0("<code>", name, "</code>")
  if (length(shown) > 8) shown <- c(shown[1:8], "...")
  sprintf("<tr><td>%s</td><td>%s</td></tr>", link(paste0(name, ".html"), paste(shown, collapse = " ")),
          escaped(topic_titles[[name]]))
}

body <- unlist(lapply(names(tasks), function(task) {
  c(sprintf("<h2>%s</h2>", task), "<table>", vapply(tasks[[task]], listed, ""), "</table>")
}))
write_page("reference/index.html", "kernweave: reference", c("<h1>Reference</h1>", body), up = "../")
