// What each page of the site does: light or dark, a search over titles and headings, a list of the page's own headings.
(() => {
  const up = document.currentScript.dataset.up;
  const page = document.documentElement;

  // The reader's choice, where a browser keeps it; else what the system prefers.
  const kept = {
    get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
    set: (theme) => { try { localStorage.setItem("theme", theme); } catch { /* lives as long as the page */ } }
  };
  const preferred = window.matchMedia("(prefers-color-scheme: dark)");
  const system = () => (preferred.matches ? "dark" : "light");
  page.dataset.theme = kept.get() || system();
  preferred.addEventListener("change", () => { page.dataset.theme = kept.get() || system(); });

  const element = (tag, properties) => Object.assign(document.createElement(tag), properties);

  function add_switch(beside) {
    const button = element("button", { type: "button", className: "switch", title: "Light or dark" });
    button.textContent = "\u25D0";
    button.setAttribute("aria-label", "Light or dark");
    button.addEventListener("click", () => {
      page.dataset.theme = page.dataset.theme === "dark" ? "light" : "dark";
      kept.set(page.dataset.theme);
    });
    beside.after(button);
  }

  // Places that have every word: first those whose name begins with them, then those that have one beginning with them.
  function matches(asked) {
    const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const rank = ({ name }) => {
      const at = name.toLowerCase().split(/[^a-z0-9]+/).findIndex((part) => part.startsWith(words[0]));
      return at < 0 ? 2 : Math.min(at, 1);
    };
    return window.places
      .filter((place) => words.every((word) => `${place.name} ${place.page}`.toLowerCase().includes(word)))
      .sort((a, b) => rank(a) - rank(b)).slice(0, 15);
  }

  function add_search(box) {
    const found = element("ul", { className: "found" });
    box.append(found);
    const input = box.querySelector("input");
    input.addEventListener("input", () => {
      found.replaceChildren(...matches(input.value).map((place) => {
        const link = element("a", { href: up + place.url, textContent: place.name });
        link.append(element("small", { textContent: place.page }));
        const item = element("li", {});
        item.append(link);
        return item;
      }));
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") found.replaceChildren();
      if (event.key !== "Enter") return;
      event.preventDefault();
      found.querySelector("a")?.click();
    });
  }

  function add_contents(toc) {
    const headings = document.querySelectorAll("main h2[id], main h3[id]");
    if (!headings.length) toc.remove();
    headings.forEach((heading) => {
      toc.append(element("a", { href: `#${heading.id}`, textContent: heading.textContent.trim(),
                                className: heading.tagName === "H3" ? "nav-link deeper" : "nav-link" }));
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    const box = document.querySelector(".seeker");
    add_search(box);
    add_switch(box);
    const toc = document.querySelector("#toc");
    if (toc) add_contents(toc);
  });
})();
