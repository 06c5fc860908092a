import { ClipboardCopy } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { text } from "../text/en.ts";

/** A command or other text to copy, on one line. */
export function CommandLine({ command, label }: { readonly command: string; readonly label: string }): ReactElement {
  return (
    <ClipboardCopy
      isReadOnly
      isCode
      hoverTip={text.common.copy}
      clickTip={text.common.copied}
      textAriaLabel={label}
      className="olm-command"
    >
      {command}
    </ClipboardCopy>
  );
}
