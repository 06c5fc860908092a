import type { ReactElement } from "react";
import { CopyButton } from "./CommandLine.tsx";

/** A text of several lines, such as a manifest, with a button that copies it. */
export function CopyBlock({ label, content }: { readonly label: string; readonly content: string }): ReactElement {
  return (
    <figure className="olm-copy-block">
      <figcaption>
        <span>{label}</span>
        <CopyButton value={content} />
      </figcaption>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls needs the keyboard focus */}
      <pre tabIndex={0} aria-label={label}>
        {content}
      </pre>
    </figure>
  );
}
