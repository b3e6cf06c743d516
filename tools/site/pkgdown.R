# The site by pkgdown, without what it would fetch from the network: search, light and dark, and the list of a page's
# headings are the site's own. What it lists, _pkgdown.yml says. Sourced by tools/site.R.

pkg <- pkgdown::as_pkgdown(root, override = list(
  destination = "site",
  template = list(bootstrap = 5, path = file.path(root, "tools/site"), default_assets = FALSE),
  home = list(sidebar = list(html = "tools/site/contents.html")),
  news = list(cran_dates = FALSE),
  navbar = list(structure = list(left = c("articles", "reference", "news"), right = list()),
                components = list(articles = list(text = "Articles", href = "articles/index.html"),
                                  news = list(text = "News", href = "news/index.html")))
))

writeLines("pkgdown:", at_site("pkgdown.yml"))   # pkgdown writes only into folders that say they are its own
pkgdown::init_site(pkg)
pkgdown::build_home(pkg, preview = FALSE)
pkgdown::build_reference(pkg, examples = FALSE, preview = FALSE)
pkgdown::build_articles_index(pkg)
for (name in sub(".*vignettes/(.*)[.]Rmd$", "\\1", articles[wanted])) pkgdown::build_article(name, pkg)
pkgdown::build_news(pkg, preview = FALSE)
