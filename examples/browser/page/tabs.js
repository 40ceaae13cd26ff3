// Tabs, and the switch between the light and the dark theme.

// Makes tabs of a list. The function that it returns chooses one by the id of its panel.
export function tabsOf(list, chosen = () => {}) {
  const tabs = [...list.children];
  const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
  function choose(id) {
    for (const tab of tabs) {
      const is = tab.getAttribute("aria-controls") === id;
      tab.setAttribute("aria-selected", String(is));
      tab.tabIndex = is ? 0 : -1;
      panelOf(tab).hidden = !is;
    }
    chosen(id);
  }
  tabs.forEach((tab, i) => {
    tab.type = "button";
    tab.addEventListener("click", () => choose(panelOf(tab).id));
    tab.addEventListener("keydown", ({ key }) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1 + tabs.length, Home: 0, End: tabs.length - 1 }[key];
      if (to === undefined) return;
      tabs[to % tabs.length].focus();
      tabs[to % tabs.length].click();
    });
  });
  choose(panelOf(tabs[0]).id);
  return choose;
}

const KEY = "setguard-theme";

// Follows the system until a visitor chooses the other theme.
export function themeSwitch(button) {
  const { style } = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (style.colorScheme ? style.colorScheme === "dark" : system.matches);
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  // Without storage the choice lasts as long as the page.
  const stored = (use) => {
    try {
      return use(localStorage);
    } catch {
      return null;
    }
  };
  style.colorScheme = stored((it) => it.getItem(KEY)) ?? "";
  button.addEventListener("click", () => {
    const dark = !isDark();
    style.colorScheme = dark === system.matches ? "" : dark ? "dark" : "light";
    stored((it) => (style.colorScheme ? it.setItem(KEY, style.colorScheme) : it.removeItem(KEY)));
    show();
  });
  system.addEventListener("change", show);
  show();
}
