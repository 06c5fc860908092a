import { Button } from "@patternfly/react-core";
import { CopyIcon } from "@patternfly/react-icons";
import { type ReactElement, useEffect, useState } from "react";
import { text } from "../text/en.ts";

/** Time for which the button confirms that the text was copied, in milliseconds. */
const CONFIRM_MS = 2_000;

/** A text of several lines, such as a manifest, with a button that copies it. */
export function CopyBlock({ label, content }: { readonly label: string; readonly content: string }): ReactElement {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), CONFIRM_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = (): void => void navigator.clipboard.writeText(content).then(() => setCopied(true));
  return (
    <figure className="olm-copy-block">
      <figcaption>
        <span>{label}</span>
        <Button variant="link" isInline icon={<CopyIcon />} onClick={copy}>
          <span aria-live="polite">{isCopied ? text.common.copied : text.common.copy}</span>
        </Button>
      </figcaption>
      {/* A scrollable region needs the keyboard focus. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable */}
      <pre tabIndex={0} aria-label={label}>
        {content}
      </pre>
    </figure>
  );
}
