import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useLayoutEffect, useState } from "react";

/** Expected height of a row of a table in pixels. */
const ROW_PX = 41;
/** Rows that are rendered above and below the view. */
const OVERSCAN = 12;

/** The rows to render. */
interface VirtualRows {
  readonly items: readonly VirtualItem[];
  /** Heights of the rows before and after them, in pixels. */
  readonly before: number;
  readonly after: number;
  /** Measures a rendered row. */
  readonly measure: (row: HTMLElement | null) => void;
  /** Scrolls a row into view and focuses its link. */
  readonly focusRow: (index: number) => void;
}

/**
 * Selects the rows in the view of the element that scrolls: the container, or the page on narrow screens.
 * @param rowPx expected height of a row in pixels, before it is measured
 */
export function useVirtualRows(container: RefObject<HTMLElement | null>, count: number, rowPx: number = ROW_PX): VirtualRows {
  const [scroller, setScroller] = useState<HTMLElement | null>(null);
  const [scrollMargin, setScrollMargin] = useState(0);
  useLayoutEffect(() => {
    const find = (): void => {
      const found = findScroller(container.current);
      setScroller(found);
      setScrollMargin(measureOffset(container.current, found));
    };
    find();
    addEventListener("resize", find);
    return () => removeEventListener("resize", find);
  }, [container]);
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroller,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    scrollMargin,
    initialRect: { width: innerWidth, height: innerHeight },
  });
  const items = virtualizer.getVirtualItems();
  const [first] = items;
  const last = items.at(-1);
  const focusRow = useCallback(
    (index: number): void => {
      virtualizer.scrollToIndex(index);
      // The row may be rendered only after the scroll.
      const tryFocus = (attempts: number): void => {
        const link = container.current?.querySelector<HTMLElement>(`tr[data-index="${index}"] [data-row-link]`);
        if (link) link.focus();
        else if (attempts > 0) requestAnimationFrame(() => tryFocus(attempts - 1));
      };
      tryFocus(10);
    },
    [virtualizer, container],
  );
  return {
    items,
    before: first ? first.start - scrollMargin : 0,
    after: last ? virtualizer.getTotalSize() - (last.end - scrollMargin) : 0,
    measure: virtualizer.measureElement,
    focusRow,
  };
}

/** Returns the nearest element that scrolls vertically. */
function findScroller(element: HTMLElement | null): HTMLElement | null {
  for (let e = element; e; e = e.parentElement) if (/auto|scroll/.test(getComputedStyle(e).overflowY)) return e;
  return null;
}

/** Returns the distance between the top of the content that scrolls and the element. */
function measureOffset(element: HTMLElement | null, scroller: HTMLElement | null): number {
  if (!element || !scroller || element === scroller) return 0;
  return element.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop;
}
