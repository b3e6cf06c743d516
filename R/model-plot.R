# Plots of fits and tests: plot_data() returns a description of a plot, which base graphics draw.

# Makes a picture: layers, in the order of drawing, and texts of the axes. A layer is a data frame, named by its kind,
# with ggplot2's names of columns. `zlab`, `glab`: titles of the keys of colours and of groups; `beside`: more symbols
# of the key of groups, a data frame of `label`, `pch`, `lty` and `col`; `ticks`: labels at 1, 2, ... of an axis; `log`,
# `asp`: as in plot(); `note`: a small line below. At most `most` points are drawn, and the note then says so.
picture <- function(xlab, ylab, ..., zlab = NULL, glab = NULL, beside = NULL, main = NULL, ticks = list(), log = "",
                    asp = NULL, note = NULL, most = most_drawn) {
  layers <- list(...)
  layers <- layers[!vapply(layers, is.null, NA)]
  for (kind in intersect(c("points", "rug"), names(layers))) {
    all <- layers[[kind]]
    rows <- drawn_rows(nrow(all), most, all$group)
    if (length(rows) == nrow(all)) next
    layers[[kind]] <- structure(all[rows, , drop = FALSE], rows = rows, of = nrow(all))
    note <- paste(c(note, drawn_title(NULL, nrow(all), length(rows))), collapse = "; ")
  }
  list(layers = layers, xlab = xlab, ylab = ylab, zlab = zlab, glab = glab, beside = beside, main = main,
       ticks = ticks, log = log, asp = asp, note = note)
}

most_drawn <- 5000

# Samples rows evenly: in each group in proportion to its size, up to 20 of small groups.
drawn_rows <- function(n, most, group = NULL) {
  if (n <= most) return(seq_len(n))
  parts <- if (is.null(group)) list(seq_len(n)) else split(seq_len(n), replace(as.integer(group), is.na(group), 0L))
  least <- max(1, min(20, floor(most / length(parts))))
  each <- lapply(parts, function(rows) rows[evenly_spaced(length(rows), max(least, floor(most * length(rows) / n)))])
  sort(unlist(each, use.names = FALSE))
}

drawn_title <- function(title, n, drawn) {
  if (n <= drawn) return(title)
  count <- function(n) format(n, big.mark = ",", trim = TRUE)
  text <- paste(count(drawn), "of", count(n), if (is.null(title)) "points drawn" else "drawn")
  if (is.null(title)) text else paste0(title, " (", text, ")")
}

# Returns the description of a plot; a generic.
plot_data <- function(object, ...) UseMethod("plot_data")

# --- pictures shared by several objects --------------------------------------------------------------------

response_name <- function(fit) if (is.null(fit$formula)) "response" else deparse1(fit$formula[[2]])

# Returns a grid along each input, within the range of the data.
plot_axes <- function(x, n) lapply(seq_len(ncol(x)), function(k) seq(min(x[, k]), max(x[, k]), length.out = n))

refuse_many <- function(responses, drawing = "plot()") {
  if (responses > 1) abort("unsupported", drawing, " draws one response, not ", responses)
}

# Draws a function of one input, its band if there is one, and the observations.
curve_picture <- function(at, value, x, y, xlab, ylab, band = NULL, main = paste("Fitted", ylab)) {
  picture(xlab, ylab, main = main, band = if (!is.null(band)) data.frame(x = at, ymin = band[, 1], ymax = band[, 2]),
          points = data.frame(x = as.vector(x), y = as.vector(y)), curve = data.frame(x = at, y = value))
}

# Draws observed against fitted values, for functions of more than two inputs.
observed_picture <- function(fitted, y, ylab, xlab = "fitted", note = NULL) {
  picture(xlab, ylab, main = paste("Observed and", xlab, "values"), note = note,
          points = data.frame(x = as.vector(fitted), y = as.vector(y)), line = data.frame(intercept = 0, slope = 1))
}

# Bars of heights, side by side, from 0.
bars_picture <- function(heights, labels, ylab, main = NULL) {
  at <- seq_along(heights)
  picture("", ylab, boxes = data.frame(xmin = at - 0.4, xmax = at + 0.4, ymin = 0, ymax = unname(heights)),
          ticks = list(x = labels), main = main)
}

#' @rdname kernweave_fit
#' @importFrom graphics lines
#' @export
lines.kernweave_fit <- function(x, ...) {
  curve <- fitted_curve(x)
  graphics::lines(curve$x, curve$y, ...)
  invisible(x)
}

fitted_curve <- function(fit) {
  if (ncol(fit$x) > 1) abort("unsupported", "lines() draws fits of one input; this has ", ncol(fit$x))
  curve <- (if (inherits(fit, "kernel_ridge")) plot_data(fit, "curve") else plot_data(fit))$layers$curve
  curve %or% abort("unsupported", "lines() draws curves, and a fit of class ", class(fit)[1], " has none")
}

# --- base graphics ------------------------------------------------------------------------------------------

# The layers to which `col`, `pch` and other styles in `...` apply: the first layer of this list that the plot has;
# `pch` and `cex` apply to points, too.
main_layers <- c("surface", "map", "boxes", "points", "estimates", "curve")
layer_styles <- c("col", "bg", "pch", "cex", "lwd", "lty", "border")
margin_of_maps <- 0.015  # so that no point is cut by the frame

# Draws a plot, and returns `x` invisibly, as plot methods do.
drawn <- function(x, picture, ...) {
  draw_picture(with_times(picture, x), ...)
  invisible(x)
}

# Adds the variables of a fit that are dates or times and stand on an axis of its picture; the picture has numbers.
with_times <- function(picture, fit) {
  model <- if (is.list(fit)) fit[["model"]]
  on_axes <- lapply(list(x = picture$xlab, y = picture$ylab), function(label) if (is_word(label)) model[[label]])
  picture$times <- Filter(function(v) inherits(v, c("Date", "POSIXct")), on_axes)
  picture
}

# Numbers as dates or times of the class of `like`, if there is one.
in_time <- function(numbers, like) {
  if (!is.null(like)) attributes(numbers) <- attributes(like)[c("class", "tzone")]
  numbers
}

# Refuses an argument that plot() does not know, and `type`, which pictures of fits call `which`.
check_styles <- function(given) {
  known <- c(layer_styles, "zlim", setdiff(names(formals(graphics::plot.default)), "type"), names(graphics::par()))
  unknown <- setdiff(names(given), c(known, ""))
  if (!length(unknown)) return(given)
  type <- given[["type"]]
  abort("input", "there is no argument `", unknown[1], "` of this plot",
        if (unknown[1] != "type") near_hint(unknown[1], setdiff(c("which", "level", "whole", known), unknown[1]))
        else if (is_word(type) && nchar(type) > 1) paste0("; did you mean `which = \"", type, "\"`?"))
}

draw_picture <- function(picture, ...) {
  given <- check_styles(list(...))
  layers <- picture$layers
  ends <- function(axis) in_time(layer_range(layers, paste0(axis, c("", "min", "max", "end"))), picture$times[[axis]])
  frame <- list(x = ends("x"), y = ends("y"), type = "n", log = picture$log,
                xlab = picture$xlab, ylab = picture$ylab, main = picture$main, asp = picture$asp)
  frame[c(x = "xaxt", y = "yaxt")[names(picture$ticks)]] <- "n"
  if (!is.null(layers$surface)) {
    frame[c("xaxs", "yaxs")] <- "i"
    frame[c("xlim", "ylim")] <- lapply(frame[c("x", "y")], grDevices::extendrange, f = margin_of_maps)
  }
  frame <- utils::modifyList(frame, given[setdiff(names(given), c(layer_styles, "zlim"))])
  frame$main <- fitting_title(frame$main)
  do.call(graphics::plot, frame)
  if (is.null(given$sub)) small_note(picture$note)
  layers <- with_seen_colours(layers, given$zlim)
  for (axis in names(picture$ticks)) {
    texts <- picture$ticks[[axis]]
    at <- which(nzchar(texts))
    graphics::axis(c(x = 1, y = 2)[[axis]], at, texts[at], las = c(x = 0, y = 1)[[axis]],
                   padj = if (any(grepl("\n", texts))) 0.5 else NA, cex.axis = if (axis == "y") fitting_size(texts))
  }
  styled <- intersect(main_layers, names(layers))[1]
  for (kind in names(layers)) {
    style <- if (identical(kind, styled)) given[intersect(layer_styles, names(given))]
             else if (kind == "points") given[intersect(c("pch", "cex"), names(given))]
    # if there is a style for each point, select the styles of the points that are drawn
    rows <- attr(layers[[kind]], "rows")
    if (length(rows)) style <- lapply(style, function(v) if (length(v) == attr(layers[[kind]], "of")) v[rows] else v)
    do.call(painters[[kind]], c(list(layers[[kind]]), style))
  }
  for (kind in intersect(c("surface", "map"), names(layers))) {
    colours <- given$col %or% if (kind == "map") diverging_colours() else surface_colours(layers$surface)
    colour_key(colour_ends(layers[[kind]]), colours, picture$zlab, attr(layers[[kind]], "marks"))
  }
  if (is.null(given$col) && is.null(picture$ticks$y)) group_key(picture)
}

# Writes a note below the first axis, at the right, if the margin has room for it.
small_note <- function(note) {
  margin <- graphics::par("mar")[1]
  if (!is.null(note) && margin >= 4) graphics::mtext(note, 1, margin - 1.1, adj = 1, cex = 0.7 * graphics::par("cex"))
}

map_colours <- function() hcl.colors(64, "YlOrRd", rev = TRUE)
light_greys <- function() grDevices::grey(seq(1, 0.6, length.out = 64))
surface_colours <- function(d) attr(d, "colours") %or% map_colours()
diverging_colours <- function() hcl.colors(63, "Blue-Red 3")

# Returns a range that is symmetric about 0.
about_zero <- function(z) c(-1, 1) * max(abs(z[is.finite(z)]), 0)

# Draws a strip of the colours with their numbers in the right margin. The margin is not changed, so that par(mfrow = )
# and later drawing keep their places. `marks`: numbers whose names are the texts of the key.
colour_key <- function(z, col, title, marks = NULL) {
  margin <- graphics::par("mar")[4]
  range <- range(z[is.finite(z)])
  if (margin < 1.5) return(invisible())
  if (!diff(range)) {
    col <- col[(length(col) + 1) / 2]
    marks <- stats::setNames(range[1], format(range[1], digits = 3))
    range <- range[1] + c(-1, 1)
  }
  usr <- graphics::par("usr")
  line <- graphics::par("mai")[4] / margin * diff(usr[1:2]) / graphics::par("pin")[1]
  x <- usr[2] + c(0.2, 0.7) * line
  y <- seq(usr[3], usr[4], length.out = length(col) + 1)
  graphics::rect(x[1], y[-length(y)], x[2], y[-1], col = col, border = NA, xpd = TRUE)
  graphics::rect(x[1], usr[3], x[2], usr[4], xpd = TRUE)
  at <- marks %or% key_marks(range)
  graphics::text(usr[2] + 1.2 * line, usr[3] + (at - range[1]) / diff(range) * diff(usr[3:4]),
                 names(at) %or% format(at), srt = 90, cex = 0.7, xpd = TRUE)
  beside <- margin >= 2.8  # otherwise there is room above only, and a long title may be there
  graphics::mtext(title, if (beside) 4 else 3, if (beside) 1.7 else 0.2, adj = if (beside) 0.5 else 1,
                  cex = 0.7 * graphics::par("cex"))
}

# Draws a key of up to 12 groups above the frame; in narrow figures it is smaller, or left out.
group_key <- function(picture) {
  points <- picture$layers$points$group
  curve <- picture$layers$curve$group
  group <- points %or% curve
  none <- is.null(picture$glab) || is.null(group)
  if (none || nlevels(group) > 12 || graphics::par("mar")[3] < 1) return(invisible())
  groups <- data.frame(label = levels(group), pch = if (is.null(points)) NA else 19,
                       lty = if (is.null(curve)) NA else 1, col = distinct_colours(nlevels(group)))
  symbols <- rbind(data.frame(label = paste0(picture$glab, ":"), pch = NA, lty = NA, col = NA), groups, picture$beside)
  key <- function(cex, ...) {
    graphics::legend("top", paste0(symbols$label, "  "), pch = symbols$pch, col = symbols$col, horiz = TRUE,
                     lty = if (!all(is.na(symbols$lty))) symbols$lty, bty = "n", cex = cex, x.intersp = 0.6,
                     seg.len = 1.2, text.width = NA, xpd = NA, ...)$rect
  }
  usr <- graphics::par("usr")
  size <- min(0.85, 0.85 * diff(usr[1:2]) / key(0.85, plot = FALSE)$w)
  if (size < 0.5) return(invisible())
  # part of the height below the text is empty
  key(size, inset = c(0, -0.83 * key(size, plot = FALSE)$h / diff(usr[3:4])))
  invisible(symbols$label)
}

# Returns the size at which labels of the y axis fit into the margin.
fitting_size <- function(texts) {
  room <- graphics::par("mai")[2] - 1.2 * graphics::par("mai")[2] / graphics::par("mar")[2]
  size <- graphics::par("cex.axis")
  size * max(0.5, min(1, room / max(graphics::strwidth(texts, "inches", cex = size))))
}

# Returns tick marks, as many as fit along the colour scale without overlap.
key_marks <- function(range) {
  for (n in 5:1) {
    at <- pretty(range, n)
    at <- at[at >= range[1] & at <= range[2]]
    wide <- max(0, graphics::strwidth(format(at), "inches", cex = 0.7))
    if (1.3 * wide * diff(range) <= graphics::par("pin")[2] * min(Inf, diff(at))) break
  }
  at
}

# Breaks a title into lines about as wide as the figure; bold letters are about half as wide as a line is high.
fitting_title <- function(main) {
  if (!is.character(main)) return(main)
  letter <- 0.55 * graphics::par("cin")[2] * graphics::par("cex") * graphics::par("cex.main")
  paste(strwrap(main, max(10, graphics::par("fin")[1] / letter)), collapse = "\n")
}

layer_range <- function(layers, columns) {
  values <- unlist(lapply(layers, function(layer) unlist(unclass(layer)[intersect(columns, names(layer))])))
  range(values[is.finite(values)])
}

# Returns colours of groups; points without a group are grey.
group_colours <- function(group, otherwise) {
  if (is.null(group)) return(otherwise)
  colours <- distinct_colours(nlevels(group))[group]
  replace(colours, is.na(group), "grey75")
}

# Returns the colours of Okabe and Ito; for more groups, hues by the golden angle with varying lightness.
distinct_colours <- function(n) {
  few <- c("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442")
  k <- seq_len(n)
  if (n <= length(few)) few[k] else hcl(h = 137.5 * k, c = 80, l = c(45, 65, 80)[k %% 3 + 1])
}

# Many centres are drawn small, so that points stay visible.
size_of_centres <- function(d) max(0.5, min(1.5, 10 / sqrt(nrow(d))))

painters <- list(
  surface = function(d, col = surface_colours(d), ...) {
    grid <- seen_grid(d)
    graphics::image(grid$x, grid$y, grid$z, add = TRUE, col = col, zlim = colour_ends(d), useRaster = TRUE)
    graphics::box()
  },
  contours = function(d) {
    grid <- seen_grid(d)
    graphics::contour(grid$x, grid$y, grid$z, levels = attr(d, "levels"), drawlabels = is.null(attr(d, "labels")),
                      add = TRUE)
  },
  band = function(d) {
    known <- !is.na(d$ymin)
    for (part in split(d[known, ], cumsum(!known)[known])) {
      graphics::polygon(c(part$x, rev(part$x)), c(part$ymin, rev(part$ymax)), col = "#0000001A", border = NA)
    }
  },
  boxes = function(d, col = group_colours(d$group, "grey85"), border = if (nrow(d) > 100) NA else "grey40", ...) {
    graphics::rect(d$xmin, d$ymin, d$xmax, d$ymax, col = col, border = border)
  },
  origin = function(d) invisible(d),  # only extends the axes
  points = function(d, col = group_colours(d$group, "grey50"), pch = 19,
                    cex = if (is.null(d$size)) 0.5 else 0.4 + 1.6 * sqrt(d$size / max(d$size)), ...) {  # area ~ size
    none <- if (is.null(d$group)) FALSE else is.na(d$group)
    if (any(none)) graphics::points(d$x[none], d$y[none], col = "grey75", pch = 20, cex = 0.3)
    of <- function(v) if (length(v) == nrow(d)) v[!none] else v
    graphics::points(d$x[!none], d$y[!none], col = of(col), pch = of(pch), cex = of(cex), ...)
  },
  map = function(d, col = diverging_colours(), pch = 21, cex = 0.9, ...) {
    ends <- colour_ends(d)
    k <- if (diff(ends) > 0) ceiling((d$z - ends[1]) / diff(ends) * length(col)) else length(col) / 2
    graphics::points(d$x, d$y, pch = pch, cex = cex, col = "grey50", bg = col[pmin(pmax(k, 1), length(col))])
  },
  labels = function(d) graphics::text(d$x, d$y, d$label, pos = 3, cex = 0.75, xpd = NA),
  estimates = function(d, pch = 19, ...) graphics::points(d$x, d$y, pch = pch, ...),
  centres = function(d) graphics::points(d$x, d$y, pch = 3, cex = size_of_centres(d), lwd = if (nrow(d) > 50) 1 else 2),
  curve = function(d, col = NULL, ...) {
    parts <- if (is.null(d$group)) list(d) else split(d, d$group)
    for (part in parts) {
      graphics::lines(part$x, part$y, col = col %or% group_colours(part$group, graphics::par("col"))[1], ...)
    }
  },
  spread = function(d) graphics::segments(d$x, d$y, d$xend, d$yend, lwd = 5, col = "grey80"),
  intervals = function(d) graphics::segments(d$x, d$y, d$xend, d$yend),
  arrows = function(d) {
    moved <- d$x != d$xend | d$y != d$yend
    graphics::arrows(d$x[moved], d$y[moved], d$xend[moved], d$yend[moved], length = 0.05, col = "grey60")
  },
  rug = function(d) graphics::rug(d$x),
  line = function(d) graphics::abline(d$intercept, d$slope, lty = 2),
  upright = function(d) {
    graphics::abline(v = d$x, lty = 2, lwd = 2, col = group_colours(d$group, graphics::par("fg")))
  },
  across = function(d) graphics::abline(h = d$y, lty = 2)
)
