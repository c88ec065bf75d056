/// The script of the page: searching, and unfolding for a link and for a printer.
///
/// The page is whole without it.
enum HTMLScript {
    static let text: StaticString = """
        (() => {
        "use strict";
        const byId = id => document.getElementById(id);
        const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
        const tools = byId("tools"), search = byId("search"), found = byId("found"), unfold = byId("unfold");
        const reveal = () => {
          const target = location.hash.length > 1 && byId(location.hash.slice(1));
          if (!target) return;
          for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
          target.scrollIntoView();
        };
        addEventListener("hashchange", reveal);
        reveal();
        let closed = [];
        addEventListener("beforeprint", () => {
          closed = all("details:not([open])");
          for (const details of closed) details.open = true;
        });
        addEventListener("afterprint", () => { for (const details of closed) details.open = false; });
        if (!tools) return;
        tools.hidden = false;
        const groups = all(".group").map(node => ({ node, text: node.textContent.toLowerCase() }));
        const filter = () => {
          const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
          const verdicts = new Set(all("input[name=verdict]:checked", tools).map(box => box.value));
          let shown = 0;
          for (const { node, text } of groups) {
            const isShown = words.every(word => text.includes(word))
              && node.dataset.verdicts.split(" ").some(verdict => verdicts.has(verdict));
            node.hidden = !isShown;
            if (isShown) shown += 1;
          }
          found.textContent = shown === groups.length ? "" : `${shown} of ${groups.length} causes`;
          byId("nothing").hidden = shown > 0;
        };
        search.addEventListener("input", filter);
        tools.addEventListener("change", filter);
        tools.addEventListener("submit", event => event.preventDefault());
        unfold.addEventListener("click", () => {
          const open = unfold.textContent === "Unfold all";
          for (const details of all(".group details")) details.open = open;
          unfold.textContent = open ? "Fold all" : "Unfold all";
        });
        addEventListener("keydown", event => {
          if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
          if (document.activeElement && document.activeElement.tagName === "INPUT") return;
          event.preventDefault();
          search.focus();
        });
        filter();
        })();
        """
}
