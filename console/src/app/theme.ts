import { useEffect, useState } from "react";

/** The theme that the user chose. */
export type Theme = "light" | "dark" | "system";

const KEY = "olmv1.theme";
const DARK_CLASS = "pf-v6-theme-dark";

function readTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

/** Returns the theme and a function that changes it. Follows the system while the theme is `system`. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    localStorage.setItem(KEY, theme);
    const system = matchMedia("(prefers-color-scheme: dark)");
    const apply = (): void => {
      document.documentElement.classList.toggle(DARK_CLASS, theme === "dark" || (theme === "system" && system.matches));
    };
    apply();
    system.addEventListener("change", apply);
    return () => system.removeEventListener("change", apply);
  }, [theme]);
  return [theme, setTheme];
}
