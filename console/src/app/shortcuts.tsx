import { lazy, type ReactElement, Suspense, useEffect, useRef } from "react";
import { useNavigate } from "react-router";
import { text } from "../text/en.ts";
import { useExtensionsPath } from "./consoleState.tsx";

const ShortcutHelp = lazy(() => import("./ShortcutHelp.tsx"));

/** Time for the second key of a sequence such as `g e`, in milliseconds. */
const SEQUENCE_MS = 1_500;

/** Pages by the key after `g`. */
const PAGES: Readonly<Record<string, { readonly to: string; readonly label: string }>> = {
  a: { to: "/", label: text.shortcuts.goAttention },
  e: { to: "/extensions", label: text.shortcuts.goExtensions },
  c: { to: "/catalogs", label: text.shortcuts.goCatalogs },
  p: { to: "/packages", label: text.shortcuts.goPackages },
  d: { to: "/dependencies", label: text.shortcuts.goDependencies },
  u: { to: "/cluster-upgrade", label: text.shortcuts.goClusterUpgrade },
  i: { to: "/installation", label: text.shortcuts.goDoctor },
};

const ROWS = [
  ["/", text.shortcuts.search],
  ["?", text.shortcuts.help],
  ...Object.entries(PAGES).map(([key, { label }]) => [`g ${key}`, label] as const),
] as const;

/**
 * Keyboard shortcuts of all pages: `/` focuses the search field of the page (an input with `data-search`), `?` shows the list, `g` and a letter opens
 * a page. Keys in input fields are left alone.
 */
export function Shortcuts({
  isHelpOpen,
  setHelpOpen,
}: {
  readonly isHelpOpen: boolean;
  readonly setHelpOpen: (is: boolean) => void;
}): ReactElement | undefined {
  const navigate = useNavigate();
  const extensionsPath = useExtensionsPath();
  const goAt = useRef(0);
  useEffect(() => {
    const handleKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const isSecond = event.timeStamp - goAt.current < SEQUENCE_MS;
      goAt.current = 0;
      const page = isSecond ? PAGES[event.key] : undefined;
      if (page) void navigate(page.to === "/extensions" ? extensionsPath : page.to);
      else if (event.key === "g") goAt.current = event.timeStamp;
      else if (event.key === "?") setHelpOpen(true);
      else if (event.key === "/") focusSearch(event);
    };
    document.addEventListener("keydown", handleKey);
    return () => document.removeEventListener("keydown", handleKey);
  }, [navigate, setHelpOpen, extensionsPath]);
  if (!isHelpOpen) return undefined;
  return (
    <Suspense fallback={null}>
      <ShortcutHelp rows={ROWS} onClose={() => setHelpOpen(false)} />
    </Suspense>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

function focusSearch(event: KeyboardEvent): void {
  const search = document.querySelector<HTMLElement>("[data-search] input, input[data-search]");
  if (!search) return;
  event.preventDefault();
  search.focus();
}
