import { Tooltip } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";

/** The text of HoverText. It is loaded after the pointer or the focus has reached the element, and possibly left it again. */
export default function HoverTextPopup({ target, content }: { readonly target: HTMLElement; readonly content: string }): ReactElement {
  const [isReached] = useState(() => target.matches(":hover, :focus"));
  return <Tooltip triggerRef={target} content={content} aria="none" aria-live="off" isVisible={isReached} />;
}
