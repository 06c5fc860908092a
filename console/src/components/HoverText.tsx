import { lazy, type ReactElement, type ReactNode, Suspense, useState } from "react";

const HoverTextPopup = lazy(() => import("./HoverTextPopup.tsx"));

/** Shows a text next to an element that has the pointer or the focus. The text is not part of the accessible name or description of the element. */
export function HoverText({ content, children }: { readonly content: string; readonly children: ReactElement }): ReactNode {
  const [target, setTarget] = useState<Element | null>(null);
  const prepare = ({ currentTarget }: { readonly currentTarget: Element }): void => setTarget(currentTarget.firstElementChild);
  return (
    <span className="olm-hover" onPointerEnter={prepare} onFocus={prepare}>
      {children}
      {target instanceof HTMLElement && (
        <Suspense fallback={null}>
          <HoverTextPopup target={target} content={content} />
        </Suspense>
      )}
    </span>
  );
}
